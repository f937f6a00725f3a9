"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kernode.compute.stack import Parameters
from kernode.config import require_setting
from kernode.kernels.base import NONE, BaseKernel


@dataclass(frozen=True)
class RBF(BaseKernel):
    """exp(−γ ‖x − y‖²), with a fixed γ or one that is learned from there."""

    grows = True
    gamma: float = 1.0  # not stated in the paper
    learned: bool = False

    def __post_init__(self) -> None:
        require_setting(self.gamma > 0, "gamma", "a number > 0", self.gamma)

    def initial(self, replicas: int) -> Parameters:
        """log γ, so that γ stays positive."""
        start = torch.full((replicas,), self.gamma, dtype=torch.float64).log()
        return {"log_gamma": start} if self.learned else {}

    def _gamma(self, parameters: Parameters, like: Tensor) -> Tensor | float:
        if not self.learned:
            return self.gamma
        return parameters["log_gamma"].exp().view(-1, *(1,) * (like.dim() - 1))

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """exp(−γ ‖x_i − y_i‖²)."""
        squared = (x - y).square().sum(-1)
        return torch.exp(-self._gamma(parameters, squared) * squared)

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """exp(−γ ‖x_i − y_j‖²), by ‖x‖² + ‖y‖² − 2⟨x, y⟩."""
        squared = x.square().sum(-1)[..., :, None] + y.square().sum(-1)[..., None, :]
        squared = (squared - 2 * x @ y.transpose(-1, -2)).clamp_min(0)  # rounding makes it slightly negative
        return torch.exp(-self._gamma(parameters, squared) * squared)
