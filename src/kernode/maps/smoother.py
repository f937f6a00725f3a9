"""The smoother without parameters that Eq. 7 grew from (Eqs. 5 and 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.replicas import whole
from kernode.compute.sparse import SparseMatrix
from kernode.graph import Graph
from kernode.hops import MOST_HOPS, hop_rows, normalized_adjacency
from kernode.io.sizes import GraphSizes
from kernode.maps.base import Parameters
from kernode.maps.layers.features import placed_features, require_room
from kernode.maps.layers.sizes import dense_held
from kernode.maps.neighbour_sum import NeighbourSum, Shares


@dataclass(frozen=True)
class Smoother(NeighbourSum):
    """Words averaged over the neighbourhood, with k = Ā^h.

    - ``averaged=True``: ``g(v) = Σ_u k(u,v) x_u / Σ_u k(u,v)`` (Eq. 5, Nadaraya-Watson).
    - ``averaged=False``: ``g(V) = Ā^h X`` (Eq. 6).

    >>> import numpy as np, kernode as kn
    >>> path = kn.Graph.from_edges([(0, 1), (1, 2)], features=np.ones((3, 1)))
    >>> kn.maps.Smoother(hops=1).of(path).ravel()
    array([1., 1., 1.])
    """

    hops: int = 2
    averaged: bool = True

    learns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole("hops", self.hops, 0, MOST_HOPS)

    @property
    def reach(self) -> int:
        """h."""
        return self.hops

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Nothing is dropped."""
        return frozenset({"dropout", "input_dropout"})

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """g, which is dense."""
        return dense_held(sizes, place)

    def operator_reason(self, sizes: GraphSizes) -> str:
        """None while training, of which there is none."""
        return "none: X is summed over neighbours once, and nothing is trained"

    def of(self, graph: Graph) -> np.ndarray:
        """g of every node as an array: n × f."""
        step = normalized_adjacency(graph)
        smoothed: Any = graph.features.astype(np.float64)
        total = np.ones(graph.n_nodes)
        for _ in range(self.hops):  # never Ā^h itself: h products with Ā
            smoothed, total = step @ smoothed, step @ total
        dense = smoothed.toarray() if sparse.issparse(smoothed) else smoothed
        return dense / total[:, None] if self.averaged else dense

    def prepare(self, graph: Graph, place: Place) -> Tensor:
        """All of g: nothing is left to learn."""
        g = self.of(graph)
        require_room(g, place)
        return torch.from_numpy(g).to(place.dtype).to(place.device)

    def initial(self, prepared: Tensor, draws: Draws, place: Place) -> Parameters:
        """No parameters."""
        return {}

    def __call__(self, parameters: Parameters, prepared: Tensor, dropout: Dropout | None = None) -> Tensor:
        """g, one replica that stands for all: 1 × n × f."""
        return prepared[None]

    def shares(self, graph: Graph, node: int) -> Shares:
        """k(u, v), over its sum where that is averaged."""
        near = hop_rows(graph, max(1, self.hops), "plain", np.array([node]))
        values = near.terms()[self.hops].toarray()
        return Shares(near.columns, (self.hops,), values / values.sum() if self.averaged else values)

    def term_weights(self, parameters: Parameters, replicas: int, place: Place) -> Tensor:
        """1."""
        return torch.ones(1, 1, dtype=place.dtype, device=place.device)

    def features_of(self, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor | SparseMatrix:
        """Rows of X."""
        return placed_features(graph.features[nodes], place, normalize_rows=False)

    def first_product(self, parameters: Parameters, x: Tensor | SparseMatrix) -> Tensor:
        """X itself."""
        return (x.matrix.to_dense() if isinstance(x, SparseMatrix) else x)[:, None]

    def node_outputs(self, parameters: Parameters, first: Tensor) -> Tensor:
        """X itself."""
        return first[:, :, None]
