"""A graph as a store is the graph: whole, by rows, of tables; what is not as it was written is refused."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kernode.compute.chunks import is_mapped
from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io import Store, load_graph, read_table, shards, write_store
from kernode.io.shards import write_store_of_tables
from kernode.io.sizes import GraphSizes, look_up
from kernode.io.tables.read import open_tables
from refusals import refused

SMALL = Graph.from_edges([(0, 1), (1, 2)], np.eye(3), node_names=["a", "b", "c"])


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
def inputs(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of ``Graph.from_edges``."""
    n = draw(st.integers(1, 12))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    if draw(st.booleans()):
        pairs += [(target, source) for source, target in pairs]
    values = st.lists(st.sampled_from([0.25, 1.0, 1.5]), min_size=len(pairs), max_size=len(pairs))
    seed = np.random.default_rng(draw(st.integers(0, 99)))
    x = seed.normal(size=(n, draw(st.integers(1, 4)))).astype(draw(st.sampled_from([np.float32, np.float64])))
    names = draw(st.none() | st.lists(st.text(max_size=5), min_size=n, max_size=n, unique=True))
    if names is not None and len({name.rstrip("\0") for name in names}) < n:
        names = None  # numpy ends a text at its last character that is none of these
    return {
        "edges": pairs,
        "features": sparse.csr_array(np.where(x > 0, x, 0)) if draw(st.booleans()) else x,
        "labels": draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)),
        "weights": draw(st.none() | values),
        "node_names": names,
        "name": "drawn",
    }


@settings(max_examples=30, deadline=None)
@given(inputs())
def test_a_store_read_whole_equals_the_graph(tmp_path_factory, drawn) -> None:
    graph, folder = Graph.from_edges(**drawn), tmp_path_factory.mktemp("store")
    store = write_store(graph, folder)
    assert_same(Store.open(folder).whole(), graph)
    assert store.fingerprint == graph.fingerprint
    np.testing.assert_array_equal(store.labels(), graph.labels)


@settings(max_examples=40, deadline=None)
@given(inputs(), st.sampled_from([1, 3, 2**24]))
def test_a_store_of_tables_equals_the_graph_of_the_tables(tmp_path_factory, drawn, batch) -> None:
    source, target = zip(*drawn["edges"], strict=True) if len(drawn["edges"]) else ((), ())
    edges = {"source": list(source), "target": list(target)}
    if drawn["weights"] is not None:
        edges["weight"] = list(map(float, drawn["weights"]))
    n = 1 + max([0, *source, *target])
    nodes = {"id": range(n), "x": [0.5 * at for at in range(n)], "label": ["ab"[at % 2] for at in range(n)]}
    folder = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of graphs without edges
        patch.setattr(shards, "_BATCH", batch)
        for given_nodes in (nodes, None) if source else (nodes,):
            with open_tables(edges, given_nodes) as tables:
                found = write_store_of_tables(tables, folder / str(given_nodes is None)).whole()
            assert_same(found, read_table(edges, given_nodes))


def test_rows_are_those_of_the_graph_for_any_number_of_shares(tmp_path: Path) -> None:
    cora = load_graph("cora")
    store = write_store(cora, tmp_path)
    for count in (1, 2, 3, 7, 2708):
        bounds = store.borders(count)
        assert (bounds[0], bounds[-1], len(bounds)) == (0, 2708, count + 1)
        assert (np.diff(bounds) > 0).all()
        rows = slice(*bounds[-2:].tolist())
        adjacency, features = store.rows(rows.start, rows.stop)
        assert (adjacency != cora.adjacency[rows]).nnz == 0
        assert (features != cora.features[rows]).nnz == 0
        assert is_mapped(adjacency.indices)
    for count in (0, 2709):
        with refused("setting", setting="processes"):
            store.borders(count)


def test_shares_are_alike_by_entries_and_nodes(tmp_path: Path) -> None:
    star = Graph.from_edges([(0, other) for other in range(1, 1000)], np.ones((1000, 1)))
    bounds = write_store(star, tmp_path).borders(4)
    costs = np.add.reduceat(np.diff(star.adjacency.indptr) + 16, bounds[:-1])
    assert costs.max() < 1.1 * costs.min()


def test_a_store_tells_its_sizes(tmp_path: Path) -> None:
    store = write_store(load_graph("cora"), tmp_path / "cora.store")
    known, counted = look_up(str(store.folder)), GraphSizes.of(load_graph("cora"))
    assert (known.entries, known.filled, known.known_as) == (counted.entries, counted.filled, "cora")


# Damage


@pytest.fixture(params=["dense", "sparse"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 3)).astype(np.float32)
    graph = Graph.from_edges(
        random.integers(0, 60, (200, 2)),
        sparse.csr_array(np.where(x > 0, x, 0)) if request.param == "sparse" else x,
        random.integers(0, 3, 60),
        weights=random.random(200) + 0.5,
        node_names=[f"node {at}" for at in range(60)],
    )
    write_store(graph, tmp_path / "store")
    return tmp_path / "store"


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change ``store.json`` with a checksum that fits."""
    path = folder / shards.FILE
    values = json.loads(path.read_text())
    known = {name: values.pop(name) for name in ("format", "checksum")}
    change(values)
    known["checksum"] = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(known | values))


def rewrite(folder: Path, name: str, at: Any, value: Any) -> None:
    """Change an array with a checksum that fits."""
    path = folder / f"{name}.npy"
    array = np.load(path)
    array[at] = value
    np.save(path, array)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    edit(folder, lambda values: values["digests"].update({name: [digest]}))


def arrays(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.npy"))


def test_a_flipped_byte_is_refused_by_the_name_of_its_file(folder: Path) -> None:
    for path in arrays(folder):
        content = path.read_bytes()
        for at in (0, 130, len(content) // 2, len(content) - 1):
            flipped = bytearray(content)
            flipped[at] ^= 1
            path.write_bytes(flipped)
            with refused("damaged-file", path=str(path)):
                Store.open(folder).whole()
        path.write_bytes(content)
    assert Store.open(folder).whole().n_nodes == 60


def test_only_blocks_that_are_touched_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "_BLOCK", 256)
    graph = Graph.from_edges([(i, i + 1) for i in range(999)], np.eye(1000, 4))
    store = write_store(graph, tmp_path / "store")
    path = tmp_path / "store" / "features.npy"
    row = graph.features[0].nbytes
    for at in (128 + 900 * row, 128 + 999 * row):  # a block begins with row 900
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.write_bytes(content)
        assert (store.rows(0, 900)[1] == graph.features[:900]).all()
        with refused("damaged-file", path=str(path)):
            store.rows(900, 1000)
        content[at] ^= 1
        path.write_bytes(content)


def test_a_file_that_is_cut_short_or_missing_is_refused_before_anything_is_read(folder: Path) -> None:
    for path in arrays(folder):
        content = path.read_bytes()
        path.write_bytes(content[:-8])
        with refused("damaged-file", path=str(path)):
            Store.open(folder)
        path.unlink()
        with refused("damaged-file", path=str(path)):
            Store.open(folder)
        path.mkdir()
        with refused("damaged-file", path=str(path)):
            Store.open(folder)
        path.rmdir()
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        *(("indptr", 1, 10**9), ("indptr", 0, 1), ("indptr", -1, 3), ("indptr", 5, -(2**63))),
        *(("indices", 0, 60), ("indices", 0, -1), ("indices", slice(None), 1)),
        *(("weights", 0, 0), ("weights", 0, np.nan), ("weights", 0, 77.0)),
        *(("labels", 0, 3), ("labels", 0, -2)),
        ("names", 0, 255),
    ],
)
def test_values_that_no_graph_has_are_refused(folder: Path, name: str, at: Any, value: Any) -> None:
    rewrite(folder, name, at, value)
    with pytest.raises((FileError, InputError), match=str(folder)):
        Store.open(folder).whole()


@pytest.mark.parametrize("value", [np.inf, 77.0])
def test_features_that_are_not_those_of_the_graph_are_refused(folder: Path, value: float) -> None:
    dense = (folder / "features.npy").exists()
    rewrite(folder, "features" if dense else "features.data", 0, value)
    with refused("damaged-file"):
        Store.open(folder).whole()
