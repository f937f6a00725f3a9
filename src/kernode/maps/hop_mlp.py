"""g_θ, the paper's feature map (Eq. 7)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.data.sizes import GraphSizes
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.hops import HopOperator, Powers, check_hops, cost_of, hop_rows
from kernode.maps.base import LARGEST_PART, Parameters, StagedMap
from kernode.maps.layers.features import node_features, placed_features
from kernode.maps.layers.mlp import finish_mlp, first_layer, initial_mlp
from kernode.maps.layers.sizes import features_held, trained
from kernode.maps.layers.widths import HOPS, ROWS, WIDTHS, check_widths, width_of


@dataclass(frozen=True)
class HopInputs:
    """What Eq. 7 takes from the graph: X and the exact-hop operator."""

    features: Tensor | SparseMatrix  # n × f
    operator: HopOperator


@dataclass(frozen=True)
class HopMLP(StagedMap):
    """``g(V) = (Σ_h ω_h (Ā^h ⊙ M^(h))) MLP(X)``: an MLP on every node, then one aggregation.

    - ``hidden``: widths of the MLP's hidden layers; ``(16,)`` is two layers, ``()`` is one.
    - ``outputs``: width of g; None for one per class, which the softmax classifier needs.
    - ``hops``: H; neighbours at exactly 0, 1, … H hops are summed.
    - ``powers``: ``"each"`` as in the paper, ``"last"`` as in its released code, ``"plain"`` for Ā^h without
      masks (:func:`kernode.hops.hop_matrices`).
    - ``hop_weights``: ``"learned"``, or a number c for the fixed weights c^h.
    - ``normalize_rows``: scale each row of X to sum 1.

    >>> from kernode.maps import HopMLP
    >>> HopMLP(hidden=(512,), outputs=128, hops=3).layers
    2
    """

    hidden: tuple[int, ...] = (16,)
    outputs: int | None = None
    hops: int = 2
    powers: Powers = "each"
    hop_weights: Literal["learned"] | float = "learned"
    normalize_rows: bool = True  # not stated in the paper; its released code does it

    search_space: ClassVar = {**WIDTHS, **HOPS, "hop_weights": ("learned", 1.0), **ROWS}

    def __post_init__(self) -> None:
        check_hops(self.hops, self.powers)
        check_widths(self.hidden, self.outputs)
        c = self.hop_weights
        if c != "learned" and not (isinstance(c, Real) and math.isfinite(c)):
            raise InputError(f"hop_weights must be 'learned' or a finite number c. Got {c!r}.")

    @property
    def layers(self) -> int:
        """Number of layers of the MLP."""
        return len(self.hidden) + 1

    @property
    def reach(self) -> int:
        """H."""
        return self.hops

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """X and, one after the other, building the hop operator and training with it."""
        cost = cost_of(sizes, self.hops, self.powers)
        building = cost.least_building_bytes() if place.device.type == "cpu" else 0.0
        training = trained((sizes.features, *self.hidden, width_of(self)), sizes, place)
        training += cost.least_held_bytes(place.dtype.itemsize)
        return features_held(sizes, place, normalize_rows=self.normalize_rows) + max(building, training)

    def operator_reason(self, sizes: GraphSizes) -> str:
        """Explicit or factored, whichever is cheaper."""
        return cost_of(sizes, self.hops, self.powers).reason()

    def prepare(self, graph: Graph, place: Place) -> HopInputs:
        """X and the hop operator of a graph."""
        features = node_features(graph, place, normalize_rows=self.normalize_rows)
        return HopInputs(features, HopOperator.of(graph, self.hops, self.powers, place))

    def initial(self, prepared: HopInputs, draws: Draws, place: Place) -> Parameters:
        """Xavier weights, no biases, and ω_h = 1 (not stated in the paper; its released code's start)."""
        widths = (prepared.features.shape[1], *self.hidden, width_of(self))
        parameters = initial_mlp(widths, draws, place)
        if self.hop_weights == "learned":
            parameters["hop_weights"] = torch.ones(
                len(draws.seeds), self.hops + 1, dtype=place.dtype, device=place.device
            )
        return parameters

    def beginning(
        self, parameters: Parameters, prepared: HopInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The product with X."""
        return first_layer(parameters, prepared.features, dropout)

    def finish(
        self, parameters: Parameters, prepared: HopInputs, beginning: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """Eq. 7: r × n × d."""
        x = finish_mlp(parameters, beginning, dropout)  # n × r × d
        return prepared.operator(x, self._hop_weights(parameters, x)).transpose(0, 1)

    def rows(self, parameters: Parameters, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor:
        """Rows of Eq. 7 (r × m × d), from the MLP of the nodes within H hops alone."""
        # Exact hops take time in proportion to the rows that they are built for; beyond half of them, all
        # are built, since those of a whole graph are kept on disk and serve again.
        if len(nodes) > LARGEST_PART * graph.n_nodes:
            return super().rows(parameters, graph, nodes, place)
        near = hop_rows(graph, self.hops, self.powers, nodes)
        x = placed_features(graph.features[near.columns], place, normalize_rows=self.normalize_rows)
        z = finish_mlp(parameters, first_layer(parameters, x), None)  # k × r × d
        return near(z, self._hop_weights(parameters, z), place).transpose(0, 1)

    def _hop_weights(self, parameters: Parameters, like: Tensor) -> Tensor:
        if self.hop_weights == "learned":
            return parameters["hop_weights"]  # ω_h, Eq. 7: r × (H+1)
        hops = torch.arange(self.hops + 1, dtype=like.dtype, device=like.device)
        return (float(self.hop_weights) ** hops).expand(like.shape[1], -1)
