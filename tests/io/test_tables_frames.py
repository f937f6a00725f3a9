"""Data frames that were shuffled, filtered or concatenated are read by column and row order."""

import numpy as np
import pandas as pd

import kernode as kn
from refusals import refused

N = 12
EDGES = pd.DataFrame({"source": np.arange(N) + 100, "target": np.roll(np.arange(N), 1) + 100})
NODES = pd.DataFrame({"id": np.arange(N) + 100, "x": np.arange(N) ** 2.0, "label": ["u", "v", "w"] * 4})
PLAIN = kn.read_table(EDGES, NODES)


def by_name(graph):
    """What each node has, whatever the order of rows."""
    labels = np.array([*graph.class_names, ""])[graph.labels]
    return {
        name: (row.tolist(), label)
        for name, row, label in zip(graph.node_names, graph.features, labels, strict=True)
    }


def same(graph):
    """Whether all is as in the frames that nobody touched."""
    at = graph.find(PLAIN.node_names)
    ours, plain = by_name(graph), by_name(PLAIN)
    near = all(
        np.allclose(ours[name][0], row) and ours[name][1] == label for name, (row, label) in plain.items()
    )
    return near and np.array_equal(graph.adjacency.toarray()[np.ix_(at, at)], PLAIN.adjacency.toarray())


def test_shuffled_frames_are_not_misaligned():
    graph = kn.read_table(EDGES.sample(frac=1, random_state=0), NODES.sample(frac=1, random_state=9))
    assert same(graph)
    assert "nodes: left out the data frame's index, which has no name" in graph.notes
    assert "index" not in graph.encoding.feature_names


def test_concatenated_frames_are_not_misaligned():
    nodes = pd.concat([NODES[6:].reset_index(drop=True), NODES[:6]])
    edges = pd.concat([EDGES[6:].reset_index(drop=True), EDGES[:6]])
    assert not nodes.index.is_unique
    assert same(kn.read_table(edges, nodes))


def test_shuffled_index_without_a_column_of_ids_is_no_id():
    nodes = NODES.rename(columns={"id": "customer"}).sample(frac=1, random_state=0)
    graph = kn.read_table(EDGES, nodes)
    assert same(graph)
    assert "nodes: took 'customer' as id" in graph.notes
    repeated = pd.concat([nodes[:6].reset_index(drop=True), nodes[6:].reset_index(drop=True)])
    assert same(kn.read_table(EDGES, repeated))


def test_an_index_that_may_be_ids_is_asked_about():
    frame = pd.DataFrame(
        {"x": NODES.x.to_numpy(), "label": NODES.label.to_numpy()}, index=NODES.id.to_numpy()
    )
    with refused("ambiguous", setting="id"):
        kn.read_table(EDGES, frame)
    graph = kn.read_table(EDGES, frame.rename_axis("id"))
    assert same(graph)
    assert "nodes: took the data frame's index as column 'id'" in graph.notes


def test_an_index_of_texts_is_the_ids_where_no_column_is():
    names = NODES.id.astype(str)
    graph = kn.read_table(EDGES, NODES.drop(columns="id").set_index(names.rename(None)))
    assert same(graph)
    assert "nodes: took the data frame's index as column 'index'" in graph.notes
    letters = NODES.set_axis(list("abcdefghijkl"))
    assert same(kn.read_table(EDGES, letters))  # the column called id is it


def test_an_index_named_like_a_column():
    assert same(kn.read_table(EDGES, NODES.set_index("id", drop=False).sample(frac=1, random_state=1)))
    with refused("shape", setting="nodes"):
        kn.read_table(EDGES, NODES.rename_axis("id"))


def test_a_named_index_of_edges_is_no_end_of_them():
    edges = EDGES.rename(columns={"source": "a", "target": "b"}).rename_axis("row")
    graph = kn.read_table(edges, NODES)
    assert "edges: took 'a' as source and 'b' as target" in graph.notes
    assert same(graph)
    assert same(kn.read_table(EDGES.assign(w=1.0).set_index(["source", "target"]), NODES))
