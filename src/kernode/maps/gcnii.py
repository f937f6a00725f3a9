"""GCNII: deep graph convolutions that keep sight of where they began (Chen et al. 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_setting
from kernode.maps.base import ROWS, WIDTHS, FeatureInputs, StagedMap, width_of
from kernode.maps.gcn import ConvolutionMap
from kernode.maps.layers.mlp import activate, initial_linear, initial_weight, multiply_stacked


@dataclass(frozen=True)
class GCNII(ConvolutionMap):
    """``H ← relu(S ((1 − b) I + b W))`` with ``S = (1 − a) Ā H + a H₀``, between two linear layers.

    - ``hidden``: the one width of H₀ = relu(X W + b) and of all convolutions after it.
    - ``depth``: how many convolutions.
    - ``alpha``: a, how much of H₀ comes back in each of them.
    - ``theta``: how much the l-th one learns, b = log(theta / l + 1).
    """

    hidden: tuple[int, ...] = (64,)
    outputs: int | None = None
    depth: int = 8
    alpha: float = 0.1
    theta: float = 0.5
    normalize_rows: bool = True

    search_space: ClassVar = {
        **WIDTHS, "depth": (4, 8, 16, 32), "alpha": (0.1, 0.2, 0.5), "theta": (0.5, 1.0, 1.5), **ROWS
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        require_setting(len(self.hidden) == 1, "hidden", "one width, such as (64,)", self.hidden)
        require_setting(self.depth >= 1, "depth", "at least 1", self.depth)
        require_setting(0 <= self.alpha <= 1, "alpha", "in [0, 1]", self.alpha)
        require_setting(self.theta > 0, "theta", "above 0", self.theta)

    @property
    def reach(self) -> int:
        """One edge for each convolution."""
        return self.depth

    def widths(self, features: int) -> tuple[int, ...]:
        """Return the widths of both linear layers and of the convolutions between."""
        return features, *self.hidden * (1 + self.depth), width_of(self)

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """Linear layers as torch's start, convolutions with Xavier weights, as published."""
        parameters: Parameters = {}
        (width,), last = self.hidden, self.depth + 1
        for layer, rows, columns in ((0, prepared.features.shape[1], width), (last, width, width_of(self))):
            weight, bias = initial_linear(rows, columns, 2 * layer, draws, options)
            parameters |= {f"weight_{layer}": weight, f"bias_{layer}": bias}
        for layer in range(1, last):
            parameters[f"weight_{layer}"] = initial_weight(width, width, 2 * layer, draws, options, gain=1)
        return parameters

    first_layer = StagedMap.first_layer  # without a sum

    def later_layers(
        self, parameters: Parameters, prepared: FeatureInputs, first: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """The convolutions and the last linear layer: r × n × d."""
        first = torch.relu(first + parameters["bias_0"])  # H₀ itself loses nothing to dropout
        identity = torch.eye(*2 * self.hidden, dtype=first.dtype, device=first.device)
        x = activate(first, 1, dropout)
        for layer in range(1, self.depth + 1):
            b = math.log(self.theta / layer + 1)
            x = torch.lerp(self.sums(prepared, x), first, self.alpha)
            x = multiply_stacked(x, (1 - b) * identity + b * parameters[f"weight_{layer}"])
            x = activate(x, layer + 1, dropout)
        last = self.depth + 1
        x = multiply_stacked(x, parameters[f"weight_{last}"]) + parameters[f"bias_{last}"]
        return x.transpose(0, 1)
