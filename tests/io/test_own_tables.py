"""From somebody's files to predictions in one command, and what is said when a file is wrong."""

import csv
import json

import numpy as np
import pyarrow.parquet
import pytest

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.errors import InputError
from kernode.io.edge_split import split_edges
from kernode.models.model import Model

QUICK = ("--replicas", 2, "--epochs", 15, "--json")


def write_rows(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """300 papers by name with a text, 90 % without a topic, and three bad rows in each file."""
    folder = tmp_path_factory.mktemp("tables")
    graph, random = clustered_graph(n=300, seed=3), np.random.default_rng(0)
    topics = np.array(["art", "law", "sea"])
    words = [["paint", "brush", "canvas"], ["court", "judge", "paper"], ["wave", "ship", "harbour"]]
    known = random.permutation(300)[:60]
    rows = [["id", "text", "year", "topic"]]
    for node in range(300):
        text = " ".join(random.choice([*words[graph.labels[node]], "and", "the", "of"], 6))
        topic = topics[graph.labels[node]] if node in known else ""
        rows.append([f"p{node}", text, str(1990 + node % 20), topic])
    rows[10] = rows[10][:2]  # rows of the file count its header
    rows[20][2] = "long ago"
    rows[30][0] = ""
    edges = [
        ["source", "target"],
        *([f"p{u}", f"p{v}"] for u, v in np.argwhere(np.triu(graph.adjacency.toarray()))),
    ]
    edges[5] = edges[5][:1]
    edges[6] = [edges[6][0], ""]
    edges[7] = [*edges[7], "more"]
    write_rows(folder / "nodes.csv", rows)
    write_rows(folder / "edges.csv", edges)
    return folder, graph, topics


def test_one_command_from_files_to_predictions(tables, tmp_path, command, monkeypatch):
    folder, graph, topics = tables
    monkeypatch.chdir(tmp_path)
    status, out, err = command(
        "fit", folder / "edges.csv", "--nodes", folder / "nodes.csv", "--label", "topic",
        "--predictions", "out.csv", *QUICK,
    )  # fmt: skip
    assert (status, err) == (0, "")
    report = json.loads(out)
    found = {(repair["table"], repair["what"]): repair["rows"] for repair in report["repairs"]}
    assert found == {
        ("nodes.csv", "did not have 4 values"): [11],
        ("nodes.csv", "had no id"): [31],
        ("nodes.csv", "had no number there but 'long ago'"): [21],
        ("edges.csv", "did not have 2 values"): [6, 8],
        ("edges.csv", "lacked one of the two nodes"): [7],
    }
    assert report["test"]["accuracy_mean"] > 70
    with (tmp_path / "out.csv").open() as file:
        answers = {row["node"]: row["class"] for row in csv.DictReader(file)}
    truth = {f"p{node}": topics[label] for node, label in enumerate(graph.labels)}
    assert set(answers) <= set(truth)
    assert len(answers) >= 298  # the two whose rows were dropped are there only if an edge mentions them
    assert np.mean([answers[node] == truth[node] for node in answers]) > 0.8
    model = Model.load(tmp_path / "edges.safetensors")
    assert {(repair.table, repair.what): list(repair.rows) for repair in model.repairs} == found
    assert [column.kind for column in model.encoding.columns] == ["text", "number"]


def test_model_predicts_for_other_files_with_the_same_columns(tables, tmp_path, command):
    folder, _, _ = tables
    model = tmp_path / "m.safetensors"
    fit = ("fit", folder / "edges.csv", "--nodes", folder / "nodes.csv", "--label", "topic", "-o", model)
    assert command(*fit, *QUICK)[0] == 0
    same = command(
        "predict", model, "--graph", folder / "edges.csv", "--nodes", folder / "nodes.csv", "--json"
    )
    assert json.loads(same[1])["nodes"] >= 298
    edges = write_rows(tmp_path / "e.csv", [["source", "target"], ["x", "y"], ["y", "z"]])
    texts = ["ship wave harbour", "wave wave ship", "harbour ship"]
    rows = [["id", "year", "text"], *([name, "1995", text] for name, text in zip("xyz", texts, strict=True))]
    nodes = write_rows(tmp_path / "n.csv", rows)
    out = tmp_path / "new.parquet"
    assert command("predict", model, "--graph", edges, "--nodes", nodes, "-o", out)[0] == 0
    assert pyarrow.parquet.read_table(out)["class"].to_pylist() == ["sea"] * 3
    fails(command("predict", model, "--graph", edges), 2, "needs the columns text, year", "table of nodes")
    vectors = tmp_path / "v.npz"
    assert command("embed", model, "--graph", edges, "--nodes", nodes, "-o", vectors)[0] == 0
    assert np.load(vectors)["nodes"].tolist() == ["x", "y", "z"]


def test_held_out_edges_do_not_speak_through_positions(tables):
    folder, _, _ = tables
    graph = kn.read_table(folder / "edges.csv")
    split = split_edges(graph)
    alone = graph.encoding.placed(graph.features, split.graph.adjacency, graph.node_names)
    assert np.array_equal(split.graph.features, alone)
    assert not np.array_equal(split.graph.features, graph.features)


@pytest.mark.filterwarnings("ignore:this model knows nodes by their positions")
def test_new_tables_extend_a_graph_and_a_model_exactly(tables):
    folder, _, _ = tables
    for more in ({}, {"positions": 16}):
        first = kn.read_table(folder / "edges.csv", folder / "nodes.csv", label="topic", **more)
        known = np.flatnonzero(first.labels >= 0)
        names = first.node_names[known]
        model = kn.NodeKernelClassifier("k3-tuned", epochs=10, precision=64)
        model.fit(names, first.labels[known], graph=first)
        nodes = {
            "id": ["n1", "n2"],
            "text": ["ship wave", "court judge"],
            "year": [1995, None],
            "topic": ["sea", None],
        }
        edges = {"source": ["n1", "n1", "n2", "n2"], "target": ["p5", "n2", "p8", "unheard"]}
        later = model.extend(first, nodes, edges)
        assert later.graph_.node_names.tolist()[-3:] == ["n1", "n2", "unheard"]
        assert later.graph_.labels[-3:].tolist() == [first.class_names.index("sea"), -1, -1]
        whole = model.model_.on(later.graph_)
        everyone = np.arange(later.graph_.n_nodes)
        known_again = whole.calibrated(everyone)
        assert np.allclose(later.predict_proba(everyone), known_again, atol=1e-9)
        assert len(later.recomputed_) < later.graph_.n_nodes
        assert later.predict(["n1"]).shape == (1,)
        # The larger graph is what reading all rows at once, with the same columns, gives.
        assert later.graph_.encoding == first.encoding
        with pytest.raises(InputError, match="nodes, row 0: 'p5' is in the graph already"):
            kn.extend(first, {"id": ["p5"], "text": ["x"], "year": [1]}, None)
        with pytest.raises(InputError, match="Give new edges as a table"):
            kn.extend(first, None, [(0, 1)])
        with pytest.raises(InputError, match="there is no column 'year' for the features"):
            kn.extend(first, {"id": ["q"], "text": ["x"]}, None)


def test_model_on_tables_made_otherwise_is_refused(tables):
    folder, _, _ = tables
    first = kn.read_table(folder / "edges.csv", folder / "nodes.csv", label="topic")
    known = np.flatnonzero(first.labels >= 0)
    model = kn.NodeKernelClassifier("n1", epochs=2).fit(known, first.labels[known], graph=first)
    rows = {"id": ["a", "b"], "text": ["ship", "wave"], "year": [1, 2]}
    other = kn.read_table({"source": ["a"], "target": ["b"]}, rows, like=model)
    assert model.predict(["a", "b"], graph=other).shape == (2,)
    changed = kn.Graph(other.adjacency, other.features, other.labels, node_names=["a", "b"])
    with pytest.raises(InputError, match="were not made as those of"):
        model.predict(["a"], graph=changed)


def test_positions_of_another_graph_are_warned_about():
    ring = {"source": [f"n{i}" for i in range(40)], "target": [f"n{(i + 1) % 40}" for i in range(40)]}
    nodes = {"id": ring["source"], "label": ["low"] * 20 + ["high"] * 20}
    graph = kn.read_table(ring, nodes)
    known = np.arange(0, 40, 2)
    model = kn.NodeKernelClassifier("n1", epochs=30).fit(known, graph.labels[known], graph=graph)
    assert model.score(np.arange(1, 40, 2), graph.labels[1::2]) > 0.7
    other = kn.read_table({"source": ["a", "b"], "target": ["b", "c"]}, like=graph)
    with pytest.warns(UserWarning, match="only near nodes that are in both"):
        model.predict([0], graph=other)
