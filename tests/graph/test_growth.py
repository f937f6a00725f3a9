"""Nodes and edges that arrive later: the larger graph is the one that would have been built at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphs import dense_features, path_graph
from growth import growth
from kernode.graph import Graph
from kernode.graph.edits import extended, touched
from refusals import refused


def same(one, other):
    assert one.adjacency.dtype == other.adjacency.dtype
    assert (one.adjacency != other.adjacency).nnz == 0
    assert one.adjacency.has_canonical_format
    assert sparse.issparse(one.features) == sparse.issparse(other.features)
    assert one.features.dtype == other.features.dtype
    assert (one.features != other.features).sum() == 0
    assert np.array_equal(one.labels, other.labels)
    assert one.fingerprint == other.fingerprint


@given(growth(stages=3))
def test_extending_step_by_step_equals_building_at_once(drawn):
    graph, arrivals, whole = drawn
    for arrival in arrivals:
        graph = extended(graph, **arrival)
    same(graph, whole)


def test_heavier_edges_and_loops_are_merged_as_from_edges_does():
    old = Graph.from_edges([(0, 1), (1, 2)], np.eye(3), weights=[2.0, 2.0], name="trio")
    new = extended(old, None, [(1, 0), (2, 1), (2, 2), (0, 2)], weights=[3.0, 1.0, 9.0, 0.5])
    assert np.array_equal(new.adjacency.toarray(), [[0, 3, 0.5], [3, 0, 2], [0.5, 2, 0]])
    assert new.name == "trio"
    assert new.notes == (*old.notes, "dropped 1 self-loop", "2 of the added edges were there already")
    assert new.features is old.features
    assert not new.adjacency.data.flags.writeable


def test_new_nodes_have_the_types_and_names_of_the_old():
    old = Graph.from_edges(
        [(0, 1)], np.eye(2, dtype=np.float32), [0, 1], node_names=["a", "b"], class_names=["x", "y"]
    )
    new = extended(old, sparse.csr_array([[0.0, 7.0]]), [(0, 2)], node_names=["longer"])
    assert isinstance(new.features, np.ndarray)
    assert new.features.dtype == np.float32
    assert new.features[2].tolist() == [0, 7]
    assert new.labels.tolist() == [0, 1, -1]
    assert new.class_names == ("x", "y")
    assert new.find(["longer", "a"]).tolist() == [2, 0]
    words = Graph.from_edges([(0, 1)], sparse.csr_array(np.eye(2)))
    assert sparse.issparse(extended(words, [[1, 2]], []).features)
    assert extended(words, [[1, 2]], []).features.dtype == np.float64


NAMED = Graph.from_edges([(0, 1)], np.eye(2, dtype=np.float32), [0, 1], name="duo", node_names=["a", "b"])
PLAIN = Graph.from_edges([(0, 1)], np.eye(2, dtype=np.float32), [0, 1], name="duo")


@pytest.mark.parametrize(
    ("graph", "features", "edges", "more", "code", "setting"),
    [
        (PLAIN, [[1, 2, 3]], [], {}, "shape", "features"),
        (PLAIN, [[1, np.nan]], [], {}, "not-finite", "features"),
        (PLAIN, [[1, 1e300]], [], {}, "not-finite", "features"),
        (PLAIN, [[1, 2]], [(0, 3)], {}, "unknown", None),
        (PLAIN, [[1, 2]], [(0, 2)], {"weights": [0]}, "setting", "weights"),
        (PLAIN, [[1, 2]], [], {"labels": [2]}, "shape", "class_names"),
        (PLAIN, [[1, 2]], [], {"node_names": ["c"]}, "no-effect", "node_names"),
        (NAMED, [[1, 2]], [], {}, "missing", "node_names"),
        (NAMED, [[1, 2]], [], {"node_names": ["c", "d"]}, "shape", "node_names"),
        (NAMED, [[1, 2]], [], {"node_names": ["b"]}, "duplicate", "node_names"),
    ],
)
def test_what_does_not_fit_is_refused(graph, features, edges, more, code, setting):
    with refused(code, setting=setting):
        extended(graph, features, edges, **more)


@given(growth(), st.data())
def test_touched_nodes_are_those_whose_rows_differ(drawn, data):
    old, _, new = drawn
    features = np.array(dense_features(new))
    changed = sorted(data.draw(st.sets(st.integers(0, new.n_nodes - 1))))
    features[changed] += 1
    sparse_now = data.draw(st.booleans())
    new = Graph(new.adjacency, sparse.csr_array(features) if sparse_now else features, new.labels)
    n = old.n_nodes
    before = np.zeros((new.n_nodes, new.n_nodes + 5))
    before[:n, :n] = old.adjacency.toarray()
    before[:n, new.n_nodes :] = dense_features(old)
    differs = (before != np.hstack([new.adjacency.toarray(), features])).any(axis=1)
    differs[n:] = True
    assert np.array_equal(touched(old, new), np.flatnonzero(differs))


def test_a_smaller_graph_or_other_columns_extend_nothing():
    for other in (path_graph(4), Graph.from_edges([], np.ones((9, 4)))):
        with refused("shape", setting="graph"):
            touched(path_graph(5), other)
