"""The paper's kernel loss: a hinge on triplets (Eqs. 9-10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from kernode.compute.gpu import fused_sums
from kernode.compute.replicas import PerReplica, plain_numbers
from kernode.compute.stack import Parameters, stacked_rows
from kernode.kernels import BaseKernel
from kernode.losses.base import Settings
from kernode.losses.kernel_loss import KernelLoss
from kernode.losses.triplets import Triplets


@dataclass(frozen=True)
class Hinge(KernelLoss):
    """``[K(a, n) − K(a, p) + α]₊``, the mean over triplets.

    - ``margin``: α.

    >>> near, far = torch.tensor([[0.9, 0.2]]), torch.tensor([[0.1, 0.6]])
    >>> Hinge().of_triplets(near, far, {"margin": torch.tensor([0.1])})
    tensor([0.2500])
    """

    margin: PerReplica = 0.1

    per_replica: ClassVar = ("margin",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "margin", plain_numbers("margin", self.margin))

    def of_triplets(self, same: Tensor, other: Tensor, own: Settings) -> Tensor:
        """Eq. 10."""
        return torch.relu(other - same + own["margin"].view(-1, 1)).mean(dim=1)

    def of_kernel(
        self, kernel: BaseKernel, parameters: Parameters, embedded: Tensor, triplets: Triplets, own: Settings
    ) -> Tensor:
        """The same, on dot products by a way of its own."""
        if kernel.dot_product:
            return _DotHinge.apply(embedded, triplets, own["margin"])
        return super().of_kernel(kernel, parameters, embedded, triplets, own)


class _DotHinge(torch.autograd.Function):
    """The hinge on dot products: ⟨a, n⟩ − ⟨a, p⟩ = ⟨a, n − p⟩, and satisfied triplets have no gradient.

    Autograd's own way gathers and scatters every row several times.
    """

    @staticmethod
    def forward(ctx: Any, embedded: Tensor, triplets: Triplets, margin: Tensor) -> Tensor:
        rows = stacked_rows(embedded)
        ctx.shape = embedded.shape
        if gpu := fused_sums(rows):
            loss, gradient = gpu.dot_hinge(rows, triplets, margin)
            ctx.save_for_backward(gradient)
            return loss
        t, r = triplets.anchor.shape
        at = [nodes.reshape(-1) for nodes in triplets]
        anchor = rows.index_select(0, at[0])
        across = rows.index_select(0, at[2]).sub_(rows.index_select(0, at[1]))
        ones = rows.new_ones(rows.shape[1])  # a product with ones sums short rows faster than sum() does
        hinges = ((anchor * across) @ ones).view(t, r).add_(margin).clamp_min_(0)
        ctx.save_for_backward(anchor, across, hinges, *at)
        return hinges.mean(dim=0)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor, None, None]:
        r, m, d = ctx.shape
        if len(ctx.saved_tensors) == 1:
            (gradient,) = ctx.saved_tensors
            return (gradient.view(m, r, d) * upstream[0][:, None]).transpose(0, 1), None, None
        anchor, across, hinges, *at = ctx.saved_tensors
        active = hinges.view(-1).nonzero()[:, 0]
        if len(active) < hinges.numel():
            anchor, across, *at = (rows.index_select(0, active) for rows in (anchor, across, *at))
        gradient = anchor.new_zeros(m * r, d)
        gradient.index_add_(0, at[0], across).index_add_(0, at[2], anchor).index_add_(
            0, at[1], anchor, alpha=-1
        )
        scale = upstream[0] / len(hinges)
        return (gradient.view(m, r, d) * scale[:, None]).transpose(0, 1), None, None
