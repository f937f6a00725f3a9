"""g_θ, the paper's feature map (Eq. 7), and what it shares with the other sums over hops."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.sparse import product, to_torch
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_setting
from kernode.graph import Graph
from kernode.graph.neighbourhoods import ball
from kernode.hops import HopOperator, Powers, check_hops, cost_of, hop_rows
from kernode.io.sizes import GraphSizes
from kernode.maps.base import HOPS, ROWS, WIDTHS, FeatureInputs, LayeredMap
from kernode.maps.layers.features import Features, feature_tensor
from kernode.maps.layers.mlp import finish_mlp, first_layer, initial_mlp

MOST_ENTRIES = 2**23  # of the powers of Ā at some rows: for more, the operator of a part or all is less work


class HopMap(LayeredMap):
    """A map on the hop operator of Eq. 7."""

    hops: int
    powers: Powers

    def __post_init__(self) -> None:
        check_hops(self.hops, self.powers)
        super().__post_init__()

    def operator_reason(self, sizes: GraphSizes) -> str:
        """Explicit or factored, whichever is cheaper."""
        return cost_of(sizes, self.hops, self.powers).reason()

    def neighbours(self, graph: Graph, options: TensorOptions) -> HopOperator:
        """The hop operator of a graph."""
        return HopOperator.of(graph, self.hops, self.powers, options)


@dataclass(frozen=True)
class HopSum(HopMap):
    """``g(v) = Σ_t ω_t Σ_u a_t(u) z_t(u)``, where a_t(u) is the graph's and z_t(u) of u's features alone.

    What follows from g by a product then is a sum over neighbours as well: class scores, and K where the base
    kernel is a dot product. Settings as in HopMLP.
    """

    takes_shares: ClassVar[bool] = True
    biases = False  # of the hidden layers, as is norm; a kind may make them settings
    norm = False

    hidden: tuple[int, ...] = (16,)
    outputs: int | None = None
    hops: int = 2
    powers: Powers = "each"
    hop_weights: str | float = "learned"
    normalize_rows: bool = True  # not stated in the paper; its released code does it

    @property
    def reach(self) -> int:
        """H."""
        return self.hops

    @abstractmethod
    def first_weights(self, options: TensorOptions) -> Tensor:
        """ω at its start, or fixed: one weight per term."""

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """Xavier weights, biases and LayerNorm where the map has them, and ω where it is learned."""
        widths = self.widths(prepared.features.shape[1])
        parameters = initial_mlp(widths, draws, options, biases=self.biases, norm=self.norm)
        if self.hop_weights == "learned":
            parameters["hop_weights"] = self.first_weights(options).expand(len(draws.seeds), -1).contiguous()
        return parameters

    def later_layers(
        self, parameters: Parameters, prepared: FeatureInputs, first: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """Eq. 7: r × n × d."""
        z = finish_mlp(parameters, first, dropout)  # n × r × d
        weights = self.term_weights(parameters, z.shape[1], TensorOptions(z.dtype, z.device))
        return prepared.neighbours(z, weights).transpose(0, 1)

    def rows(self, parameters: Parameters, graph: Graph, nodes: np.ndarray, options: TensorOptions) -> Tensor:
        """Rows of Eq. 7 (r × m × d), from the MLP of the nodes within H hops alone."""
        m = len(nodes)
        if m > 1 and m * self.hops * len(ball(graph, nodes, self.hops)) > MOST_ENTRIES:
            return super().rows(parameters, graph, nodes, options)
        columns, terms = self.terms_at(graph, nodes)
        first = first_layer(parameters, self.features_of(graph, columns, options))
        z = self.node_outputs(parameters, first)
        weights = self.term_weights(parameters, z.shape[1], options)
        parts = (z * weights[..., None]).unbind(dim=2)  # k × r × d each
        products = [product(to_torch(t, options), x.flatten(1)) for t, x in zip(terms, parts, strict=True)]
        return sum(products[1:], products[0]).view(m, *parts[0].shape[1:]).transpose(0, 1)

    def features_of(self, graph: Graph, nodes: np.ndarray, options: TensorOptions) -> Features:
        """x_u of some nodes, as the first layer takes them: k × f."""
        return feature_tensor(graph.features[nodes], options, normalize_rows=self.normalize_rows)

    def terms_at(self, graph: Graph, nodes: np.ndarray) -> tuple[np.ndarray, list[sparse.csr_array]]:
        """The nodes that g of some nodes is a sum over (k, ascending), and a_t(u) of every term: m × k."""
        return hop_rows(graph, self.hops, self.powers, nodes)

    def term_weights(self, parameters: Parameters, replicas: int, options: TensorOptions) -> Tensor:
        """ω: r × terms."""
        if self.hop_weights == "learned":
            return parameters["hop_weights"]
        return self.first_weights(options).expand(replicas, -1)

    def node_outputs(self, parameters: Parameters, first: Tensor) -> Tensor:
        """z_t(u) from the first layer's product: k × r × t × d, or k × r × 1 × d where all terms share it.

        Its gradient takes LayerNorm's deviations as they are: with these and the active units held, z is
        linear in x and in the biases.
        """
        return finish_mlp(parameters, first, None)[:, :, None]


@dataclass(frozen=True)
class HopMLP(HopSum):
    """``g(V) = (Σ_h ω_h (Ā^h ⊙ M^(h))) MLP(X)``: an MLP on every node, then one aggregation (Eq. 7).

    - ``hidden``: widths of the MLP's hidden layers; ``(16,)`` is two layers, ``()`` is one.
    - ``outputs``: width of g; None for one per class, which the softmax classifier needs.
    - ``hops``: H; neighbours at exactly 0, 1, … H hops are summed.
    - ``powers``: ``"each"`` as in the paper, ``"last"`` as the text of its authors' program intends,
      ``"released"`` as that program computes, ``"plain"`` for Ā^h without masks
      (:func:`kernode.hops.hop_matrices`).
    - ``hop_weights``: ω_h, ``"learned"`` from 1 on, or a number c for the fixed weights c^h.
    - ``normalize_rows``: scale each row of X to sum 1.

    >>> from kernode.maps import HopMLP
    >>> HopMLP(hidden=(512,), outputs=128, hops=3).reach
    3
    """

    search_space: ClassVar = {**WIDTHS, **HOPS, "hop_weights": ("learned", 1.0), **ROWS}

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = self.hop_weights
        fits = weights == "learned" or (isinstance(weights, Real) and math.isfinite(weights))
        require_setting(fits, "hop_weights", "'learned' or a finite number c", weights)

    def first_weights(self, options: TensorOptions) -> Tensor:
        """c^h, and 1 where they are learned (not stated in the paper; its released code's start)."""
        c = 1.0 if self.hop_weights == "learned" else float(self.hop_weights)
        return c ** torch.arange(self.hops + 1, dtype=options.dtype, device=options.device)
