"""What all explanations share, computed once: z(u) of every node, and the rows of the hop operator."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.chunks import chunks
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.compute.stack import part
from kernode.explain.node_outputs import NodeOutputs
from kernode.graph import Graph
from kernode.hops.matrices import hop_matrices
from kernode.maps.base import NeighbourSum, Shares
from kernode.maps.hop_mlp import HopSum
from kernode.maps.layers.features import placed_features
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.on_graph import NodeModelOnGraph

# About 100 MB each; of larger graphs rows, and z of their nodes, are computed when they are asked for.
_MOST_ENTRIES = 5_000_000  # of the hop operator
_MOST_NUMBERS = 25_000_000  # of z, of the first layer's product, or of the features
_NODES = 2**12  # whose product is computed at a time
_DENSE_NUMBERS = 2**18  # of the features of the nodes that one explanation looks at


def keep_for_explanations(on: NodeModelOnGraph) -> None:
    """Have explanations of a model on a graph read what they would compute again and again."""
    method = on.model.method
    feature_map = method.map.unwrapped if isinstance(method, Method) else None
    if not isinstance(feature_map, NeighbourSum):
        return
    terms = getattr(feature_map, "terms", 1)
    if isinstance(feature_map, HopSum) and _walks(on.graph, feature_map.hops) <= _MOST_ENTRIES:
        feature_map = cast(NeighbourSum, _KeptHops(feature_map, on.graph))
    own, runs = part(on.parameters, "map."), len(on.model.seeds)
    kind = _KeptOutputs if on.g.numel() * terms <= _MOST_NUMBERS else NodeOutputs
    on.kept["node_outputs"] = kind(feature_map, own, on.graph, on.place, runs)


class _KeptOutputs(NodeOutputs):
    """z(u) of all nodes, computed at the first question: many are asked, and neighbourhoods overlap."""

    def __call__(self, nodes: np.ndarray) -> Tensor:
        return self._all.index_select(0, torch.from_numpy(nodes))

    def first_product(self, nodes: np.ndarray, x: Tensor | SparseMatrix) -> Tensor:
        """Kept as well, where it is no larger than it may be."""
        if self._first is None:
            return super().first_product(nodes, x)
        return self._first.index_select(0, torch.from_numpy(nodes).to(self.place.device))

    @cached_property
    def _first(self) -> Tensor | None:
        n = self.graph.n_nodes
        width = super().first_product(*self._with_features(np.arange(1))).shape[2]
        if n * self.replicas * width > _MOST_NUMBERS:
            return None
        blocks = (np.arange(n)[some] for some in chunks(n, _NODES))
        return torch.cat([super(_KeptOutputs, self).first_product(*self._with_features(b)) for b in blocks])

    def _with_features(self, nodes: np.ndarray) -> tuple[np.ndarray, Tensor | SparseMatrix]:
        return nodes, self.map.features_of(self.graph, nodes, self.place)


class _KeptHops:
    """Eq. 7's map on one graph, whose rows of the hop operator lie ready; all else is the map's."""

    def __init__(self, feature_map: HopSum, graph: Graph) -> None:
        self._map = feature_map
        terms = hop_matrices(graph, feature_map.hops, feature_map.powers)
        self._terms = [sparse.csr_array(term).astype(np.float64) for term in terms]
        self._x = _scaled_rows(graph.features) if feature_map.normalize_rows else None
        self._dense: Tensor | None = None  # the same, from the first question on

    def __getattr__(self, name: str) -> Any:
        return getattr(self._map, name)

    def features_of(self, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor | SparseMatrix:
        """As :meth:`HopSum.features_of`."""
        if self._x is None:
            return self._map.features_of(graph, nodes, place)
        n, f = self._x.shape
        if len(nodes) * f > _DENSE_NUMBERS:  # so many zeros are skipped faster than multiplied
            return placed_features(self._x[nodes], place, normalize_rows=False)
        if n * f > _MOST_NUMBERS:
            return torch.from_numpy(self._x[nodes].toarray()).to(place.dtype).to(place.device)
        if self._dense is None:
            # In the numbers of the place, lest all of it be held in float64 meanwhile.
            dtype = torch.empty(0, dtype=place.dtype).numpy().dtype
            self._dense = torch.from_numpy(self._x.astype(dtype).toarray()).to(place.device)
        return self._dense.index_select(0, torch.from_numpy(nodes).to(place.device))

    def shares(self, graph: Graph, node: int) -> Shares:
        """As :meth:`HopSum.shares`."""
        rows = [slice(term.indptr[node], term.indptr[node + 1]) for term in self._terms]
        found = [term.indices[row] for term, row in zip(self._terms, rows, strict=True)]
        nodes = np.unique(np.concatenate([[node], *found])).astype(np.int64)
        values = np.zeros((len(rows), len(nodes)))
        for value, term, row, columns in zip(values, self._terms, rows, found, strict=True):
            value[np.searchsorted(nodes, columns)] = term.data[row]
        return self._map.shares_from(graph, node, nodes, values)


def _scaled_rows(features: Any) -> sparse.csr_array | None:
    """Sparse rows that sum to 1 in magnitude, in float64; None where they would take much memory."""
    if not sparse.issparse(features) or features.nnz > _MOST_ENTRIES:
        return None
    x = features.astype(np.float64)
    sums = np.asarray(abs(x).sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(1 / np.where(sums > 0, sums, 1)) @ x)


def _walks(graph: Graph, hops: int) -> float:
    """Ways of so many edges at most, which are no fewer than the hop operator's entries."""
    ends, step = np.ones(graph.n_nodes), graph.adjacency.sign()
    for _ in range(hops):
        ends = step @ ends + ends
    return float(ends.sum())
