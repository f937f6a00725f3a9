"""Adam on a stack: every replica with its own learning rate and weight decay."""

from __future__ import annotations

import torch
from torch import Tensor

from kernode.stack import Parameters


class Adam:
    """Kingma & Ba 2014 with L2 decay in the gradient, as ``torch.optim.Adam`` (which has one rate for all).

    ``learning_rate`` and ``weight_decay`` hold one number per replica.
    """

    def __init__(self, parameters: Parameters, learning_rate: Tensor, weight_decay: Tensor) -> None:
        self.parameters = parameters
        self.rates = {name: _beside(learning_rate, p) for name, p in parameters.items()}
        self.decays = {name: _beside(weight_decay, p) for name, p in parameters.items()}
        self.first = {name: torch.zeros_like(p) for name, p in parameters.items()}
        self.second = {name: torch.zeros_like(p) for name, p in parameters.items()}
        self.steps = 0

    @torch.no_grad()
    def step(self, gradients: dict[str, Tensor]) -> None:
        """Move every parameter by its gradient, in place."""
        self.steps += 1
        shrink_1, shrink_2 = 1 - 0.9**self.steps, 1 - 0.999**self.steps
        for name, gradient in gradients.items():
            parameter, first, second = self.parameters[name], self.first[name], self.second[name]
            gradient = gradient + self.decays[name] * parameter
            first.lerp_(gradient, 0.1)
            second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            scale = second.sqrt().div_(shrink_2**0.5).add_(1e-8)
            parameter.sub_(self.rates[name] / shrink_1 * first / scale)


def _beside(values: Tensor, parameter: Tensor) -> Tensor:
    return values.to(parameter.dtype).view(-1, *(1,) * (parameter.dim() - 1))
