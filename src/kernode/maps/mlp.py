"""A multi-layer perceptron on the features alone: what a graph must beat."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from kernode.compute.draws import Draws
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.maps.base import ROWS, WIDTHS, FeatureInputs, LayeredMap
from kernode.maps.layers.mlp import initial_linear, initial_norm


@dataclass(frozen=True)
class MLP(LayeredMap):
    """``H ← relu(LayerNorm(H W + b))``, layer by layer; the last one linear. It sees no edge.

    - ``hidden``, ``outputs``: widths, as in :class:`~kernode.maps.HopMLP`; ``norm``: whether there is a
      LayerNorm.
    """

    hidden: tuple[int, ...] = (64,)
    outputs: int | None = None
    norm: bool = False
    normalize_rows: bool = False

    search_space: ClassVar = {**WIDTHS, "norm": (True, False), **ROWS}

    @property
    def reach(self) -> int:
        """None but the node itself."""
        return 0

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """As torch's linear layers start; LayerNorm with scale 1 and shift 0."""
        parameters: Parameters = {}
        for layer, (rows, columns) in enumerate(pairwise(self.widths(prepared.features.shape[1]))):
            weight, bias = initial_linear(rows, columns, 2 * layer, draws, options)
            parameters |= {f"weight_{layer}": weight, f"bias_{layer}": bias}
            if self.norm and layer < len(self.hidden):
                parameters |= initial_norm(columns, layer, draws, options)
        return parameters
