import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import kernode as kn
from graphs import graphs
from kernode.errors import InputError
from refusals import refused

EDGES = [(0, 1), (1, 2)]


def make(**changes):
    arguments = {"edges": EDGES, "features": np.eye(3), "labels": [0, 1, -1]} | changes
    return kn.Graph.from_edges(arguments.pop("edges"), **arguments)


@given(graphs(), st.randoms())
def test_direction_order_and_repeats_of_edges_do_not_matter(graph, random):
    upper = sparse.triu(graph.adjacency).tocoo()
    edges = [*zip(upper.row, upper.col, upper.data, strict=True)]
    edges += random.sample(edges, len(edges) // 2)
    random.shuffle(edges)
    turned = [(v, u, w) if random.random() < 0.5 else (u, v, w) for u, v, w in edges]
    again = kn.Graph.from_edges(
        np.array([(u, v) for u, v, _ in turned], dtype=int).reshape(-1, 2),
        features=graph.features,
        weights=np.array([w for *_, w in turned]),
    )
    assert (again.adjacency != graph.adjacency).nnz == 0
    assert again.fingerprint == graph.fingerprint


def test_reader_says_what_it_did():
    graph = make(edges=[(0, 1), (0, 1), (2, 2)])
    assert graph.notes == ("made undirected", "merged 1 repeated edge", "dropped 1 self-loop")
    assert make(edges=[(0, 1), (1, 0)]).notes == ()


@pytest.mark.parametrize(
    ("changes", "code", "fields"),
    [
        ({"edges": [(0, 3)]}, "unknown", {"what": "node", "name": 3, "row": 0}),
        ({"edges": [(0.5, 1.0)]}, "shape", {"setting": "edges"}),
        ({"weights": [1.0, -2.0]}, "setting", {"setting": "weights", "row": 1, "value": -2.0}),
        ({"features": np.array([[1.0], [np.nan], [0.0]])}, "not-finite", {"row": 1, "column": 0}),
        ({"features": sparse.csr_array([[1.0], [0.0], [np.inf]])}, "not-finite", {"row": 2, "column": 0}),
        ({"features": np.array([["a"], ["b"], ["c"]])}, "setting", {"setting": "features"}),
        ({"features": np.empty((3, 0))}, "too-few", {"setting": "features"}),
        ({"edges": [(0, 1), (2,)]}, "shape", {"setting": "edges"}),
        ({"weights": ["a", "b"]}, "setting", {"setting": "weights"}),
        ({"labels": [0, 1]}, "shape", {"setting": "labels"}),
        ({"labels": [0, 1, -2]}, "setting", {"setting": "labels"}),
        ({"labels": [0, 1, 10**9]}, "setting", {"setting": "labels", "value": 10**9}),
        ({"node_names": ["a", "a", "b"]}, "duplicate", {"setting": "node_names"}),
        ({"class_names": ["only"]}, "shape", {"setting": "class_names", "expected": 2, "found": 1}),
    ],
)
def test_bad_input_is_refused(changes, code, fields):
    with refused(code, InputError, **fields):
        make(**changes)


def test_graph_is_a_frozen_value():
    graph = make()
    assert copy.deepcopy(graph) is graph
    assert not hasattr(graph, "__len__")
    assert not hasattr(graph, "shape")
    with pytest.raises(ValueError, match="read-only"):
        graph.labels[0] = 1
    with pytest.raises(AttributeError):
        graph.name = "other"


def test_fingerprint_follows_edges_and_features_but_not_labels():
    graph = make()
    assert make(labels=[1, 1, 0]).fingerprint == graph.fingerprint
    assert make(edges=[(0, 1)]).fingerprint != graph.fingerprint
    assert make(features=2 * np.eye(3)).fingerprint != graph.fingerprint
    assert make(weights=[1.0, 2.0]).fingerprint != graph.fingerprint


def test_nodes_are_found_by_name_and_by_index():
    named = kn.Graph.from_edges([(0, 1)], np.eye(3), node_names=["b", "c", "a"])
    assert named.find(["a", "b", "a"]).tolist() == [2, 0, 2]
    assert named.find(np.array(["c", "a"], dtype=object)).tolist() == [1, 2]
    assert named.find([]).tolist() == []
    assert named.find("c") == 1
    with refused("unknown", what="node", name="d"):
        named.find(["a", "d"])
    with refused("unknown", what="node", name=3):
        named.find([3])
    numbered = kn.Graph.from_edges([(0, 1)], np.eye(3), node_names=[10**15, 7, 0])
    assert numbered.find(["0", str(10**15)]).tolist() == [2, 0]
    assert numbered.find(numbered.node_names).tolist() == [0, 1, 2]
    assert numbered.find([0, 7]).tolist() == [2, 1]  # as names: that is what a data frame has
    assert numbered.find(kn.positions([0, 1])).tolist() == [0, 1]
    with pytest.raises(InputError, match=r"called '1'.*kn.positions\(\[1\]\)"):
        numbered.find([1])
    with pytest.raises(InputError, match=r"called '01'\. Check the name\.$"):  # text is no position
        numbered.find(["01"])
    with refused("unknown", what="node", name="a"):
        kn.Graph.from_edges([(0, 1)], np.eye(3)).find(["a"])
    padded = kn.Graph.from_edges([(0, 1)], np.eye(2), node_names=["007", "010"])  # pandas makes 7 of 007
    with pytest.raises(InputError, match="Did you mean the text '007'"):
        padded.find([7])


def test_graph_from_a_pickle_is_as_frozen_as_it_was():
    graph = kn.Graph.from_edges([(0, 1)], np.eye(3), [0, 1, -1], node_names=["b", "c", "a"])
    fresh = len(pickle.dumps(graph))
    assert graph.find(["a"]).tolist() == [2]
    pickled = pickle.dumps(graph)
    assert len(pickled) == fresh  # nothing for what was looked up
    again = pickle.loads(pickled)
    assert again.fingerprint == graph.fingerprint
    assert again.find(["a"]).tolist() == [2]
    for array in (again.adjacency.data, again.features, again.labels, again.node_names):
        assert not array.flags.writeable
    assert replace(again, name="again").adjacency is again.adjacency  # neither copied nor checked again
