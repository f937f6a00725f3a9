"""Eq. 7's one-hop shell, stacked: for heterophilous graphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.stack import Parameters
from kernode.hops import Powers
from kernode.maps.base import ROWS, WIDTHS
from kernode.maps.hop_mlp import HopInputs, HopMap
from kernode.maps.layers.mlp import EPSILON, activate, initial_norm, initial_weight, multiply_stacked


@dataclass(frozen=True)
class Stages(HopMap):
    """``H ← relu(BatchNorm(Σ_h T_h H W_h))``, stage by stage, then a linear layer: T_h = Ā^h ⊙ M^(h).

    A node and its neighbours have weights of their own in every stage, so that a stage can subtract as well
    as add. BatchNorm's mean and deviation are those of the graph at hand while it trains; afterwards those
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

    def initial(self, prepared: HopInputs, draws: Draws, place: Place) -> Parameters:
        """Xavier weights with gain 1, as those of H + 1 layers add up; BatchNorm of scale 1 and shift 0."""
        *widths, outputs = self.widths(prepared.features.shape[1])
        last, found = len(self.hidden), dict[str, Tensor]()
        for stage, (before, width) in enumerate(pairwise(widths)):
            weights = initial_weight(before, width, stage, draws, place, gain=1, count=self.hops + 1)
            found |= {f"weight_{stage}": weights, **initial_norm(width, stage, draws, place)}
        return found | {f"weight_{last}": initial_weight(widths[-1], outputs, last, draws, place, gain=1)}

    def sums(self, prepared: HopInputs, z: Tensor) -> Tensor:
        """Σ_h T_h z_h, with z_0 … z_H side by side: n × r × (H+1)·d → n × r × d."""
        return prepared.operator.join(list(z.chunk(self.hops + 1, dim=-1)))

    def later_layers(
        self, parameters: Parameters, prepared: HopInputs, first: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """The other stages and the linear layer: r × n × d."""
        return self._stages(parameters, prepared, first, dropout, {}).transpose(0, 1)

    def finished(self, parameters: Parameters, prepared: HopInputs) -> Parameters:
        """The parameters and what BatchNorm measured: ``batch_mean_i`` and ``batch_scale_i``, r × width."""
        measured: Parameters = {}
        self._stages(parameters, prepared, self.first_layer(parameters, prepared), None, measured)
        return parameters | measured

    def _stages(
        self,
        parameters: Parameters,
        prepared: HopInputs,
        hidden: Tensor,
        dropout: Dropout | None,
        measured: Parameters,
    ) -> Tensor:
        last = len(self.hidden)
        for stage in range(last):
            hidden = activate(_batch_norm(hidden, stage, parameters, measured), stage + 1, dropout)
            hidden = multiply_stacked(hidden, parameters[f"weight_{stage + 1}"])
            hidden = hidden if stage + 1 == last else self.sums(prepared, hidden)
        return hidden


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
