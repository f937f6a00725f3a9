"""g_θ, the paper's feature map (Eq. 7), and what it shares with the other sums over hops."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.stack import Parameters
from kernode.config import require_setting
from kernode.graph import Graph
from kernode.hops import HopOperator, HopRows, Powers, check_hops, cost_of, hop_rows
from kernode.io.sizes import GraphSizes
from kernode.maps.base import HOPS, LARGEST_PART, ROWS, WIDTHS, FeatureInputs, LayeredMap
from kernode.maps.layers.features import Features, node_features, placed_features
from kernode.maps.layers.mlp import finish_mlp, first_layer, initial_mlp


@dataclass(frozen=True)
class HopInputs(FeatureInputs):
    """What a sum over hops takes from the graph."""

    operator: HopOperator
    loops: Tensor | None = None  # n: Ā's diagonal, where a map uses it


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

    def prepare(self, graph: Graph, place: Place) -> HopInputs:
        """X and the hop operator of a graph."""
        features = node_features(graph, place, normalize_rows=self.normalize_rows)
        return HopInputs(features, HopOperator.of(graph, self.hops, self.powers, place))


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
    def first_weights(self, place: Place) -> Tensor:
        """ω at its start, or fixed: one weight per term."""

    def initial(self, prepared: HopInputs, draws: Draws, place: Place) -> Parameters:
        """Xavier weights, biases and LayerNorm where the map has them, and ω where it is learned."""
        widths = self.widths(prepared.features.shape[1])
        parameters = initial_mlp(widths, draws, place, biases=self.biases, norm=self.norm)
        if self.hop_weights == "learned":
            parameters["hop_weights"] = self.first_weights(place).expand(len(draws.seeds), -1).contiguous()
        return parameters

    def later_layers(
        self, parameters: Parameters, prepared: HopInputs, first: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """Eq. 7: r × n × d."""
        z = finish_mlp(parameters, first, dropout)  # n × r × d
        weights = self.term_weights(parameters, z.shape[1], Place(z.dtype, z.device))
        return prepared.operator(z, weights).transpose(0, 1)

    def rows(self, parameters: Parameters, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor:
        """Rows of Eq. 7 (r × m × d), from the MLP of the nodes within H hops alone."""
        # Exact hops take time in proportion to the rows that they are built for.
        if len(nodes) > LARGEST_PART * graph.n_nodes:
            return super().rows(parameters, graph, nodes, place)
        near = hop_rows(graph, self.hops, self.powers, nodes)
        first = first_layer(parameters, self.features_of(graph, near.columns, place))
        return self._near_sum(parameters, graph, near, first, place).transpose(0, 1)

    def features_of(self, graph: Graph, nodes: np.ndarray, place: Place) -> Features:
        """x_u of some nodes, as the first layer takes them: k × f."""
        return placed_features(graph.features[nodes], place, normalize_rows=self.normalize_rows)

    def shares(self, graph: Graph, node: int) -> tuple[np.ndarray, np.ndarray]:
        """The nodes that g(v) is a sum over (k), and a_t(u) of every term: T_h at the row of v, t × k."""
        near = hop_rows(graph, self.hops, self.powers, np.array([node]))
        return near.columns, np.stack([term.toarray()[0] for term in near.terms()])

    def term_weights(self, parameters: Parameters, replicas: int, place: Place) -> Tensor:
        """ω: r × terms."""
        if self.hop_weights == "learned":
            return parameters["hop_weights"]
        return self.first_weights(place).expand(replicas, -1)

    def node_outputs(self, parameters: Parameters, first: Tensor) -> Tensor:
        """z_t(u) from the first layer's product: k × r × t × d, or k × r × 1 × d where all terms share it.

        Its gradient takes LayerNorm's deviations as they are: with these and the active units held, z is
        linear in x and in the biases.
        """
        return finish_mlp(parameters, first, None)[:, :, None]

    def _near_sum(
        self, parameters: Parameters, graph: Graph, near: HopRows, first: Tensor, place: Place
    ) -> Tensor:
        """g at some rows, from the first layer's product on their columns (k × r × width): m × r × d."""
        z = finish_mlp(parameters, first, None)
        return near(z, self.term_weights(parameters, z.shape[1], place), place)


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

    def first_weights(self, place: Place) -> Tensor:
        """c^h, and 1 where they are learned (not stated in the paper; its released code's start)."""
        c = 1.0 if self.hop_weights == "learned" else float(self.hop_weights)
        return c ** torch.arange(self.hops + 1, dtype=place.dtype, device=place.device)
