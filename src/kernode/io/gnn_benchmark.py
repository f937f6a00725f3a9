"""The gnn-benchmark NPZ layout: ``adj_*`` and ``attr_*`` as CSR (or a dense ``attr_matrix``), ``labels``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io.archive import Archive, checked_csr

_PARTS = ("data", "indices", "indptr", "shape")


def read_benchmark(archive: Archive) -> Graph:
    """Read a graph in the gnn-benchmark layout; of a directed one both directions are kept."""
    _require(archive, [*(f"adj_{part}" for part in _PARTS), "labels"])
    adjacency = _read_csr(archive, "adj")
    features = _read_features(archive)
    labels = archive.read("labels")
    n = adjacency.shape[0]
    if adjacency.shape != (n, n) or features.ndim != 2 or features.shape[0] != n:
        raise InputError(
            f"{archive.path}: 'adj' is {adjacency.shape} and 'attr' {features.shape}. "
            "The first must be square, with as many rows as the second."
        )
    try:
        _require_classes(labels, n)
        return _build(adjacency, features, labels, archive.path.stem)
    except InputError as error:
        raise InputError(f"{archive.path}: {error}") from error


def _build(
    adjacency: sparse.csr_array, features: np.ndarray | sparse.csr_array, labels: np.ndarray, name: str
) -> Graph:
    entries = adjacency.tocoo()
    stored = entries.data != 0  # an explicit zero in a sparse matrix is no edge
    edges = np.column_stack([entries.row, entries.col])[stored]
    weights = entries.data[stored]
    negative = (weights < 0).any()
    plain = negative or (weights == 1).all()
    graph = Graph.from_edges(edges, features, labels, weights=None if plain else weights, name=name)
    if negative:
        graph = replace(graph, notes=(*graph.notes, "ignored the edge weights, some of which are negative"))
    return graph


def _require(archive: Archive, names: list[str]) -> None:
    missing = [name for name in names if name not in archive.names]
    if missing:
        raise InputError(
            f"{archive.path} lacks {', '.join(missing)}. A graph in the gnn-benchmark layout has "
            "adj_data, adj_indices, adj_indptr, adj_shape, the same for attr, and labels."
        )


def _read_features(archive: Archive) -> np.ndarray | sparse.csr_array:
    if "attr_matrix" in archive.names:
        return archive.read("attr_matrix")
    if not any(name.startswith("attr_") for name in archive.names):
        raise InputError(
            f"{archive.path} has no node features, which kernode needs. Add them as 'attr_matrix', n × f."
        )
    _require(archive, [f"attr_{part}" for part in _PARTS])
    return _read_csr(archive, "attr")


def _read_csr(archive: Archive, what: str) -> sparse.csr_array:
    values, indices, indptr, shape = (archive.read(f"{what}_{part}") for part in _PARTS)
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise FileError(f"{archive.path}: '{what}_shape' must be two integers. Write the file again.")
    return checked_csr(archive.path, what, values, indices, indptr, shape)


def _require_classes(labels: np.ndarray, n: int) -> None:
    # Graph checks the rest. A class number beyond n is an identifier or a damaged byte, and Graph
    # would make a name for every number below it.
    if labels.shape == (n,) and labels.dtype.kind in "iu" and labels.max(initial=-1) >= max(n, 2):
        node = int(labels.argmax())
        raise InputError(
            f"labels, node {node}: class {labels[node]} is beyond the {n} nodes. Number the classes from 0."
        )
