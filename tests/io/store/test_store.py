"""A graph in parts is the graph: read whole, by rows, or by the shares of processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kernode.graph import Graph
from kernode.io import Store, load_graph, write_store
from kernode.io.registry import identify
from kernode.io.sizes import GraphSizes, look_up
from refusals import refused


def assert_same(one: Graph, other: Graph) -> None:
    assert one.fingerprint == other.fingerprint
    assert (one.adjacency != other.adjacency).nnz == 0
    assert sparse.issparse(one.features) == sparse.issparse(other.features)
    assert one.features.dtype == other.features.dtype
    np.testing.assert_array_equal(one.labels, other.labels)
    assert (one.class_names, one.name, one.notes) == (other.class_names, other.name, other.notes)
    assert (one.node_names is None) == (other.node_names is None)
    if one.node_names is not None:
        np.testing.assert_array_equal(one.node_names, other.node_names)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    n = draw(st.integers(1, 12))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    weights = draw(st.none() | st.just(np.arange(1, len(pairs) + 1) / 4))
    seed = np.random.default_rng(draw(st.integers(0, 99)))
    x = seed.normal(size=(n, draw(st.integers(1, 4)))).astype(draw(st.sampled_from([np.float32, np.float64])))
    features = sparse.csr_array(np.where(x > 0, x, 0)) if draw(st.booleans()) else x
    names = draw(st.none() | st.lists(st.text(max_size=5), min_size=n, max_size=n, unique=True))
    if names is not None and len({name.rstrip("\0") for name in names}) < n:
        names = None  # numpy ends a text at its last character that is none of these
    labels = draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))
    return Graph.from_edges(pairs, features, labels, weights=weights, node_names=names, name="drawn")


@settings(max_examples=20, deadline=None)
@given(graphs(), st.data())
def test_the_whole_store_equals_the_graph_for_any_number_of_parts(
    tmp_path_factory: pytest.TempPathFactory, graph: Graph, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("store")
    parts = data.draw(st.integers(1, graph.n_nodes))
    store = write_store(graph, folder, parts)
    assert len(store.parts) == parts
    assert_same(Store.open(folder).whole(), graph)
    assert store.fingerprint == graph.fingerprint
    np.testing.assert_array_equal(store.labels(), graph.labels)


def test_cora_in_parts_is_cora(tmp_path: Path) -> None:
    cora = load_graph("cora")
    store = write_store(cora, tmp_path / "cora", parts=5)
    assert identify(store) is identify(cora) is not None
    assert_same(load_graph(tmp_path / "cora"), cora)
    assert sorted(path.name for path in (tmp_path / "cora").iterdir()) == [
        *(f"part-0000{number}.safetensors" for number in range(5)),
        "store.json",
    ]


def test_a_part_has_the_rows_of_its_nodes(tmp_path: Path) -> None:
    cora = load_graph("cora")
    store = write_store(cora, tmp_path, parts=3)
    part = store.part(1)
    rows = slice(part.start, part.stop)
    assert part.adjacency.shape == (part.stop - part.start, 2708)
    assert (part.adjacency != cora.adjacency[rows]).nnz == 0
    assert (part.features != cora.features[rows]).nnz == 0
    np.testing.assert_array_equal(part.labels, cora.labels[rows])


def test_parts_are_alike_by_entries_and_nodes(tmp_path: Path) -> None:
    star = Graph.from_edges([(0, other) for other in range(1, 1000)], np.ones((1000, 1)))
    store = write_store(star, tmp_path, parts=4)
    costs = [part.entries + 16 * (part.stop - part.start) for part in store.parts]
    assert max(costs) < 1.1 * min(costs)


def test_shares_are_whole_parts_and_cover_all_nodes(tmp_path: Path) -> None:
    store = write_store(load_graph("cora"), tmp_path, parts=7)
    for ranks in range(1, 8):
        shares = [store.share(rank, ranks) for rank in range(ranks)]
        assert [node for share in shares for node in share] == list(range(2708))
        assert sum(store.rows(share.start, share.stop).adjacency.nnz for share in shares) == store.entries
    with refused("too-few", setting="parts"):
        store.share(0, 8)
    with refused("shape"):
        store.rows(1, 2708)


def test_more_parts_than_nodes_are_refused(tmp_path: Path) -> None:
    pair = Graph.from_edges([(0, 1)], np.eye(2))
    with refused("setting", setting="parts"):
        write_store(pair, tmp_path / "store", parts=3)
    assert not (tmp_path / "store").exists()


def test_a_store_tells_its_sizes_without_being_read(tmp_path: Path) -> None:
    store = write_store(load_graph("cora"), tmp_path / "cora.store", parts=2)
    (store.folder / "part-00000.safetensors").write_bytes(b"x" * store.parts[0].bytes)
    known, counted = look_up(str(store.folder)), GraphSizes.of(load_graph("cora"))
    assert (known.entries, known.filled, known.known_as) == (counted.entries, counted.filled, "cora")


def test_a_folder_without_a_store_is_refused(tmp_path: Path) -> None:
    with refused("wrong-file"):
        load_graph(tmp_path)
    with refused("no-file"):
        Store.open(tmp_path / "nowhere")
