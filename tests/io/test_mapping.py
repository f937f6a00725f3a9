"""Large arrays of an NPZ file are left in the file, and are noticed all the same when it is damaged."""

from __future__ import annotations

import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernode.compute.chunks import is_mapped
from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io import archive, read_npz, write_npz


def dense_graph(n: int = 40, f: int = 9, kind: str = "float32", order: str = "C") -> Graph:
    random = np.random.default_rng(n)
    features = np.array(random.normal(size=(n, f)), dtype=kind, order=order)
    return Graph.from_edges(random.integers(0, n, (3 * n, 2)), features, random.integers(0, 3, n))


def benchmark_arrays(graph: Graph) -> dict[str, np.ndarray]:
    parts = {f"adj_{part}": getattr(graph.adjacency, part) for part in ("data", "indices", "indptr")}
    shape = np.array(graph.adjacency.shape)
    return {**parts, "adj_shape": shape, "attr_matrix": graph.features, "labels": graph.labels}


@pytest.fixture
def map_all(monkeypatch):
    """Every array that is not compressed counts as large."""
    monkeypatch.setattr(archive, "MAP_FROM", 0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.npz"


def test_small_features_are_read_into_memory(path):
    write_npz(dense_graph(), path)
    assert not is_mapped(read_npz(path).features)


@pytest.mark.usefixtures("map_all")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_large_features_are_mapped_where_torch_can_take_them(path, kind, order):
    graph = dense_graph(kind=kind, order=order)
    write_npz(graph, path)
    again = read_npz(path)
    assert is_mapped(again.features)
    assert not again.features.flags.writeable
    assert again.features.flags.aligned
    assert again.features.ctypes.data % 64 == 0
    assert again.features.dtype == graph.features.dtype
    np.testing.assert_array_equal(again.features, graph.features)
    assert again.fingerprint == graph.fingerprint


@pytest.mark.usefixtures("map_all")
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n=st.integers(2, 60), f=st.integers(1, 40))
def test_a_mapped_graph_writes_the_bytes_it_was_read_from_even_over_itself(path, n, f):
    write_npz(dense_graph(n, f), path)
    before = path.read_bytes()
    graph = read_npz(path)
    write_npz(graph, path)
    assert path.read_bytes() == before
    assert graph.fingerprint == dense_graph(n, f).fingerprint


@pytest.mark.usefixtures("map_all")
def test_other_programs_read_an_aligned_file(path):
    graph = dense_graph()
    write_npz(graph, path)
    with np.load(path) as arrays:
        np.testing.assert_array_equal(arrays["features"], graph.features)
    with zipfile.ZipFile(path) as zipped:
        assert zipped.testzip() is None


@pytest.mark.usefixtures("map_all")
def test_a_compressed_file_is_read_into_memory(path):
    graph = dense_graph()
    np.savez_compressed(path, **benchmark_arrays(graph))
    assert not is_mapped(read_npz(path).features)
    assert read_npz(path).fingerprint == graph.fingerprint


@pytest.mark.usefixtures("map_all")
def test_features_in_the_benchmark_layout_are_mapped_too(path):
    graph = dense_graph()
    np.savez(path, **benchmark_arrays(graph))
    assert is_mapped(read_npz(path).features)
    assert read_npz(path).fingerprint == graph.fingerprint


@pytest.mark.usefixtures("map_all")
@pytest.mark.parametrize("layout", ["own", "benchmark"])
def test_every_flipped_bit_is_noticed_or_harmless(path, layout):
    graph = dense_graph(n=6, f=3)
    if layout == "own":
        write_npz(graph, path)
    else:
        np.savez(path, **benchmark_arrays(graph))
    content = path.read_bytes()
    for at in range(0, len(content), 5):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with suppress(FileError, InputError):  # noticed; else a byte that says nothing, such as a date
            assert read_npz(path).fingerprint == graph.fingerprint


@pytest.mark.usefixtures("map_all")
@pytest.mark.parametrize(
    "content",
    [
        b"\x93NUMPY\x01\x00\x76\x00"
        + b"{'descr': '<f4', 'fortran_order': False, 'shape': (6, 9999), }".ljust(117)
        + b"\n"
        + bytes(24),
        b"\x93NUMPY\x01\x00\x76\x00"
        + b"{'descr': '|O', 'fortran_order': False, 'shape': (6, 1), }".ljust(117)
        + b"\n"
        + bytes(48),
        b"\x93NUMPY\x03\x00" + bytes(100),
        b"not an array",
    ],
    ids=["more than there is", "objects", "another version", "no array"],
)
def test_what_is_no_array_is_one_sentence(path, content):
    arrays = benchmark_arrays(dense_graph(n=6))
    del arrays["attr_matrix"]
    np.savez(path, **arrays)
    with zipfile.ZipFile(path, "a") as zipped:
        zipped.writestr("attr_matrix.npy", content)
        zipped.writestr("more.npy", bytes(300_000))  # the file itself is long enough
    with pytest.raises(FileError, match="the array 'attr_matrix', which is damaged or holds Python objects"):
        read_npz(path)


@pytest.mark.slow
def test_a_file_of_64_mb_is_mapped_and_a_smaller_one_is_not(path):
    n = 1024
    graph = Graph.from_edges([(0, 1)], np.ones((n, 2**14 + 1), np.float32))
    write_npz(graph, path)
    features = read_npz(path).features
    assert is_mapped(features)
    assert features.ctypes.data % 64 == 0
    write_npz(Graph.from_edges([(0, 1)], graph.features[:, : 2**14 - 1]), path)
    assert not is_mapped(read_npz(path).features)
