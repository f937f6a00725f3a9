"""Logistic loss: how unlikely s_G is, read from K."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from kernode.losses.kernel_loss import KernelLoss


@dataclass(frozen=True)
class Logistic(KernelLoss):
    """``log(1 + exp(−s_G K))`` on both pairs of a triplet, s_G = ±1."""

    def of_triplets(self, same: Tensor, other: Tensor, own: dict[str, Tensor]) -> Tensor:
        """The mean over both pairs."""
        return (functional.softplus(-same).mean(dim=1) + functional.softplus(other).mean(dim=1)) / 2
