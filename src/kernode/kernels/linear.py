"""The dot product."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from kernode.compute.stack import Parameters
from kernode.kernels.base import NONE, BaseKernel


@dataclass(frozen=True)
class Linear(BaseKernel):
    """The dot product ⟨x, y⟩."""

    dot_product = True
    grows = True

    def pull_back(self, x: Tensor, embedded: Tensor) -> Tensor:
        """e itself."""
        return embedded

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """⟨x_i, y_i⟩."""
        return (x * y).sum(-1)

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """⟨x_i, y_j⟩."""
        return x @ y.transpose(-1, -2)
