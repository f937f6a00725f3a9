"""Squared differences from s_G."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from kernode.losses.kernel_loss import KernelLoss


@dataclass(frozen=True)
class Squared(KernelLoss):
    """``(K − s_G)²`` on both pairs of a triplet, s_G = ±1."""

    def of_triplets(self, same: Tensor, other: Tensor, own: dict[str, Tensor]) -> Tensor:
        """The mean over both pairs."""
        return ((same - 1).square().mean(dim=1) + (other + 1).square().mean(dim=1)) / 2
