"""Graphs in NPZ files of both layouts, and in the tensors of a model file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import kernode as kn
from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io import load_graph, read_npz, write_npz
from kernode.io.npz import graph_from_tensors, graph_to_tensors
from refusals import refused


def benchmark_arrays(**changes) -> dict[str, np.ndarray]:
    """A directed graph of four nodes in the gnn-benchmark layout: 0→1, 1→0, 1→2, 3→3."""
    adjacency = sparse.csr_array(([1.0, 1, 1, 1], ([0, 1, 1, 3], [1, 0, 2, 3])), shape=(4, 4))
    words = sparse.csr_array(np.eye(4, 3, dtype=np.float32))
    arrays = {"labels": np.array([0, 1, -1, 1])}
    for what, matrix in (("adj", adjacency), ("attr", words)):
        for part in ("data", "indices", "indptr"):
            arrays[f"{what}_{part}"] = getattr(matrix, part)
        arrays[f"{what}_shape"] = np.array(matrix.shape)
    arrays |= changes
    return {name: array for name, array in arrays.items() if array is not None}


@pytest.fixture
def save(tmp_path):
    def save(**changes):
        path = tmp_path / "mine.npz"
        np.savez(path, **benchmark_arrays(**changes))
        return path

    return save


# the gnn-benchmark layout


def test_the_benchmark_layout_is_made_undirected_and_says_so(save):
    graph = read_npz(save())
    assert graph.name == "mine"
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert graph.features.toarray().tolist() == np.eye(4, 3).tolist()
    assert graph.labels.tolist() == [0, 1, -1, 1]
    assert graph.notes == ("made undirected", "merged 1 repeated edge", "dropped 1 self-loop")


@pytest.mark.parametrize("index", ["int32", "uint64"])
def test_sparse_features_have_32_bit_indices_as_scikit_learn_needs(save, tmp_path, index):
    graph = read_npz(save(attr_indices=np.arange(3, dtype=index), attr_indptr=np.int64([0, 1, 2, 3, 3])))
    write_npz(graph, tmp_path / "own.npz")
    for features in (graph.features, read_npz(tmp_path / "own.npz").features):
        assert features.indices.dtype == features.indptr.dtype == np.int32
        assert features.toarray().tolist() == np.eye(4, 3).tolist()


def test_dense_features_are_read_from_attr_matrix(save):
    none = dict.fromkeys(("attr_data", "attr_indices", "attr_indptr", "attr_shape"))
    graph = read_npz(save(**none, attr_matrix=np.arange(8.0).reshape(4, 2)))
    assert graph.features.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize(
    ("stored", "weights"),
    [
        ([1, 1, 1, 1], [1, 1]),
        ([2, 3, 0.5, 1], [3, 0.5]),  # of the two directions the larger one
        ([2, 0, 0, 1], [2]),  # a stored zero is no edge
        ([True, True, True, True], [1, 1]),
    ],
)
def test_weights_are_kept_only_where_they_say_something(save, stored, weights):
    graph = read_npz(save(adj_data=np.array(stored)))
    assert sparse.triu(graph.adjacency).data.tolist() == weights


def test_all_missing_keys_are_named_at_once(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    with pytest.raises(InputError, match="lacks adj_data, adj_indices, adj_indptr, adj_shape, labels"):
        read_npz(tmp_path / "other.npz")


def test_a_graph_without_features_is_told_that_they_are_needed(save):
    with pytest.raises(InputError, match="has no node features, which kernode needs"):
        read_npz(save(**dict.fromkeys(("attr_data", "attr_indices", "attr_indptr", "attr_shape"))))


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([0, 1, -2, 0], "must be integers ≥ 0"),
        (["a", "b", "a", "b"], "must be integers"),
        ([0, 1, 2], "one class per node"),
        ([[0, 1], [1, 0], [0, 1], [1, 0]], "one class per node"),
        ([0, 1, 10**9, 0], "labels must count classes from 0. Got 1000000000 for 4 nodes"),
    ],
)
def test_labels_that_are_no_classes_are_refused(save, labels, sentence):
    with pytest.raises(InputError, match=rf"mine\.npz: .*{sentence}"):
        read_npz(save(labels=np.array(labels)))


@pytest.mark.parametrize(
    "damage",
    [
        {"adj_indices": np.array([1, 0, 2, 9])},
        {"adj_indices": np.array([1, 0, -1, 3])},
        {"adj_indices": np.array([1.0, 0, 2, 3])},
        {"adj_indptr": np.array([0, 3, 1, 3, 4])},
        {"adj_indptr": np.array([1, 1, 3, 3, 4])},
        {"adj_indptr": np.array([0, 500, 0, 0, 0])},
        {"adj_indptr": np.array([0, 1, 3, 3, 3])},
        {"adj_indptr": np.array([], int)},
        {"adj_indptr": np.array([0, 1, 3, 3, 2**63], np.uint64)},
        {"adj_data": np.ones(3)},
        {"adj_data": np.array(["a", "b", "c", "d"])},
        {"adj_shape": np.array([10**12, 10**12])},
        {"attr_indices": np.array([0, 1, 3])},
    ],
    ids=lambda damage: ",".join(f"{key}={value.ravel().tolist()}" for key, value in damage.items()),
)
def test_an_inconsistent_matrix_is_one_sentence(save, damage):
    what = next(iter(damage)).partition("_")[0]
    with pytest.raises(FileError, match=rf"mine\.npz holds '{what}', which is not a valid CSR") as caught:
        read_npz(save(**damage))
    assert "\n" not in str(caught.value)


def test_matrices_that_do_not_fit_each_other_are_refused(save):
    with pytest.raises(InputError, match=r"mine\.npz: .* Got 'csr_array \(4, 4\), features \(3, 2\)'"):
        read_npz(save(attr_matrix=np.ones((3, 2))))
    with pytest.raises(InputError, match=r"mine\.npz: .* Got 'csr_array \(4, 5\), features \(4, 3\)'"):
        read_npz(save(adj_shape=np.array([4, 5])))


# any file


# kernode's own layout


def assert_same(one: Graph, other: Graph) -> None:
    assert one.fingerprint == other.fingerprint
    assert one.features.dtype == other.features.dtype
    assert sparse.issparse(one.features) == sparse.issparse(other.features)
    np.testing.assert_array_equal(one.labels, other.labels)
    assert (one.class_names, one.name, one.notes) == (other.class_names, other.name, other.notes)
    assert (one.node_names is None) == (other.node_names is None)
    if one.node_names is not None:
        assert one.node_names.tolist() == other.node_names.tolist()


@st.composite
def graphs(draw) -> Graph:
    n, f = draw(st.integers(1, 300)), draw(st.integers(1, 300))
    seed = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = seed.integers(0, n, (draw(st.integers(0, 3 * n)), 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    features = seed.normal(size=(n, f)).astype(draw(st.sampled_from(["float32", "float64"])))
    kind = draw(st.sampled_from(["dense", "sparse", "binary"]))
    if kind != "dense":
        features = sparse.csr_array(features * (features > 1))
        features.data = np.ones_like(features.data) if kind == "binary" else features.data
    return Graph.from_edges(
        edges,
        features,
        seed.integers(-1, 5, n),
        weights=draw(st.sampled_from([None, seed.uniform(0.1, 9, len(edges))])),
        class_names=draw(st.sampled_from([(), tuple("abcde"), ("α", "β", "γ", "δ", "ε", "unused")])),
        node_names=draw(st.sampled_from([None, [f"node {i}" for i in range(n)], np.arange(n) - 7])),
        name=draw(st.text(max_size=5)),
    )


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_a_graph_comes_back_as_it_was_written(tmp_path_factory, graph):
    path = tmp_path_factory.mktemp("written") / "graph.npz"
    write_npz(graph, path)
    first = path.read_bytes()
    assert_same(read_npz(path), graph)
    write_npz(read_npz(path), path)
    assert path.read_bytes() == first


def rewritten(path, **changes) -> None:
    with np.load(path) as arrays:
        content = dict(arrays) | changes
    np.savez(path, **{name: array for name, array in content.items() if array is not None})


def test_changed_content_does_not_match_its_checksum(tmp_path):
    path = tmp_path / "cora.npz"
    write_npz(load_graph("cora"), path)
    rewritten(path, labels=np.zeros(2708, np.uint8))
    with pytest.raises(FileError, match=r"cora\.npz is damaged: its checksum does not match"):
        read_npz(path)


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (b"no json", "has a damaged header"),
        (b"[]", "has a damaged header"),
        (b'{"layout": "kernode-graph-9"}', "has the layout 'kernode-graph-9'"),
        (b'{"layout": "kernode-graph-1"}', "its checksum does not match"),
    ],
)
def test_a_header_that_says_something_else_is_refused(tmp_path, header, sentence):
    path = tmp_path / "graph.npz"
    write_npz(load_graph("cora"), path)
    rewritten(path, kernode=np.frombuffer(header, np.uint8))
    with pytest.raises(FileError, match=sentence):
        read_npz(path)


GRAPH = kn.Graph.from_edges(
    [(0, 1), (1, 2)], np.random.default_rng(0).normal(size=(4000, 1000)).astype(np.float32)
)  # 16 MB


def test_reading_takes_the_graphs_own_copy_and_little_more():
    tensors, size = graph_to_tensors(GRAPH), GRAPH.features.nbytes
    tracemalloc.start()
    again = graph_from_tensors(tensors, Path("m"), GRAPH.fingerprint)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert again.fingerprint == GRAPH.fingerprint
    assert peak < size + 20e6  # a fingerprint takes blocks of 16 MB


def test_a_tensor_may_begin_anywhere_and_the_graph_does_not_change_with_it():
    def moved(tensor):
        return torch.cat([torch.zeros(1, dtype=torch.uint8), tensor])[1:]

    tensors = {name: moved(tensor) for name, tensor in graph_to_tensors(GRAPH).items()}
    again = graph_from_tensors(tensors, Path("m"), GRAPH.fingerprint)
    for tensor in tensors.values():
        tensor.zero_()
    del again.__dict__["fingerprint"]
    assert again.fingerprint == GRAPH.fingerprint


@pytest.mark.parametrize("damage", [lambda t: t[:100], lambda t: t[:-1], torch.zeros_like, lambda t: t[:0]])
def test_a_damaged_array_is_named(damage):
    tensors = graph_to_tensors(GRAPH)
    with refused("damaged-file", path="m"):
        graph_from_tensors(tensors | {"features": damage(tensors["features"])}, Path("m"), GRAPH.fingerprint)
