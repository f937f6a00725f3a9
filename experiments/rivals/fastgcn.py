"""FastGCN: a graph convolution whose sum over neighbours is sampled while training (Chen et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import SAMPLES, Draws, Dropout
from kernode.compute.gpu import cumulative_sums
from kernode.compute.sparse import SparseMatrix
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.hops import normalized_adjacency
from kernode.maps.base import (
    ROWS,
    WIDTHS,
    StagedMap,
    check_widths,
    width_of,
)
from kernode.maps.gcn import propagate
from kernode.maps.layers.mlp import finish_mlp, first_layer, initial_mlp
from kernode.maps.presmoothed import Presmoothed


@dataclass(frozen=True)
class SampledInputs:
    """ĀX (the first layer's sum needs no sampling), Ā, and how likely each node is to be drawn."""

    smoothed: Tensor | SparseMatrix  # ĀX, n × f
    step: SparseMatrix  # Ā
    chance: Tensor  # n, float64, sums to 1


@dataclass(frozen=True)
class FastGCN(StagedMap):
    """``g = Ā relu(Ā X W_0) W_1``, in training ``Ā (w ⊙ relu(Ā X W_0) W_1)`` with sampled weights w.

    t nodes u are drawn, a ``share`` of all, with chance q(u) ∝ ‖Ā(:, u)‖², and w(u) = count(u) / (t q(u)):
    the published estimator of the sum over neighbours, unbiased since E w = 1. It is computed as one full
    product, which on a stack of replicas costs less than gathering each replica's own rows.
    """

    hidden: tuple[int, ...] = (16,)
    outputs: int | None = None
    share: float = 0.5
    normalize_rows: bool = True

    operator: ClassVar[str] = "adjacency"
    multiplies_features: ClassVar[bool] = False
    search_space: ClassVar = {**WIDTHS, "share": (0.25, 0.5, 1.0), **ROWS}

    def __post_init__(self) -> None:
        check_widths(self.hidden, self.outputs)
        if not self.share > 0:
            raise InputError(
                f"share must be a number > 0. Got {self.share}.", "setting", setting="share", value=self.share
            )

    @property
    def reach(self) -> int:
        """Two: Ā is applied to X and to the last layer, whatever lies between."""
        return 2

    def prepare(self, graph: Graph, options: TensorOptions) -> SampledInputs:
        """ĀX, Ā and the chances."""
        step = normalized_adjacency(graph)
        chance = np.asarray(step.multiply(step).sum(axis=0)).ravel()
        once = Presmoothed(hops=1, powers="plain", normalize_rows=self.normalize_rows)
        return SampledInputs(
            once.prepare(graph, options).features,
            SparseMatrix.of(step, options, symmetric=True),
            torch.from_numpy(chance / chance.sum()).to(options.device),
        )

    def initial(self, prepared: SampledInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """Xavier weights, no biases."""
        return initial_mlp((prepared.smoothed.shape[1], *self.hidden, width_of(self)), draws, options)

    def first_layer(
        self, parameters: Parameters, prepared: SampledInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The product with X."""
        return first_layer(parameters, prepared.smoothed, dropout)

    def later_layers(
        self, parameters: Parameters, prepared: SampledInputs, first: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """r × n × d."""
        z = finish_mlp(parameters, first, dropout)
        if dropout is not None:
            z = z * self.weights(prepared.chance, dropout.draws).to(z.dtype)[..., None]
        return propagate(prepared.step, z).transpose(0, 1)

    def weights(self, chance: Tensor, draws: Draws) -> Tensor:
        """w: n × r, in float64."""
        samples = max(1, round(self.share * len(chance)))
        uniform = draws.uniform(SAMPLES, samples)  # t × r
        # clamp: rounding may leave the last sum of chances below a number that was drawn
        drawn = torch.searchsorted(cumulative_sums(chance, 0), uniform).clamp_max(len(chance) - 1)
        counts = torch.zeros(len(chance), uniform.shape[1], dtype=chance.dtype, device=chance.device)
        counts.scatter_add_(0, drawn, torch.ones_like(uniform))
        return counts / (samples * chance)[:, None]
