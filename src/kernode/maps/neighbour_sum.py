"""Maps that are a sum over neighbours, and so can be taken apart without a remainder."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.graph import Graph
from kernode.maps.base import FeatureMap, Parameters


@dataclass(frozen=True)
class Shares:
    """How much of which node goes into g(v): a_t(u) of every term t of the sum."""

    nodes: np.ndarray  # k, ascending
    hops: tuple[int, ...]  # of each term: how many edges it goes
    values: np.ndarray  # t × k, in float64


@dataclass(frozen=True)
class NeighbourSum(FeatureMap):
    """``g(v) = Σ_t ω_t Σ_u a_t(u) z_t(u)``, where a_t(u) is the graph's and z_t(u) of u's features alone.

    What follows from g by a product, then is a sum over neighbours as well: class scores, and K where the
    base kernel is a dot product.
    """

    @abstractmethod
    def shares(self, graph: Graph, node: int) -> Shares:
        """a_t(u) of one node."""

    @abstractmethod
    def term_weights(self, parameters: Parameters, replicas: int, place: Place) -> Tensor:
        """ω_t: r × t."""

    @abstractmethod
    def features_of(self, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor | SparseMatrix:
        """x_u of some nodes, as the first layer takes them: k × f."""

    @abstractmethod
    def first_product(self, parameters: Parameters, x: Tensor | SparseMatrix) -> Tensor:
        """The first layer's product with X: k × r × width."""

    @abstractmethod
    def node_outputs(self, parameters: Parameters, first: Tensor) -> Tensor:
        """z_t(u) from the first layer's product: k × r × t × d, or k × r × 1 × d where all terms share it.

        Its gradient takes LayerNorm's deviations as they are: with these and the active units held, z is
        linear in x and in the biases.
        """
