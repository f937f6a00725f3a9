"""L_K: the kernel compared with s_G, +1 within a class and −1 between classes (Eq. 8), on triplets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from kernode.compute.draws import Draws
from kernode.compute.gpu import fused_sums
from kernode.compute.replicas import PerReplica, plain_numbers, whole
from kernode.compute.stack import Parameters, stacked_rows, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config
from kernode.kernels import BaseKernel
from kernode.losses.base import Loss, Settings
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.triplets import Triplets, TripletSampler


class TripletInputs(NamedTuple):
    """State of a kernel loss during training."""

    sampler: TripletSampler
    own: Settings  # settings of each replica


@dataclass(frozen=True)
class KernelLoss(Loss):
    """ℓ(K(i, j), s_G(i, j)) of Eqs. 3-4 on triplets (anchor, same class, other class).

    - ``triplets``: drawn anew each epoch, the same number for each class (the latter not stated).

    Subclasses define :meth:`of_triplets`.
    """

    triplets: int = 10_000

    objective: ClassVar = "kernel"

    def __post_init__(self) -> None:
        object.__setattr__(self, "triplets", whole("triplets", self.triplets, 1, 10**9))

    @abstractmethod
    def of_triplets(self, same: Tensor, other: Tensor, own: Settings) -> Tensor:
        """Mean loss from K(a, p), where s_G = +1, and K(a, n), where s_G = −1: (r × t), (r × t) → r."""

    def prepare(self, nodes: NodesByClass, own: Settings, options: TensorOptions) -> TripletInputs:
        """A sampler of triplets."""
        return TripletInputs(TripletSampler(nodes, self.triplets), own)

    def __call__(
        self, prepared: TripletInputs, kernel: BaseKernel, parameters: Parameters, g: Tensor, draws: Draws
    ) -> dict[str, Tensor]:
        """L_K on fresh triplets."""
        triplets, embedded = prepared.sampler.draw(draws), kernel.embed(g)
        loss = self.of_kernel(kernel, under_prefix(parameters, "kernel."), embedded, triplets, prepared.own)
        return {"loss": loss, "kernel_loss": loss}

    def of_kernel(
        self, kernel: BaseKernel, parameters: Parameters, embedded: Tensor, triplets: Triplets, own: Settings
    ) -> Tensor:
        """L_K of a kernel on triplets among embedded training nodes (r × m × d'): one number per replica."""
        rows = stacked_rows(embedded)
        t, r = triplets.anchor.shape
        anchor, positive, negative = (
            rows.index_select(0, at.reshape(-1)).view(t, r, -1).transpose(0, 1) for at in triplets
        )
        same, other = kernel.pairs(anchor, positive, parameters), kernel.pairs(anchor, negative, parameters)
        return self.of_triplets(same, other, own)


@dataclass(frozen=True)
class Hinge(KernelLoss):
    """``[K(a, n) − K(a, p) + α]₊``, the mean over triplets: the paper's (Eqs. 9-10).

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
        """The loss, with its own gradient for dot products."""
        if kernel.dot_product:
            return _DotHinge.apply(embedded, triplets, own["margin"])
        return super().of_kernel(kernel, parameters, embedded, triplets, own)


class _DotHinge(torch.autograd.Function):
    """The hinge on dot products: ⟨a, n⟩ − ⟨a, p⟩ = ⟨a, n − p⟩, and satisfied triplets have no gradient.

    Autograd would gather and scatter every row several times.
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


@dataclass(frozen=True)
class Squared(KernelLoss):
    """``(K − s_G)²`` on both pairs of a triplet, s_G = ±1."""

    def of_triplets(self, same: Tensor, other: Tensor, own: Settings) -> Tensor:
        """The mean over both pairs."""
        return ((same - 1).square().mean(dim=1) + (other + 1).square().mean(dim=1)) / 2


@dataclass(frozen=True)
class Logistic(KernelLoss):
    """``log(1 + exp(−s_G K))`` on both pairs of a triplet, s_G = ±1: the logistic loss of K."""

    def of_triplets(self, same: Tensor, other: Tensor, own: Settings) -> Tensor:
        """The mean over both pairs."""
        return (functional.softplus(-same).mean(dim=1) + functional.softplus(other).mean(dim=1)) / 2


def kernel_losses() -> dict[str, type[KernelLoss]]:
    """All kernel losses by name in lower case ("hinge", "squared", …); subclasses are added automatically."""
    kinds = [kind for kind in Config.kinds.values() if issubclass(kind, KernelLoss)]
    return {kind.__name__.lower(): kind for kind in kinds if kind is not KernelLoss}
