"""Eq. 7 in stages with a nonlinearity between: not linear in the neighbours, for heterophilous graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from kernode.compute.draws import Draws, Dropout
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.hops import Powers
from kernode.maps.base import ROWS, WIDTHS, FeatureInputs
from kernode.maps.hop_mlp import HopMap
from kernode.maps.layers.mlp import (
    EPSILON,
    activate,
    initial_mlp,
    initial_weight,
    multiply_stacked,
)


class StagedHops(HopMap):
    """Each stage is Eq. 7 with a layer for each hop, so that T_0 = I is a residual with weights."""

    def sums(self, prepared: FeatureInputs, z: Tensor) -> Tensor:
        """Σ_h T_h z_h, with z_0 … z_H side by side: n × r × (H+1)·d → n × r × d."""
        return prepared.neighbours.join(list(z.chunk(self.hops + 1, dim=-1)))


@dataclass(frozen=True)
class HopStages(StagedHops):
    """``H ← relu(norm(Σ_h T_h H W_h))``, stage by stage, and the last without relu: T_h = Ā^h ⊙ M^(h).

    - ``hidden``: width of each stage but the last; ``(256,)`` is two stages.
    - ``hops``: H of every stage; all stages together reach as far as their sum.
    - ``norm``: LayerNorm before relu.
    - ``outputs``, ``powers``, ``normalize_rows``: as in :class:`~kernode.maps.HopMLP`.
    """

    hidden: tuple[int, ...] = (256,)
    outputs: int | None = None
    hops: int = 1
    powers: Powers = "each"
    norm: bool = True
    normalize_rows: bool = False

    search_space: ClassVar = {**WIDTHS, "hops": (1, 2), "norm": (True, False), **ROWS}

    @property
    def reach(self) -> int:
        """H for each stage."""
        return self.hops * (len(self.hidden) + 1)

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """Xavier weights with gain 1, as those of H + 1 layers add up."""
        widths = self.widths(prepared.features.shape[1])
        return initial_mlp(widths, draws, options, biases=True, norm=self.norm, gain=1, count=self.hops + 1)


@dataclass(frozen=True)
class Stages(StagedHops):
    """``H ← relu(BatchNorm(Σ_h T_h H W_h))``, stage by stage, then a linear layer: T_h = Ā^h ⊙ M^(h).

    BatchNorm's mean and deviation are those of the graph at hand while it trains; afterwards those
    of the graph it learned from are parameters (:meth:`finished`): a trained map is piecewise linear.

    - ``hidden``: width of each stage.
    - ``hops``: H of every stage.
    - ``outputs``, ``powers``, ``normalize_rows``: as in :class:`~kernode.maps.HopMLP`.
    """

    hidden: tuple[int, ...] = (256, 256, 256, 256)
    outputs: int | None = None
    hops: int = 1
    powers: Powers = "each"
    normalize_rows: bool = False

    search_space: ClassVar = {**WIDTHS, "hops": (1, 2), **ROWS}

    @property
    def reach(self) -> int:
        """H for each stage."""
        return self.hops * len(self.hidden)

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """Xavier weights with gain 1, as those of H + 1 layers add up; BatchNorm of scale 1 and shift 0."""
        widths, last = self.widths(prepared.features.shape[1]), len(self.hidden)
        found = initial_mlp(widths, draws, options, norm=True, gain=1, count=self.hops + 1)
        return found | {
            f"weight_{last}": initial_weight(widths[-2], widths[-1], last, draws, options, gain=1)
        }

    def later_layers(
        self,
        parameters: Parameters,
        prepared: FeatureInputs,
        first: Tensor,
        dropout: Dropout | None,
        measured: Parameters | None = None,
    ) -> Tensor:
        """The other stages and the linear layer: r × n × d; ``measured`` gets what BatchNorm measures."""
        hidden, last = first, len(self.hidden)
        for stage in range(last):
            hidden = _batch_norm(hidden, stage, parameters, {} if measured is None else measured)
            hidden = multiply_stacked(activate(hidden, stage + 1, dropout), parameters[f"weight_{stage + 1}"])
            hidden = hidden if stage + 1 == last else self.sums(prepared, hidden)
        return hidden.transpose(0, 1)

    def finished(self, parameters: Parameters, prepared: FeatureInputs) -> Parameters:
        """The parameters and what BatchNorm measured: ``batch_mean_i`` and ``batch_scale_i``, r × width."""
        measured: Parameters = {}
        self.later_layers(parameters, prepared, self.first_layer(parameters, prepared), None, measured)
        return parameters | measured


def _batch_norm(x: Tensor, stage: int, parameters: Parameters, measured: Parameters) -> Tensor:
    """BatchNorm over the nodes (Ioffe and Szegedy 2015), replica by replica: n × r × width."""
    scale, shift = parameters[f"norm_scale_{stage}"], parameters[f"norm_shift_{stage}"]
    mean = parameters.get(f"batch_mean_{stage}")
    if mean is not None:
        return torch.addcmul(shift, (x - mean) * parameters[f"batch_scale_{stage}"], scale)
    if not torch.is_grad_enabled() or len(x) == 1:  # evaluation: what it measures is used afterwards
        variance, mean = torch.var_mean(x, dim=0, correction=0)
        measured[f"batch_mean_{stage}"] = mean
        measured[f"batch_scale_{stage}"] = inverse = (variance + EPSILON).rsqrt()
        return torch.addcmul(shift, (x - mean) * inverse, scale)
    flat = functional.batch_norm(
        x.reshape(len(x), -1), None, None, scale.reshape(-1), shift.reshape(-1), training=True, eps=EPSILON
    )
    return flat.view(x.shape)
