"""X in a graph and at a place: files stay mapped, blocks change no bit, nothing is copied in vain."""

import hashlib
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import kernode as kn
from graphs import graphs
from kernode.compute import chunks as module
from kernode.compute.chunks import chunks, is_mapped
from kernode.compute.sparse import SparseMatrix
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.maps.layers.features import node_features, scaled_features

CPU = {32: TensorOptions.of(32), 64: TensorOptions.of(64)}


def whole_features(graph, options, normalize_rows):
    """X by its formula, in float64 and in one piece."""
    x = graph.features.astype(np.float64)
    if normalize_rows:
        sums = abs(x).sum(axis=1)
        x = x * (1 / np.where(sums > 0, sums, 1))[:, None]
    return torch.from_numpy(x).to(options.dtype)


def graph_of(features):
    return kn.Graph.from_edges([(0, 1)], features)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "_BYTES", 8)  # 64 rows, the least there is


@given(st.integers(0, 500), st.integers(1, 100))
def test_blocks_cover_everything_once_and_are_nearly_equal(length, size):
    cuts = list(chunks(length, size))
    assert [i for part in cuts for i in range(part.start, part.stop)] == list(range(length))
    lengths = [part.stop - part.start for part in cuts]
    assert all(0 < one <= size for one in lengths)
    assert max(lengths, default=0) - min(lengths, default=0) <= 1


# at a place


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("normalize_rows", [True, False])
@pytest.mark.parametrize("precision", [32, 64])
@pytest.mark.parametrize(("kind", "order"), [("<f4", "C"), ("<f8", "F"), (">f4", "C"), ("int16", "F")])
def test_blocks_change_no_bit(kind, order, precision, normalize_rows):
    random = np.random.default_rng(0)
    for n, f in ((2, 9), (65, 1), (129, 33), (385, 130)):
        x = random.normal(size=(n, f)) * (random.random((n, f)) < 0.8) * 100
        x[n // 2] = 0
        graph = graph_of(np.array(x, dtype=kind, order=order))
        tensor = node_features(graph, CPU[precision], normalize_rows=normalize_rows)
        assert tensor.dtype == CPU[precision].dtype
        assert torch.equal(tensor, whole_features(graph, CPU[precision], normalize_rows))


@given(graphs(), st.sampled_from([32, 64]), st.booleans())
def test_features_of_any_graph_are_the_scaled_ones_at_a_place(graph, precision, normalize_rows):
    x = node_features(graph, CPU[precision], normalize_rows=normalize_rows)
    expected = scaled_features(graph.features, normalize_rows=normalize_rows)
    assert isinstance(x, SparseMatrix) == sparse.issparse(graph.features)
    dense = x.matrix.to_dense() if isinstance(x, SparseMatrix) else x
    expected = expected.toarray() if sparse.issparse(expected) else expected
    assert torch.equal(dense, torch.from_numpy(expected).to(CPU[precision].dtype))


def test_features_that_need_no_change_are_shared_without_a_warning():
    single = graph_of(np.ones((4, 3), np.float32))
    double = graph_of(np.ones((4, 3)))

    def shared(graph, precision, **how):
        tensor = node_features(graph, CPU[precision], **{"normalize_rows": False} | how)
        return tensor.data_ptr() == graph.features.ctypes.data

    assert shared(single, 32)
    assert shared(double, 64)
    assert not shared(single, 64)
    assert not shared(double, 32)
    assert not shared(single, 32, normalize_rows=True)
    assert not shared(graph_of(np.asfortranarray(np.ones((4, 3), np.float32))), 32)


def test_scaling_holds_the_result_and_a_few_blocks():
    graph = graph_of(np.ones((200_000, 50), np.float32))
    tracemalloc.start()  # numpy's memory; torch's is not counted
    node_features(graph, CPU[32], normalize_rows=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < graph.features.nbytes


# mapped files


@pytest.fixture
def file(tmp_path):
    random = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", random.normal(size=(300, 7)).astype(np.float32))
    return tmp_path / "x.npy"


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_mapped_file_stays_mapped_and_cannot_be_written_to(file, mode):
    x = np.load(file, mmap_mode=mode)
    graph = graph_of(x)
    assert is_mapped(graph.features)
    assert np.shares_memory(graph.features, x)
    assert not graph.features.flags.writeable
    assert x.flags.writeable == (mode != "r")  # the caller's own view is left as it was
    assert graph.fingerprint == graph_of(np.load(file)).fingerprint
    assert replace(graph, labels=np.zeros(300, int)).features is graph.features


def test_a_value_that_is_not_finite_is_found_in_any_block(file, small_blocks):
    for row, column in ((0, 0), (64, 6), (299, 3)):
        x = np.zeros((300, 7), np.float32)
        x[row, column] = np.nan
        x[299, 6] = np.inf
        np.save(file, x)
        with pytest.raises(InputError, match=f"features, node {row}: column {column} is not a finite number"):
            graph_of(np.load(file, mmap_mode="r"))


def test_a_mapped_graph_is_made_and_fingerprinted_a_block_at_a_time(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((200_000, 50), np.float32))
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    tracemalloc.start()
    graph = graph_of(x)
    assert graph.fingerprint
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.75 * x.nbytes  # in float64 it would be twice


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f2", "<f4", ">f8"])
def test_a_fingerprint_depends_neither_on_blocks_nor_on_how_features_lie_in_memory(kind, order, small_blocks):
    x = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float16)
    graph = graph_of(np.array(x, dtype=kind, order=order))
    digest = hashlib.sha256()
    a = graph.adjacency
    for shape, arrays in ((a.shape, (a.indptr, a.indices, a.data)), (x.shape, (x,))):
        digest.update(repr(shape).encode())
        for array in arrays:
            digest.update(array.astype(np.int64 if array.dtype.kind in "iu" else np.float64).tobytes())
    assert graph.fingerprint == digest.hexdigest()
