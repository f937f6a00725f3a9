"""A map on other columns than X: a node's place in the graph, or its neighbours as words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_part, require_setting
from kernode.graph import Graph
from kernode.hops import normalized_adjacency
from kernode.io.sizes import GraphSizes
from kernode.maps.base import FeatureMap, MapWrapper

_EIGENVECTORS = 14
_DENSE = 500  # nodes up to which all eigenvectors are computed
_STEPS = 50  # of PageRank
_RESTART = 0.15
_KNOWN: WeakKeyDictionary[Graph, dict[Any, Graph]] = WeakKeyDictionary()  # freed with the graph


@dataclass(frozen=True)
class OnColumns(MapWrapper):
    """A map on columns computed from the graph instead of X.

    - ``map``: any map that begins with a product with X.
    - ``columns``: "structure" (log degree, log PageRank and the leading eigenvectors of Ā, standardised),
      "neighbours" (the rows of A, as LINKX has them: each neighbour is a word) or "all" (X and the rows of A,
      with more weight for rare neighbours, as for rare words).
    - ``nodes``: the number of nodes of the training graph, set by training: later nodes are not columns.
    """

    columns: Literal["structure", "neighbours", "all"] = "structure"
    nodes: int | None = None

    of_one_graph: ClassVar[bool] = True
    multiplies_features: ClassVar[bool] = False  # with X itself

    def __post_init__(self) -> None:
        require_part("map", self.map, FeatureMap, "kernode.maps.Stages()")
        known = ("structure", "neighbours", "all")
        require_setting(self.columns in known, "columns", "'structure', 'neighbours' or 'all'", self.columns)

    def least_bytes(self, sizes: GraphSizes, options: TensorOptions) -> float:
        """The inner map's bound for this number of columns."""
        if self.columns == "structure":
            return self.map.least_bytes(replace(sizes, features=2 + _EIGENVECTORS, filled=None), options)
        columns, filled = sizes.nodes, sizes.entries
        if self.columns == "all":
            columns += sizes.features
            filled += sizes.nodes * sizes.features if sizes.filled is None else sizes.filled
        return self.map.least_bytes(replace(sizes, features=columns, filled=filled), options)

    def for_graph(self, graph: Graph) -> Self:
        """The map with the number of nodes of the training graph."""
        return replace(self, nodes=graph.n_nodes) if self.nodes is None else self

    def on(self, graph: Graph) -> Graph:
        """The graph with the computed columns in place of X."""
        known, key = _KNOWN.setdefault(graph, {}), (self.columns, self.nodes)
        if key not in known:
            x = structure(graph) if self.columns == "structure" else graph.adjacency[:, : self.nodes]
            if self.columns == "all":
                x = beside_neighbours(graph, x)
            known[key] = Graph(
                graph.adjacency, x, graph.labels, graph.class_names, graph.node_names, graph.name,
                targets=graph.targets, target_name=graph.target_name,
            )  # fmt: skip
        return known[key]

    def prepare(self, graph: Graph, options: TensorOptions) -> Any:
        """Prepare the inner map on the graph with the computed columns."""
        return self.map.prepare(self.on(graph), options)


def structure(graph: Graph) -> np.ndarray:
    """Log degree, log PageRank and the leading eigenvectors of Ā, standardised: n × 16 or fewer columns.

    >>> structure(Graph.from_edges([(0, 1), (1, 2)], features=np.ones((3, 1)))).shape
    (3, 3)
    """
    n, a = graph.n_nodes, graph.adjacency
    degrees = np.asarray(a.sum(axis=1), dtype=np.float64).ravel()
    walk = sparse.diags_array(1 / np.maximum(degrees, 1e-300)) @ a
    rank = np.full(n, 1 / n)
    for _ in range(_STEPS):
        rank = (1 - _RESTART) * (walk.T @ rank) + _RESTART / n
    count = min(_EIGENVECTORS, n - 2)
    vectors = np.empty((n, 0))
    if count > 0:
        step = normalized_adjacency(graph).astype(np.float64)
        if n <= _DENSE:
            vectors = np.linalg.eigh(step.toarray())[1][:, : -count - 1 : -1]
        else:  # a dense start vector: from a poor one ARPACK restarts with its own random numbers
            start = np.random.default_rng(0).standard_normal(n)
            vectors = eigsh(step, count, which="LA", v0=start)[1][:, ::-1]
        largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
        vectors = vectors * np.where(largest < 0, -1, 1)  # the sign of an eigenvector is arbitrary
    columns = np.column_stack([np.log1p(degrees), np.log(rank * n + 1e-12), vectors])
    spread = columns.std(axis=0)
    return ((columns - columns.mean(axis=0)) / np.where(spread > 1e-9, spread, 1)).astype(np.float32)


def beside_neighbours(graph: Graph, neighbours: sparse.csr_array) -> sparse.csr_array:
    """X, and each node's neighbours as words weighted by their rarity: n × (f + n).

    Both have rows of length 1 on average; a dense X is standardised first.
    """
    x, n = graph.features, graph.n_nodes
    if not sparse.issparse(x):
        spread = x.std(axis=0)
        x = (x - x.mean(axis=0)) / np.where(spread > 1e-9, spread, 1)
    rarity = np.log((1 + n) / (1 + np.bincount(neighbours.indices, minlength=neighbours.shape[1]))) + 1
    blocks = [sparse.csr_array(x, dtype=np.float64), neighbours @ sparse.diags_array(rarity)]
    sizes = [np.sqrt(max(float(one.multiply(one).sum()) / n, 1e-9)) for one in blocks]
    found = sparse.hstack([one / size for one, size in zip(blocks, sizes, strict=True)], format="csr")
    return sparse.csr_array(found, dtype=np.float32)


def structure_names(count: int) -> tuple[str, ...]:
    """Names of the columns of :func:`structure`."""
    return ("log degree", "log PageRank", *(f"eigenvector {at}" for at in range(1, count - 1)))
