"""How parameters are moved along their gradients: Adam, or another rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from kernode.compute import adam
from kernode.compute.stack import Parameters
from kernode.config import Config


@dataclass(frozen=True)
class Optimiser(Config):
    """A rule of gradient steps; one with settings of its own hands them to its steps in :meth:`start`."""

    steps: ClassVar[type[adam.Steps]]

    def start(self, parameters: Parameters, rates: Tensor, decay: Tensor) -> adam.Steps:
        """Return the steps of r replicas, which have a learning rate and a weight decay each."""
        return self.steps(parameters, rates, decay)


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam, with L2 decay in the gradient."""

    steps: ClassVar = adam.Adam
