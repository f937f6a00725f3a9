"""Eq. 7 in stages with a nonlinearity between: not the paper's map, and not linear in the neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.hops import Powers
from kernode.maps.base import Parameters
from kernode.maps.hop_mlp import HopInputs, HopMap
from kernode.maps.layers.linear import initial_bias, initial_weight, multiply_stacked
from kernode.maps.layers.mlp import activated, first_layer, initial_norm
from kernode.maps.layers.sizes import ROWS, WIDTHS, width_of


@dataclass(frozen=True)
class HopStages(HopMap):
    """``H ← relu(norm(Σ_h T_h H W_h))``, stage by stage, and the last without relu: T_h = Ā^h ⊙ M^(h).

    Each stage is Eq. 7 with a layer of its own for each hop, so that T_0 = I is a residual with weights.

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

    def initial(self, prepared: HopInputs, draws: Draws, place: Place) -> Parameters:
        """Xavier weights with gain 1, as those of H + 1 layers add up."""
        widths = (prepared.features.shape[1], *self.hidden, width_of(self))
        parameters: Parameters = {}
        for stage, (rows, columns) in enumerate(pairwise(widths)):
            weight = initial_weight(rows, columns, stage, draws, place, gain=1, count=self.hops + 1)
            parameters[f"weight_{stage}"] = weight
            if stage < len(self.hidden):
                parameters[f"bias_{stage}"] = initial_bias(columns, draws, place)
                parameters |= initial_norm(columns, stage, draws, place) if self.norm else {}
        return parameters

    def beginning(
        self, parameters: Parameters, prepared: HopInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The first stage before its relu."""
        return self._aggregated(first_layer(parameters, prepared.features, dropout), prepared)

    def finish(
        self, parameters: Parameters, prepared: HopInputs, beginning: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """The last stage: r × n × d."""
        x = beginning
        for stage in range(1, len(self.hidden) + 1):
            x = activated(parameters, x, stage, dropout)
            x = self._aggregated(multiply_stacked(x, parameters[f"weight_{stage}"]), prepared)
        return x.transpose(0, 1)

    def _aggregated(self, z: Tensor, prepared: HopInputs) -> Tensor:
        """Σ_h T_h z_h, with z_0 … z_H side by side: n × r × (H+1)·d → n × r × d."""
        return prepared.operator.join(list(z.chunk(self.hops + 1, dim=-1)))
