"""The dot product and its powers."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from kernode.compute.stack import Parameters
from kernode.config import require_setting
from kernode.kernels.base import NONE, BaseKernel


@dataclass(frozen=True)
class Linear(BaseKernel):
    """The dot product ⟨x, y⟩."""

    dot_product = True
    grows = True

    def pull_back(self, x: Tensor, embedded: Tensor) -> Tensor:
        """Return e itself."""
        return embedded

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """⟨x_i, y_i⟩."""
        return (x * y).sum(-1)

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """⟨x_i, y_j⟩."""
        return x @ y.transpose(-1, -2)


@dataclass(frozen=True)
class Polynomial(BaseKernel):
    """(⟨x, y⟩ + offset)^degree; p.s.d. for offset ≥ 0."""

    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        require_setting(self.degree >= 1, "degree", "≥ 1", self.degree)
        require_setting(self.offset >= 0, "offset", "≥ 0", self.offset)

    @property
    def grows(self) -> bool:  # type: ignore[override]
        """False where an even power makes opposites similar."""
        return self.degree % 2 == 1 or self.offset >= 1

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """(⟨x_i, y_i⟩ + offset)^degree."""
        return ((x * y).sum(-1) + self.offset) ** self.degree

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """(⟨x_i, y_j⟩ + offset)^degree."""
        return (x @ y.transpose(-1, -2) + self.offset) ** self.degree
