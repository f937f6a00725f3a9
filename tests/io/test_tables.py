"""People's own tables: real files, every kind of bad row, and what is said about each."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import kernode as kn
from kernode.config import Config
from kernode.errors import InputError, KernodeError
from kernode.io import load_graph, read_npz, write_npz
from kernode.io.tables.encoding import Encoding
from kernode.io.tables.kinds import Category, Date, Flag, Number, Text, Tokens, Vector

EDGES = "source,target\na,b\nb,c\nc,a\nc,d\n"
NODES = "id,year,venue,topic\na,1999,NIPS,x\nb,2001,ICML,y\nc,2005,NIPS,\nd,2007,ICML,x\n"


def write(folder, **files):
    """Files by name, with an underscore for the dot."""
    paths = []
    for name, content in files.items():
        path = folder / name.replace("_", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths.append(path)
    return paths


def dense(graph):
    return graph.features.toarray() if sparse.issparse(graph.features) else graph.features


def repaired(graph):
    """Rows by what was wrong with them."""
    return {(repair.table, repair.what): list(repair.rows) for repair in graph.repairs}


def test_csv_pair_becomes_the_graph_it_says(tmp_path):
    graph = kn.read_table(*write(tmp_path, edges_csv=EDGES, nodes_csv=NODES), label="topic")
    assert graph.node_names.tolist() == ["a", "b", "c", "d"]
    assert graph.class_names == ("x", "y")
    assert graph.labels.tolist() == [0, 1, -1, 0]
    assert graph.n_edges == 4
    assert graph.adjacency.toarray()[graph.find(["c"])[0]].tolist() == [1, 1, 0, 1]
    assert graph.encoding.feature_names == ("constant", "year", "venue=ICML", "venue=NIPS")
    year = np.array([1999, 2001, 2005, 2007])
    assert np.allclose(dense(graph)[:, 1], (year - year.mean()) / year.std())
    assert dense(graph)[:, 2].tolist() == [0, 1, 0, 1]
    assert graph.repairs == ()


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (["7", "12", "3"], ["7", "12", "3"]),
        (["007", "12", "3"], ["007", "12", "3"]),
        ([2**62, 5, 1], [str(2**62), "5", "1"]),
        ([2**64 - 1, 5, 1], [str(2**64 - 1), "5", "1"]),
        ([7.0, 12.0, 3.0], ["7", "12", "3"]),
        (["Ünï", "𝔘", "a b"], ["Ünï", "𝔘", "a b"]),
    ],
)
def test_ids_of_any_type(ids, names):
    kind = pa.uint64() if ids[0] == 2**64 - 1 else None
    ids = pa.array(ids, kind)
    edges = pa.table({"source": ids.take([0, 1]), "target": ids.take([1, 2])})
    graph = kn.read_table(edges, pa.table({"id": ids, "x": [1.0, 2.0, 4.0]}))
    assert graph.node_names.tolist() == names
    assert graph.n_edges == 2
    assert graph.find([str(names[2])]).tolist() == [2]


def test_ids_of_two_files_may_have_different_types(tmp_path):
    (edges,) = write(tmp_path, edges_csv="source,target\n17 , 18\n18,19\n")
    nodes = pa.table({"id": pa.array([17.0, 18.0, 19.0, None]), "x": [1.0, 2.0, 3.0, 4.0]})
    graph = kn.read_table(edges, nodes)
    assert graph.node_names.tolist() == ["17", "18", "19"]
    assert repaired(graph) == {("nodes", "had no id"): [3]}


def test_every_bad_row_is_counted_and_named(tmp_path):
    edges = (
        b"source,target,weight\na,b,1\nb,c\nc,,2\nc,a,zero\nc,a,0\n\n"
        b"d,a,3\nb,a,2\na,a,1\nc,zz,1,9\nb,zz,inf\n"
    )
    nodes = (
        b'id,year,abstract,topic\na,1999,"graphs, and\nkernels",x\nb,2001,more kernels,y\n,2002,no id,x\n'
        b"c,unknown,graphs \xff,\nb,2003,again,y\nd,2004\nd,inf,kernels,NA\n"
    )
    graph = kn.read_table(
        *write(tmp_path, edges_csv=edges, nodes_csv=nodes), label="topic", features={"year": "number"}
    )
    assert repaired(graph) == {
        ("edges.csv", "did not have 3 values"): [3, 11],
        ("edges.csv", "lacked one of the two nodes"): [4],
        ("edges.csv", "had no weight above 0 in 'weight'"): [5, 6, 12],
        ("nodes.csv", "did not have 4 values"): [7],
        ("nodes.csv", "had no id"): [4],
        ("nodes.csv", "repeated an id"): [6],
        ("nodes.csv", "had no number there but 'unknown', …"): [5, 8],
    }
    assert graph.node_names.tolist() == ["a", "b", "c", "d"]
    assert graph.labels.tolist() == [0, 1, -1, -1]
    assert graph.n_edges == 2
    assert graph.adjacency[0, 1] == 2.0
    assert "merged 1 repeated edge" in graph.notes
    assert "dropped 1 self-loop" in graph.notes
    assert "edges.csv: dropped 2 rows that did not have 3 values (rows 3, 11)" in graph.notes


@given(data=st.data())
def test_row_numbers_are_those_of_the_file(data, tmp_path_factory):
    good = data.draw(
        st.lists(st.sampled_from(["ok", "short", "empty", "id", "quoted"]), min_size=1, max_size=30)
    )
    lines, expected = [], {"short": [], "id": []}
    for row, kind in enumerate(good, start=2):
        text = {"ok": f"n{row},1", "short": "x", "empty": "", "id": ",1", "quoted": f'"n{row}\n,",1'}[kind]
        lines.append(text)
        if kind in expected:
            expected[kind].append(row)
    folder = tmp_path_factory.mktemp("rows")
    edges, nodes = write(
        folder, edges_csv="source,target\nn,m\n", nodes_csv="id,x\n" + "\n".join([*lines, "n,2"]) + "\n"
    )
    found = repaired(kn.read_table(edges, nodes))
    assert found.get(("nodes.csv", "did not have 2 values"), []) == expected["short"]
    assert found.get(("nodes.csv", "had no id"), []) == expected["id"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3], Number),
        ([1.5, None], Number),
        (["1", "2.5", "-3e2", "n/a"], Number),
        (["1"] * 19 + ["oops"], Number),
        ([True, None], Flag),
        (["yes", "No", ""], Flag),
        ([["u"], ["v", "u"], None], Tokens),
        (["2024-01-31", "2023-02-28T10:00:00"], Date),
        (["red", "blue"] * 5, Category),
        ([f"a sentence of {n} words" for n in "abcdefgh"], Text),
        ([[1.0, 2.0], [3.0, 4.0]], Vector),
        (pa.array([[1.0, 2.0], [2.0, 1.0]], pa.list_(pa.float32(), 2)), Vector),
    ],
)
def test_kinds_are_guessed(values, kind):
    nodes = pa.table({"id": [str(at) for at in range(len(values))], "x": values})
    graph = kn.read_table({"source": ["0"], "target": ["1"]}, nodes, positions=0)
    assert [type(column) for column in graph.encoding.columns] == [kind]


def test_gaps_are_marked_and_outliers_cut():
    nan = np.nan
    column = Number.learn("x", np.array([1.0, nan, 3.0]))
    assert column.feature_names == ("x", "x is missing")
    assert column.encode(np.array([1.0, 3.0, nan, 1e9])).tolist() == [[-1, 0], [1, 0], [0, 1], [5, 0]]
    flag = Flag.learn("f", np.array([1.0, nan, 0.0]))
    assert flag.encode(np.array([0.0, 1.0, nan])).tolist() == [[0, 0], [1, 0], [0, 1]]
    vector = Vector.learn("v", np.array([[1.0, 2.0], [3.0, 2.0], None], object))
    assert vector.encode(np.array([[3.0, 2.0], None, [nan, 0]], object)).tolist() == [[1, 0], [0, 0], [0, 0]]


def test_text_is_scikit_learns_tfidf_and_unseen_values_are_zero():
    from sklearn.feature_extraction.text import TfidfVectorizer

    written = ["kernels on graphs", "graphs of graphs", "deep learning"]
    column = Text.learn("t", np.array(written, object))
    expected = TfidfVectorizer(sublinear_tf=True).fit(written).transform([*written, ""])
    assert abs(column.encode(np.array([*written, None], object)) - expected).max() < 1e-12
    assert column.encode(np.array(["quantum"], object)).nnz == 0
    tokens = Tokens.learn("t", np.array([text.split() for text in written] + [None], object))
    assert (
        abs(tokens.encode(np.array([text.split() for text in written] + [None], object)) - expected).max()
        < 1e-12
    )
    category = Category.learn("c", np.array(["u", "v", "u"], object))
    encoded = category.encode(np.array(["v", "w", None, "u"], object)).toarray()
    assert encoded.tolist() == [[0, 1], [0, 0], [0, 0], [1, 0]]


def test_columns_that_say_nothing_are_left_out_with_the_reason():
    nodes = {"id": ["a", "b"], "same": [1, 1], "none": pa.array([None, None], pa.string()), "x": [1, 2]}
    graph = kn.read_table({"source": ["a"], "target": ["b"]}, nodes)
    assert graph.encoding.feature_names == ("constant", "x")
    assert {"same: left out, every value is the same", "none: left out, every value is missing"} <= set(
        graph.notes
    )


def test_everything_done_to_columns_survives_json_and_npz(tmp_path):
    nodes = {
        "id": list("abcdef"),
        "n": [1, 2, None, 4, 5, 6],
        "f": [True, False, None, True, True, False],
        "d": ["2020-01-01"] * 3 + ["2021-01-01"] * 3,
        "c": ["u", "v"] * 3,
        "t": [f"word{n} other words" for n in "abcdef"],
        "v": [[float(n), 1.0] for n in range(6)],
    }
    edges = {"source": list("abc"), "target": list("def")}
    graph = kn.read_table(edges, nodes, positions=8)
    again = Config.from_json(graph.encoding.to_json())
    assert isinstance(again, Encoding)
    assert again == graph.encoding
    write_npz(graph, tmp_path / "g.npz")
    stored = read_npz(tmp_path / "g.npz")
    assert stored.encoding == graph.encoding
    assert stored.repairs == graph.repairs
    assert stored.fingerprint == graph.fingerprint
    assert kn.read_table(edges, nodes, like=stored).fingerprint == graph.fingerprint


def test_other_tables_are_read_like_the_first():
    first = kn.read_table(
        {"source": ["a"], "target": ["b"]},
        {"id": ["a", "b"], "x": [0.0, 2.0], "c": ["u", "v"], "label": ["p", "q"]},
        features={"x": "number", "c": "category"},
    )
    other = kn.read_table(
        {"source": ["s", "t"], "target": ["t", "w"], "weight": [3, 4]},
        {"id": ["s", "t"], "extra": [1, 1], "c": ["w", "u"], "x": ["3", "?"]},
        like=first,
    )
    assert other.encoding == first.encoding
    assert dense(other).tolist() == [[1, 2, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]]
    assert other.adjacency.data.max() == 1  # the first had no weights
    assert (other.labels == -1).all()
    assert other.class_names == first.class_names
    known = kn.read_table(
        {"source": ["s"], "target": ["t"]},
        {"id": ["s", "t"], "x": [1, 2], "c": ["u", "u"], "label": ["q", "b"]},
        like=first,
    )
    assert known.class_names == ("p", "q", "b")  # numbers mean what they meant
    assert known.labels.tolist() == [1, 2]
    with pytest.raises(InputError, match="there is no column 'c' for the features"):
        kn.read_table({"source": ["s"], "target": ["t"]}, {"id": ["s", "t"], "x": [1, 2]}, like=first)
    with pytest.raises(InputError, match="Give a table of nodes"):
        kn.read_table({"source": ["s"], "target": ["t"]}, like=first)
    with pytest.raises(InputError, match="label is what like has already"):
        kn.read_table({"source": ["s"], "target": ["t"]}, {"id": ["s"], "x": [1]}, like=first, label="x")
    with pytest.raises(InputError, match="like must be a graph or model that was read from tables"):
        kn.read_table({"source": ["s"], "target": ["t"]}, like=3)


def test_nodes_without_features_get_degree_and_positions():
    ring = {"source": [f"n{i}" for i in range(30)], "target": [f"n{(i + 1) % 30}" for i in range(30)]}
    graph = kn.read_table(ring)
    x = dense(graph)
    assert graph.encoding.feature_names[:3] == ("constant", "degree", "position 0")
    assert x.shape == (30, 66)
    assert np.allclose(np.linalg.norm(x[:, 2:], axis=1), 1, atol=1e-5)
    near, far = x[0, 2:] @ x[1, 2:], x[0, 2:] @ x[15, 2:]
    assert near > far + 0.3
    # The same node has the same signs in a later state of the graph: far from the change nothing moves.
    later = kn.read_table({"source": [*ring["source"], "n0"], "target": [*ring["target"], "new"]}, like=graph)
    at = later.find(graph.node_names[[10, 15]])
    assert np.array_equal(dense(later)[at, 2:], x[[10, 15], 2:])
    assert not np.array_equal(dense(later)[later.find(["n1"])[0], 2:], x[1, 2:])


def test_edge_list_without_header_and_load_by_path(tmp_path):
    (path,) = write(tmp_path, graph_tsv="1\t2\n2\t3\n")
    graph = load_graph(path)
    assert graph.node_names.tolist() == ["1", "2", "3"]
    assert graph.n_edges == 2
    assert graph.name == "graph"


def test_positions_are_random_signs_averaged_over_three_steps_of_a_walk():
    graph = kn.read_table({"source": list("abcd"), "target": list("bcde")})
    signs = np.sign(graph.encoding.placed(graph.features, 0 * graph.adjacency, graph.node_names)[:, 2:])
    walk = graph.adjacency.toarray() + np.eye(5)
    walk /= walk.sum(axis=1, keepdims=True)
    expected = sum(np.linalg.matrix_power(walk, step) for step in (1, 2, 3)) @ signs
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(dense(graph)[:, 2:], expected, atol=1e-5)


WRONG = [
    ({"e": "source,target\na,b\n", "id": "key"}, "n.csv: there is no column 'key' for the ids"),
    ({"features": ["yaer"]}, "there is no column 'yaer' for the features. Did you mean 'year'"),
    ({"weight": "w"}, "there is no column 'w' for the weight"),
    ({"features": ["topic"], "label": "topic"}, "column 'topic' is the label and cannot be a feature"),
    (
        {"e": "source,target\nq,r\n"},
        "such as 'q', is listed in column 'id' of n.csv, which has ids such as 'a'. Name the columns",
    ),
    ({"e": "target,x\na,b\n"}, "which column is the source. Name one of target, x"),
]


@pytest.mark.parametrize(("changes", "sentence"), WRONG, ids=[sentence[:40] for _, sentence in WRONG])
def test_wrong_input_is_one_sentence_with_file_row_and_fix(changes, sentence, tmp_path):
    changes = dict(changes)
    paths = write(tmp_path, e_csv=changes.pop("e", EDGES), n_csv=NODES)
    with pytest.raises(KernodeError) as error:
        kn.read_table(*paths, **changes)
    assert sentence.replace("source.", "source?") in str(error.value) or sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_what_to_csv_writes_of_an_index_is_left_out(tmp_path):
    e, n = write(tmp_path, e_csv=",a,b\n0,1,2\n1,2,3\n", n_csv=",id,x\n0,1,5\n1,2,6\n2,3,9\n")
    graph = kn.read_table(e, n)
    assert (graph.n_nodes, graph.n_edges) == (3, 2)
    assert graph.encoding.feature_names == ("constant", "x")
    assert "n.csv: left out column 1, which has no name" in graph.notes
    assert "e.csv: took 'a' as source and 'b' as target" in graph.notes


def test_whole_numbers_are_the_same_however_they_are_written(tmp_path):
    e, n = write(tmp_path, e_csv="source,target\n1,2.0\n2,3.0\n3,\n", n_csv="id,x\n1,5\n2,6\n3,7\n")
    assert kn.read_table(e, n).node_names.tolist() == ["1", "2", "3"]
    decimals = {"source": [Decimal("1.00")], "target": [Decimal("2.00")]}
    assert kn.read_table(decimals, n).n_nodes == 3
    first = kn.read_table(
        {"source": [1], "target": [2]},
        {"id": [1, 2], "c": [1, 3], "b": [True, False], "label": [True, False]},
        features={"c": "category", "b": "category"},
    )
    (other,) = write(tmp_path, o_csv="id,c,b,label\n1,1.0,True,False\n2,,False,True\n")
    again = kn.read_table({"source": [1], "target": [2]}, other, like=first)
    assert again.class_names == ("false", "true")
    assert again.labels.tolist() == [0, 1]
    assert dense(again).tolist() == [[1, 1, 0, 0, 1], [1, 0, 0, 1, 0]]


def test_files_of_other_kinds(tmp_path):
    (wide,) = write(tmp_path, w_csv="source,target\n1,2\n".encode("utf-16-le"))
    with pytest.raises(InputError, match=r"w\.csv has NUL bytes.*encoding utf-16-le"):
        kn.read_table(wide)
    assert kn.read_table(wide, encoding="utf-16-le").n_edges == 1
    (snap,) = write(tmp_path, s_txt="# Directed graph\n# FromNodeId ToNodeId\n1 2\n2 3\n9\n")
    graph = kn.read_table(snap)
    assert (graph.n_edges, graph.repairs[0].rows) == (2, (5,))
    (bare,) = write(tmp_path, b_csv="source,target")
    with pytest.raises(InputError, match="hold no edge and no node"):
        kn.read_table(bare)


@pytest.mark.parametrize(
    ("nodes", "options", "sentence"),
    [
        ({"id": ["a", "b"], "x": [[1.0], [2.0]]}, {"label": "x"}, "the column of the label holds"),
        ({"id": ["a", "b"], "x": ["u v", "w"]}, {"features": {"x": "vector"}}, "cannot be read as a vector"),
        ({"id": ["a", "b"], "x": [[1.0], [2.0]]}, {"features": {"x": "text"}}, "cannot be read as a text"),
        (
            {"id": ["a", "b"], "x": [[1.0], [2.0, 3.0]]},
            {"features": {"x": "vector"}},
            "2 numbers where others have 1",
        ),
        ({}, {}, "nodes has no columns"),
        ({"id": ["a" * 2000, "b"], "x": [1, 2]}, {}, "has 2,000 characters"),
        ({"id": 5}, {}, "the columns do not make a table"),
        ({"id": ["a", "b"], "x": [{"k": 1}, {"k": 2}]}, {}, "holds STRUCT.*Name the features without it"),
    ],
)
def test_columns_that_cannot_be_read_are_one_sentence(nodes, options, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        kn.read_table({"source": ["a"], "target": ["b"]}, nodes, **options)
    assert "\n" not in str(error.value)


def test_flags_gaps_and_noise():
    edges = {"source": ["a"], "target": ["b"]}
    first = kn.read_table(
        edges, {"id": ["a", "b"], "f": [True, False], "v": [[1.0, 2.0], [3.0, 5.0]], "x": [1.0, 2.0]}
    )
    strange = {"id": ["c", "d"], "f": ["maybe", "yes"], "v": [None, None], "x": [1, 2]}
    other = kn.read_table({"source": ["c"], "target": ["d"]}, strange, like=first)
    assert repaired(other) == {("nodes", "had no flag there but 'maybe'"): [0]}
    assert kn.extend(first, None, {"source": ["new"], "target": ["a"]}).listed.tolist() == [True, True, False]
    for nothing in ([0.1, 0.1], [np.nan, np.nan]):
        graph = kn.read_table(edges, {"id": ["a", "b"], "y": nothing, "x": [1, 2]})
        assert graph.encoding.feature_names == ("constant", "x")


@pytest.mark.parametrize("positions", [None, 8])
def test_extended_graph_is_what_reading_all_rows_at_once_gives(positions):
    random = np.random.default_rng(1)
    names = [f"n{i}" for i in range(30)]
    nodes = {"id": names, "x": random.normal(size=30), "t": random.choice(["red sea", "dry land"], 30)}
    pairs = random.integers(0, 30, (60, 2))
    edges = {"source": [names[u] for u, _ in pairs], "target": [names[v] for _, v in pairs]}
    early = [at for at, (u, v) in enumerate(pairs) if max(u, v) < 20]
    late = [at for at in range(60) if at not in early]
    first = kn.read_table(
        {side: [ends[at] for at in early] for side, ends in edges.items()},
        {column: list(values[:20]) for column, values in nodes.items()},
        positions=positions,
    )
    later = kn.extend(
        first,
        {column: list(values[20:]) for column, values in nodes.items()},
        {side: [ends[at] for at in late] for side, ends in edges.items()},
    )
    whole = kn.read_table(edges, nodes, like=first)
    assert later.node_names.tolist() == whole.node_names.tolist()
    assert np.array_equal(later.adjacency.toarray(), whole.adjacency.toarray())
    assert np.allclose(dense(later), dense(whole), atol=1e-6)
