"""z(u): what the map makes of single nodes before it sums them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from kernode.compute.chunks import chunks
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.compute.stack import Parameters
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.maps import FeatureMap
from kernode.maps.base import NeighbourSum

_NODES = 2**12  # at a time: wide hidden layers of many replicas are held of no more
_MOST = 0.1  # of all nodes: beyond, those of the whole graph are computed once and kept


@dataclass(frozen=True)
class NodeOutputs:
    """z_t(u) of any nodes of a graph, for a stack of r replicas."""

    map: NeighbourSum
    parameters: Parameters
    graph: Graph
    place: Place
    replicas: int

    @torch.no_grad()
    def __call__(self, nodes: np.ndarray) -> Tensor:
        """k × r × t × d, or k × r × 1 × d where all terms share it."""
        if len(nodes) <= _MOST * self.graph.n_nodes:
            return self._computed(nodes)
        return self._all[torch.from_numpy(nodes)]

    def first_product(self, nodes: np.ndarray, x: Tensor | SparseMatrix) -> Tensor:
        """The first layer's product of nodes with their features x: k × r × width."""
        return self.map.first_product(self.parameters, x).expand(-1, self.replicas, -1)

    @cached_property
    def term_weights(self) -> Tensor:
        """ω_t: r × t, in float64."""
        weights = self.map.term_weights(self.parameters, self.replicas, self.place)
        return weights.detach().expand(self.replicas, -1).cpu().double()

    @cached_property
    def _all(self) -> Tensor:
        return self._computed(np.arange(self.graph.n_nodes))

    def _computed(self, nodes: np.ndarray) -> Tensor:
        parts = [self._block(nodes[some]) for some in chunks(len(nodes), _NODES)]
        return torch.cat(parts).expand(-1, self.replicas, -1, -1)

    def _block(self, nodes: np.ndarray) -> Tensor:
        x = self.map.features_of(self.graph, nodes, self.place)
        return self.map.node_outputs(self.parameters, self.map.first_product(self.parameters, x)).cpu()


def require_sum(feature_map: FeatureMap) -> NeighbourSum:
    """The map as a sum over neighbours, or a sentence where it is none."""
    if isinstance(feature_map.unwrapped, NeighbourSum):
        return feature_map.unwrapped
    raise InputError(
        f"{type(feature_map).__name__} is not a sum over neighbours: what one of them adds depends on the "
        "others, and there is no exact explanation. Train with HopMLP, Diffusion or HopNet, as the default "
        "and the paper's variants do.",
        "unsupported", map=type(feature_map).__name__,
    )  # fmt: skip
