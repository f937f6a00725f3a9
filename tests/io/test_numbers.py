"""Numbers to predict: how they get from tables, files and other libraries into a graph, and are split."""

import json
import pickle
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import kernode as kn
from graphs import graphs
from kernode.compute.ranks import ALONE
from kernode.config import Config
from kernode.graph.edits import Edit, extended
from kernode.graph.neighbourhoods import induced
from kernode.io import Store, random_split, read_npz, read_table, write_npz, write_store
from kernode.io.shards import write_store_of_tables
from kernode.io.tables.columns import with_target
from kernode.io.tables.read import open_tables
from refusals import refused

N = 40
PRICES = [1000.5 + 7 * at for at in range(N)]


@pytest.fixture
def read(workspace):
    """Read a ring of nodes with these cells as prices, and four other columns; options of ``read_table``."""
    workspace.table("edges.csv", ("source", "target"), [(f"n{at}", f"n{(at + 1) % N}") for at in range(N)])

    def read(cells=PRICES, ids=None, separator=",", **options):
        ids = [f"n{at}" for at in range(len(cells))] if ids is None else ids
        stars, colours = (np.resize(values, len(cells)).tolist() for values in ([1, 2, 4], ["red", "blue"]))
        rows = zip(ids, cells, range(len(cells)), stars, colours, strict=True)
        workspace.table("nodes.csv", ("id", "price", "age", "stars", "colour"), rows, separator=separator)
        return read_table("edges.csv", "nodes.csv", **options)

    return read


def same(one, other):
    return np.array_equal(one.targets, other.targets, equal_nan=True) and one.target_name == other.target_name


# -- tables ------------------------------------------------------------------------------------------


def test_a_column_of_many_different_numbers_is_read_as_numbers(read):
    graph = read(label="price")
    assert graph.targets.tolist() == PRICES
    assert (graph.target_name, graph.n_classes, graph.holds_numbers) == ("price", 0, True)
    assert repr(graph).endswith("5 features, numbers 'price')")
    assert not any("price" in name for name in graph.encoding.feature_names)
    said = "price: numbers, regression (40 different values); task='classes' takes them as classes"
    assert said in graph.notes
    assert same(read(label="price", task="numbers"), graph)


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["1,5", "2,25", "-3", "4,0"], [1.5, 2.25, -3, 4]),
        (["1.234,50 €", "€ 12", "7,25 €", "2.000.000 €"], [1234.5, 12, 7.25, 2e6]),
        (["12,5 %", "3 %", "0,25%", "100%"], [12.5, 3, 0.25, 100]),
        (["1'234.5", "2'000", "12.25", "−7"], [1234.5, 2000, 12.25, -7]),
        (["1.5", "", "NA", "-"], [1.5, np.nan, np.nan, np.nan]),
        (["#N/A", "2.5", "unknown", "1e3"], [np.nan, 2.5, np.nan, 1000]),
        (["5", "5", "5", "5"], [5, 5, 5, 5]),
        (["true", "1", "0", ""], None),
    ],
)
def test_cells_are_read_as_those_of_features(read, cells, found):
    options = {"label": "price", "task": "numbers", "separator": ";"}
    if found is None:
        with refused("setting", column="price"):
            read(cells, **options)
        return
    graph = read(cells, **options)
    assert np.array_equal(graph.targets[:4], found, equal_nan=True)
    assert np.isnan(graph.targets[4:]).all()  # nodes that only edges mention
    if not np.isnan(found).any() and len(set(found)) > 1:
        as_feature = read(cells, separator=";", features={"price": "number"})
        assert np.array_equal(as_feature.columns["price"][:4], found)


def test_the_notation_of_other_columns_decides_what_is_in_doubt(workspace):
    workspace.write("edges.csv", "source;target\na;b\nb;c\n")
    workspace.write("nodes.csv", "id;price;size\na;1.250;2,5\nb;2.500;3,75\nc;1.125;4,5\n")
    assert read_table("edges.csv", "nodes.csv", label="price").targets.tolist() == [1250, 2500, 1125]
    workspace.write("edges.tsv", "source\ttarget\na\tb\nb\tc\n")
    workspace.write("nodes.tsv", "id\tprice\na\t930\nb\t2.500\nc\t1.125\nd\t4.125\n")
    with refused("ambiguous", setting="decimal"):
        read_table("edges.tsv", "nodes.tsv", label="price", task="numbers")
    commas = read_table("edges.tsv", "nodes.tsv", label="price", task="numbers", decimal=",")
    assert commas.targets.tolist() == [930, 2500, 1125, 4125]


def test_a_cell_that_is_no_number_is_refused_by_row(read):
    with pytest.raises(
        kn.InputError, match=r"nodes.csv, row 4: 'n/k' in column 'price' is not a number. Cor"
    ):
        read([*PRICES[:2], "n/k", *PRICES[3:]], label="price", task="numbers")
    with pytest.raises(
        kn.InputError, match=r"row 2: '1.5' .* not a number \(price: numbers with decimal com"
    ):
        read(["1.5", *["12,25"] * 9], label="price", task="numbers", separator=";")
    graph = read([*PRICES[:2], "n/k", *PRICES[3:]], label="price", unknown="n/k")
    assert np.flatnonzero(np.isnan(graph.targets)).tolist() == [2]
    assert "nodes.csv: took 'n/k' in column 'price' as not known (1 row)" in graph.notes
    with refused("missing", setting="label"):
        read(["", "NA"], label="price", task="numbers")


def test_what_is_neither_numbers_nor_classes_is_refused(read, workspace):
    with pytest.raises(kn.InputError, match="looks like an id, with 40 different values in 40 rows"):
        read([10**9 + at for at in range(N)], label="price")
    with pytest.raises(kn.InputError, match=r"looks like an id.*, or say that these are numbers: task='num"):
        read(label="price", task="classes")
    assert read([10**9 + at for at in range(N)], label="price", task="numbers").targets[1] == 10**9 + 1
    with refused("setting", setting="task"):
        read(label="price", task="regression")
    with refused("missing", setting="label"):
        read(task="numbers")
    with refused("unsupported", setting="label"):
        dates = {"id": ["a", "b"], "since": np.array(["2020-01-01", "2021-01-01"], "datetime64[us]")}
        read_table({"source": ["a"], "target": ["b"]}, dates, label="since", task="numbers")


def test_many_numbers_are_classes_where_that_is_asked_for(read):
    graph = read(np.repeat(PRICES[:10], 4).tolist(), label="price", task="classes")
    assert (graph.n_classes, graph.targets) == (10, None)


def test_few_numbers_stay_classes_with_a_note(read):
    graph = read(label="stars")
    assert graph.class_names == ("1", "2", "4")
    note = "stars: 3 different numbers, taken as classes; task='numbers' takes them as numbers"
    assert note in graph.notes
    assert note not in read(label="stars", task="classes").notes
    assert read(label="stars", task="numbers").targets[:3].tolist() == [1, 2, 4]
    codes = {"id": [f"n{at}" for at in range(9)], "topic": [0, 1, 2] * 3}
    assert not any("task" in note for note in read_table("edges.csv", codes, label="topic").notes)


def test_minus_one_is_a_number_with_a_note(read):
    cells = [-1, -1, *range(2, N)]
    graph = read(cells, label="price")
    assert graph.targets.min() == -1
    assert any("−1, the only number below 0" in note for note in graph.notes)
    stated = read(cells, label="price", unknown="-1")
    assert np.isnan(stated.targets[:2]).all()
    assert not any("below 0" in note for note in stated.notes)


def test_a_node_with_two_numbers_is_refused(read):
    ids = ["n0", "n1", "n2", "n0", "n1"]
    sentence = "'n0' has the number '1.5' in row 2 and '2.5' in row 5. Give it one"
    with pytest.raises(kn.InputError, match=sentence):
        read([1.5, 2, 3, 2.5, 2], ids, label="price", task="numbers")
    graph = read(["", "2.0", "3.5", "7.5", "2"], ids, label="price", task="numbers")
    assert graph.targets[:3].tolist() == [7.5, 2, 3.5]


def test_a_column_that_is_a_label_by_its_name_alone_stays_a_feature(workspace):
    workspace.table("edges.csv", ("source", "target"), [(at, at + 1) for at in range(N)])
    workspace.table("nodes.csv", ("id", "label"), [(at, at / 7) for at in range(N)])
    graph = read_table("edges.csv", "nodes.csv")
    assert graph.targets is None
    assert any("'label' looks like a number. Name it to predict it" in note for note in graph.notes)
    assert "label" in graph.encoding.feature_names
    assert read_table("edges.csv", "nodes.csv", label="label").target_name == "label"
    conflict = {"id": [1, 2, 3, 1], "label": [0.5, 1.5, 2.5, 3.5]}
    assert read_table("edges.csv", conflict).targets is None
    assert read_table("edges.csv", "nodes.csv", task="numbers").target_name == "label"


def test_other_tables_and_new_rows_are_read_as_the_first(read, workspace):
    cells = [f"{1000 + at}.5 $".replace(".", ",") for at in range(N)]
    first = read(cells, separator=";", label="price")
    assert first.encoding.numbers.decimal == ","
    assert Config.from_json(first.encoding.to_json()) == first.encoding
    assert same(read(cells, separator=";", like=first), first)
    workspace.write("new.csv", "id;price;age;stars;colour\nz1;3,25 $;1;1;red\nz2;;1;1;red\n")
    grown = kn.extend(first, "new.csv", {"source": ["z1", "z3"], "target": ["n1", "n2"]})
    assert np.array_equal(grown.targets[-4:], [1039.5, 3.25, np.nan, np.nan], equal_nan=True)
    assert grown.target_name == "price"
    other = read_table({"source": ["z1"], "target": ["z2"]}, "new.csv", like=first)
    assert np.array_equal(other.targets, [3.25, np.nan], equal_nan=True)
    workspace.write("blank.csv", "id;age;stars;colour\nz1;1;1;red\nz2;1;1;red\n")
    assert read_table({"source": ["z1"], "target": ["z2"]}, "blank.csv", like=first).targets is None
    workspace.write("new.csv", "id;price;age;stars;colour\nz1;cheap;1;1;red\n")
    with pytest.raises(kn.InputError, match=r"new.csv, row 2: 'cheap' in column 'price' is not a number"):
        kn.extend(first, "new.csv", None)


# -- a column of a graph -----------------------------------------------------------------------------


def test_a_column_of_a_graph_gives_the_numbers_of_the_table(read, tmp_path):
    skewed = [f"{one:.2f}" for one in np.exp(np.random.default_rng(3).normal(3, 2, 2 * N))]
    graph = read(["", *skewed[1:]])
    assert any(name == "price is missing" for name in graph.encoding.feature_names)
    assert any(note.startswith("price: log") for note in graph.notes)
    found = with_target(graph, "price")
    assert np.array_equal(found.targets, [np.nan, *map(float, skewed[1:])], equal_nan=True)
    assert (found.target_name, found.encoding.label, found.n_classes) == ("price", "price", 0)
    directly = read(["", *skewed[1:]], label="price")
    assert same(found, directly)
    assert found.fingerprint == directly.fingerprint
    assert found.encoding.numbers == directly.encoding.numbers
    write_npz(graph, tmp_path / "graph.npz")
    assert same(with_target(read_npz(tmp_path / "graph.npz"), "price"), found)


def test_a_target_replaces_the_one_before(read):
    graph = read()
    prices = with_target(graph, "price")
    colours = with_target(prices, "colour")
    assert (colours.class_names, colours.targets, colours.target_name) == (("blue", "red"), None, "")
    assert colours.encoding.numbers is None
    ages = with_target(colours, "age", "numbers")
    assert (ages.target_name, ages.n_classes, (ages.labels >= 0).any()) == ("age", 0, False)
    assert with_target(graph, "stars").n_classes == 3
    assert with_target(graph, "stars", "numbers").targets[:3].tolist() == [1, 2, 4]
    assert with_target(prices, "price", "numbers") is prices
    with pytest.raises(kn.InputError, match="'price' was read as numbers, not as classes"):
        with_target(prices, "price", "classes")
    with refused("setting", setting="unknown"):
        with_target(graph, "colour", "numbers")
    with refused("setting", setting="task"):
        with_target(graph, "colour", "number")


def test_a_flag_is_0_and_1_as_a_number():
    nodes = {"id": ["a", "b", "c"], "open": [True, False, None]}
    graph = read_table({"source": ["a"], "target": ["b"]}, nodes)
    assert np.array_equal(with_target(graph, "open", "numbers").targets, [1, 0, np.nan], equal_nan=True)
    assert with_target(graph, "open").class_names == ("false", "true")


def test_a_classifier_says_that_numbers_are_not_for_it(read):
    graph = read()
    for fit in (
        lambda model: model.fit("price", graph=graph),
        lambda model: model.fit(graph=read(label="price")),
    ):
        with pytest.raises(kn.InputError, match="'price' holds numbers, and this predicts classes"):
            fit(kn.NodeKernelClassifier("n1"))


# -- graphs from graphs, and files -------------------------------------------------------------------


@st.composite
def with_numbers(draw):
    """A graph with numbers for some of its nodes, and no class."""
    graph = draw(graphs())
    values = st.floats(-1e9, 1e9) | st.just(np.nan)
    targets = np.array(draw(st.lists(values, min_size=graph.n_nodes, max_size=graph.n_nodes)))
    targets[draw(st.integers(0, graph.n_nodes - 1))] = draw(st.floats(-1e9, 1e9))
    name = draw(st.sampled_from(["", "price"]))
    labels = np.full(graph.n_nodes, -1)
    return replace(graph, labels=labels, class_names=(), targets=targets, target_name=name)


@given(with_numbers())
def test_files_keep_numbers(tmp_path_factory, graph):
    folder = tmp_path_factory.mktemp("numbers")
    write_npz(graph, folder / "graph.npz")
    store = write_store(graph, folder / "store")
    share = Store.open(folder / "store").share(ALONE)
    for again in (read_npz(folder / "graph.npz"), store.whole(), share, pickle.loads(pickle.dumps(graph))):
        assert same(again, graph)
        assert again.fingerprint == graph.fingerprint
        assert not again.targets.flags.writeable


def test_a_store_of_tables_keeps_numbers(read, tmp_path):
    graph = read(label="price")
    with open_tables("edges.csv", "nodes.csv", label="price") as tables:
        store = write_store_of_tables(tables, tmp_path / "store")
    assert same(store.whole(), graph)
    assert same(kn.load(tmp_path / "store")[0], graph)


def test_files_without_numbers_are_those_of_before(cora, tmp_path):
    write_npz(cora[0], tmp_path / "cora.npz")
    write_store(cora[0], tmp_path / "store")
    with np.load(tmp_path / "cora.npz") as arrays:
        assert json.loads(arrays["kernode"].tobytes())["layout"] == "kernode-graph-1"
        assert "targets" not in arrays
    assert "target_name" not in json.loads((tmp_path / "store" / "store.json").read_bytes())
    graph = kn.Graph(cora[0].adjacency, cora[0].features, cora[0].labels, targets=np.arange(2708.0))
    write_npz(graph, tmp_path / "numbers.npz")
    with np.load(tmp_path / "numbers.npz") as arrays:  # refused by versions that do not know targets
        assert json.loads(arrays["kernode"].tobytes())["layout"] == "kernode-graph-2"


def test_float_labels_of_gnn_benchmark_are_numbers(tmp_path):
    adjacency, x = np.ones((3, 3), np.float32) - np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)
    whole = {
        "indices": np.array([1, 2, 0, 2, 0, 1]),
        "indptr": np.array([0, 2, 4, 6]),
        "shape": np.array([3, 3]),
    }
    arrays = {f"adj_{name}": value for name, value in whole.items()} | {"adj_data": adjacency[adjacency > 0]}
    np.savez(tmp_path / "other.npz", **arrays, attr_matrix=x, labels=np.array([0.5, np.nan, -2]))
    graph = read_npz(tmp_path / "other.npz")
    assert np.array_equal(graph.targets, [0.5, np.nan, -2], equal_nan=True)
    assert graph.holds_numbers


@given(with_numbers())
def test_pyg_takes_and_gives_numbers(graph):
    data = kn.to_pyg(graph)
    assert data.y.dtype == torch.float32
    again = kn.from_pyg(data)
    assert np.array_equal(again.targets, graph.targets.astype(np.float32), equal_nan=True)
    assert (again.target_name, again.n_classes) == ("y", 0)


def test_numbers_of_networkx_nodes():
    graph = nx.path_graph(5)
    nx.set_node_attributes(graph, {at: at * 1.5 for at in range(4)}, "height")
    found = kn.from_networkx(graph, label="height")
    assert np.array_equal(found.targets, [0, 1.5, 3, 4.5, np.nan], equal_nan=True)
    assert kn.from_networkx(graph, label="height", task="classes").n_classes == 4


@given(with_numbers(), st.booleans())
def test_larger_graphs_keep_numbers(graph, known):
    names = None if graph.node_names is None else ["new", "newer"]
    x = np.zeros((2, graph.n_features))
    new = [2.5, np.nan] if known else [np.nan, np.nan]
    grown = extended(graph, x, [(0, graph.n_nodes)], node_names=names, targets=new if known else None)
    assert np.array_equal(grown.targets, [*graph.targets, *new], equal_nan=True)
    assert grown.target_name == graph.target_name
    assert same(Edit(features={(0, 0): 5.0})(graph), graph)
    assert induced(graph, np.array([0])).targets is None


@pytest.mark.parametrize(
    ("targets", "sentence"),
    [
        ([1.0, 2.0], "targets must hold one number per node"),
        ([[1.0], [2.0], [3.0]], "targets must hold one number per node"),
        (["1", "2", "3"], "targets must be numbers, NaN where"),
        ([1.0, np.inf, 2.0], "targets, node 1: the number is infinite"),
        ([np.nan] * 3, "targets must have the number of at least one node"),
    ],
)
def test_targets_that_are_no_numbers_are_refused(targets, sentence):
    with pytest.raises(kn.InputError, match=sentence):
        kn.Graph.from_edges([(0, 1)], np.eye(3), targets=targets)


def test_a_graph_may_have_classes_and_numbers():
    graph = kn.Graph.from_edges([(0, 1)], np.eye(2), [0, 1], targets=[3, 4], target_name="age")
    assert repr(graph) == "Graph('graph': 2 nodes, 1 edges, 2 features, 2 classes, numbers 'age')"
    assert not graph.holds_numbers
    assert graph.targets.dtype == np.float64
    assert graph.fingerprint == kn.Graph.from_edges([(0, 1)], np.eye(2)).fingerprint
    assert kn.Graph.from_edges([(0, 1)], np.eye(2), target_name="age").target_name == ""


# -- splits ------------------------------------------------------------------------------------------


@given(with_numbers(), st.integers(0, 99))
def test_nodes_with_a_number_are_split(graph, seed):
    known = np.flatnonzero(np.isfinite(graph.targets))
    for split in (
        kn.load(graph, f"{len(known)}/0/0", seed)[1],
        random_split(graph.targets, (1.0, 0, 0), seed),
    ):
        assert split.train.tolist() == known.tolist()
    labels = np.where(np.isfinite(graph.targets), 0, -1)
    if len(known) > 4:  # the same nodes as of classes
        assert (
            kn.load(graph, "jk", seed)[1].test.tolist()
            == random_split(labels, (0.6, 0.2, 0.2), seed).test.tolist()
        )


def test_splits_of_numbers_that_are_refused(read, workspace):
    graph = read([*PRICES[:-1], ""], label="price")
    with pytest.raises(kn.InputError, match="nodes have numbers and no classes"):
        kn.load(graph, "5-per-class")
    with refused("too-few", setting="split"):
        kn.load(graph, "30/5/5")
    workspace.write("split.json", '{"train": ["n0", "n1"], "validation": ["n2"], "test": ["n39"]}')
    with pytest.raises(kn.InputError, match=r"1 of 1 test nodes have no number, the first is 'n39'"):
        kn.load(graph, "split.json")
    workspace.write("split.json", '{"train": ["n0", "n1"], "validation": ["n2"], "test": ["n3"]}')
    assert kn.load(graph, "split.json")[1].train.tolist() == [0, 1]


# -- commands ----------------------------------------------------------------------------------------


def test_commands_read_numbers(read, workspace):
    read([*PRICES[:-1], ""])
    tables = "edges.csv --nodes nodes.csv"
    facts = workspace.kernode(f"data info {tables} --label price --json").json
    known = np.array(PRICES[:-1])
    assert facts["classes"] == {}
    assert facts["numbers"] == pytest.approx(
        {
            "name": "price",
            "count": 39,
            "mean": known.mean(),
            "std": known.std(),
            "min": known[0],
            "max": known[-1],
        }
    )
    out = workspace.kernode(f"data info {tables} --label price").out
    assert "1 without a number" in out
    assert "39  numbers of price: mean 1,133.5, std 78.7824, min 1,000.5, max 1,266.5" in out
    numbers = workspace.kernode(f"data info {tables} --label stars --set table.task=numbers --json").json
    assert numbers["numbers"]["max"] == 4
    assert workspace.kernode("data info cora --json").json["numbers"] is None
    assert workspace.kernode(f"data convert {tables} --label price -o graph.npz").status == 0
    for command in ("tune graph.npz", "compare graph.npz"):
        assert "'price' holds numbers, and this predicts classes" in workspace.kernode(command).refusal
    assert "it is now --set table.task=…" in workspace.kernode(f"fit {tables} --task numbers").refusal
