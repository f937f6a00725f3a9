"""Maps that are a sum over neighbours, and so can be taken apart without a remainder."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.graph import Graph
from kernode.maps.base import FeatureMap, Parameters

_CONSTANTS = ("bias_", "norm_shift_")  # parameters that add what no feature says


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

    @torch.enable_grad()
    def pull_back(self, parameters: Parameters, first: Tensor, towards: Tensor) -> tuple[Tensor, Tensor]:
        """Σ_u ⟨z(u), w(u)⟩ as a sum over the first layer's product, and over the biases.

        Gives what a unit of the product of each node adds to it, over the product itself (k × r × width),
        and what all biases add (r). w has the shape of z.
        """
        parameters = {
            name: value.detach().clone().requires_grad_() if name.startswith(_CONSTANTS) else value.detach()
            for name, value in parameters.items()
        }
        first = first.detach().clone().requires_grad_()
        constants = [value for value in parameters.values() if value.requires_grad]
        whole = (self.node_outputs(parameters, first) * towards).sum()
        slopes, *of_constants = torch.autograd.grad(whole, [first, *constants], allow_unused=True)
        added = torch.zeros(first.shape[1], dtype=first.dtype, device=first.device)
        for value, slope in zip(constants, of_constants, strict=True):
            if slope is not None:
                added += (value.detach() * slope).sum(dim=1)
        return slopes, added
