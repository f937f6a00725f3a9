"""Eq. 7 in stages with a nonlinearity between: not the paper's map, and not linear in the neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.compute.stack import Parameters
from kernode.hops import Powers
from kernode.maps.base import ROWS, WIDTHS
from kernode.maps.hop_mlp import HopInputs, HopMap
from kernode.maps.layers.mlp import initial_mlp


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
        widths = self.widths(prepared.features.shape[1])
        return initial_mlp(widths, draws, place, biases=True, norm=self.norm, gain=1, count=self.hops + 1)

    def sums(self, prepared: HopInputs, z: Tensor) -> Tensor:
        """Σ_h T_h z_h, with z_0 … z_H side by side: n × r × (H+1)·d → n × r × d."""
        return prepared.operator.join(list(z.chunk(self.hops + 1, dim=-1)))
