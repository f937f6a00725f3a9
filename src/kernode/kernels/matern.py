"""The Matérn kernel on vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from kernode.compute.stack import Parameters
from kernode.config import require_setting
from kernode.kernels.base import NONE, BaseKernel


@dataclass(frozen=True)
class Matern(BaseKernel):
    """``(1 + r) e^(−r)`` (ν = 3/2) or ``(1 + r + r²/3) e^(−r)`` (ν = 5/2), with ``r = √(2ν) ‖x − y‖``.

    Rougher than RBF, which it is for ν → ∞. ν = 1/2 gives e^(−r).
    """

    grows = True
    nu: float = 1.5

    def __post_init__(self) -> None:
        require_setting(self.nu in (0.5, 1.5, 2.5), "nu", "0.5, 1.5 or 2.5", self.nu)

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """k(x_i, y_i)."""
        return self._of((x - y).square().sum(-1))

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """k(x_i, y_j)."""
        squared = x.square().sum(-1)[..., :, None] + y.square().sum(-1)[..., None, :]
        return self._of((squared - 2 * x @ y.transpose(-1, -2)).clamp_min(0))

    def _of(self, squared: Tensor) -> Tensor:
        r = math.sqrt(2 * self.nu) * (squared + 1e-12).sqrt()  # a root of 0 has no gradient
        decay = torch.exp(-r)
        if self.nu == 0.5:
            return decay
        return decay * (1 + r + (r.square() / 3 if self.nu == 2.5 else 0))
