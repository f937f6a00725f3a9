"""L_K: the kernel compared with s_G, +1 within a class and −1 between classes (Eq. 8), on triplets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor
from torch.nn import functional

from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.compute.replicas import whole
from kernode.compute.stack import Parameters, part, stacked_rows
from kernode.config import Config
from kernode.kernels import BaseKernel
from kernode.losses.base import Loss, Settings
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.triplets import Triplets, TripletSampler


class TripletInputs(NamedTuple):
    """What a kernel loss holds while it is minimised."""

    sampler: TripletSampler
    own: Settings  # settings of each replica


@dataclass(frozen=True)
class KernelLoss(Loss):
    """ℓ(K(i, j), s_G(i, j)) of Eqs. 3-4 on triplets (anchor, same class, other class).

    - ``triplets``: drawn afresh each epoch, the same number for each class (the latter not stated).

    A new one writes :meth:`of_triplets`.
    """

    triplets: int = 10_000

    objective: ClassVar = "kernel"

    def __post_init__(self) -> None:
        object.__setattr__(self, "triplets", whole("triplets", self.triplets, 1, 10**9))

    @abstractmethod
    def of_triplets(self, same: Tensor, other: Tensor, own: Settings) -> Tensor:
        """The mean loss from K(a, p), where s_G = +1, and K(a, n), where s_G = −1: (r × t), (r × t) → r."""

    def prepare(self, nodes: NodesByClass, own: Settings, place: Place) -> TripletInputs:
        """A sampler of triplets."""
        return TripletInputs(TripletSampler(nodes, self.triplets), own)

    def __call__(
        self, prepared: TripletInputs, kernel: BaseKernel, parameters: Parameters, g: Tensor, draws: Draws
    ) -> dict[str, Tensor]:
        """L_K on fresh triplets."""
        triplets, embedded = prepared.sampler.draw(draws), kernel.embed(g)
        loss = self.of_kernel(kernel, part(parameters, "kernel."), embedded, triplets, prepared.own)
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
class Squared(KernelLoss):
    """``(K − s_G)²`` on both pairs of a triplet, s_G = ±1."""

    def of_triplets(self, same: Tensor, other: Tensor, own: Settings) -> Tensor:
        """The mean over both pairs."""
        return ((same - 1).square().mean(dim=1) + (other + 1).square().mean(dim=1)) / 2


@dataclass(frozen=True)
class Logistic(KernelLoss):
    """``log(1 + exp(−s_G K))`` on both pairs of a triplet, s_G = ±1: how unlikely s_G is, read from K."""

    def of_triplets(self, same: Tensor, other: Tensor, own: Settings) -> Tensor:
        """The mean over both pairs."""
        return (functional.softplus(-same).mean(dim=1) + functional.softplus(other).mean(dim=1)) / 2


def kernel_losses() -> dict[str, type[KernelLoss]]:
    """Every kernel loss there is, by its name in lower case: "hinge", "squared", …; defining one adds it."""
    kinds = [kind for kind in Config.kinds.values() if issubclass(kind, KernelLoss)]
    return {kind.__name__.lower(): kind for kind in kinds if kind is not KernelLoss}
