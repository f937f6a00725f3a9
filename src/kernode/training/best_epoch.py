"""Which epoch is kept, and when to stop: the best on validation, until patience has run out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.stack import Parameters
from kernode.training.settings import Training


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
            torch.full((replicas,), -1.0, dtype=torch.float64, device=place.device),
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
            better &= loss.isfinite()  # answers that are no numbers are never the best
            if training.patience is not None:  # a replica that had stopped alone must not go on in a stack
                better &= epoch - self.epoch <= training.patience
        if better.device.type == "cpu" and not better.any():
            return
        self.score.copy_(torch.where(better, score, self.score))
        self.loss.copy_(torch.where(better, loss, self.loss))
        self.epoch.copy_(torch.where(better, epoch, self.epoch))
        for name, best in self.parameters.items():
            chosen = better.view(-1, *(1,) * (best.dim() - 1))
            best.copy_(torch.where(chosen, parameters[name].detach(), best))

    def stopped(self, epoch: int, patience: int | None) -> bool:
        """Whether every replica has gone ``patience`` epochs without a better one."""
        return patience is not None and bool((epoch - self.epoch >= patience).all())
