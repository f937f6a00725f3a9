"""Which epoch is kept, and when training stops."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.replicas import whole
from kernode.compute.stack import Parameters
from kernode.config import Config

if TYPE_CHECKING:
    from kernode.training.settings import Training

MOST_EPOCHS = 10_000_000


@dataclass(frozen=True)
class Stopping(Config):
    """A stopping rule: whether a replica goes on. A new one writes :meth:`goes_on`."""

    @abstractmethod
    def goes_on(self, epoch: int | Tensor, best: BestEpoch) -> Tensor:
        """Return which of r replicas still train in an epoch (r booleans), from the best epochs before it.

        A replica that does not go on keeps its best epoch, also in a stack whose other replicas go on.
        """


@dataclass(frozen=True)
class Patience(Stopping):
    """Stop a replica after so many epochs without a better one."""

    epochs: int

    def __post_init__(self) -> None:
        whole("patience", self.epochs, 1, MOST_EPOCHS)

    def goes_on(self, epoch: int | Tensor, best: BestEpoch) -> Tensor:
        """The best epoch is at most ``epochs`` ago."""
        return epoch - best.epoch <= self.epochs


@dataclass
class BestEpoch:
    """The best epoch of every replica so far: highest validation score, then lowest validation loss."""

    parameters: Parameters
    score: Tensor
    loss: Tensor
    epoch: Tensor

    @classmethod
    def before_training(cls, parameters: Parameters, replicas: int, place: Place) -> BestEpoch:
        """Begin with the first parameters and a score that any epoch beats."""
        return cls(
            {name: p.detach().clone() for name, p in parameters.items()},
            torch.full((replicas,), -torch.inf, dtype=torch.float64, device=place.device),
            torch.full((replicas,), torch.inf, dtype=place.dtype, device=place.device),
            torch.zeros(replicas, dtype=torch.int64, device=place.device),
        )

    def update(
        self, epoch: int | Tensor, parameters: Parameters, score: Tensor, loss: Tensor, training: Training
    ) -> None:
        """Keep this epoch's parameters for the replicas that it is the best of."""
        if training.selection == "last":
            better = torch.ones_like(score, dtype=torch.bool)
        else:
            better = (score > self.score) | ((score == self.score) & (loss < self.loss))
            better &= loss.isfinite()  # NaN is never the best
            if (rule := training.stopping_rule) is not None:
                better &= rule.goes_on(epoch, self)
        if better.device.type == "cpu" and not better.any():
            return
        self.score.copy_(torch.where(better, score, self.score))
        self.loss.copy_(torch.where(better, loss, self.loss))
        self.epoch.copy_(torch.where(better, epoch, self.epoch))
        for name, best in self.parameters.items():
            chosen = better.view(-1, *(1,) * (best.dim() - 1))
            best.copy_(torch.where(chosen, parameters[name].detach(), best))
