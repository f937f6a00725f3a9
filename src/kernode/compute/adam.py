"""Adam on a stack, each replica with its own learning rate and weight decay; and a moving average."""

from __future__ import annotations

import torch
from torch import Tensor

from kernode.compute.gpu import fused
from kernode.compute.stack import Parameters


class Adam:
    """Kingma & Ba 2014 with L2 decay in the gradient, as ``torch.optim.Adam``, which has one rate for all.

    ``learning_rate`` and ``weight_decay`` hold one number per replica. All parameters are moved into one
    buffer, of which :attr:`parameters` are views, so that a step takes a few operations and not a few per
    parameter.
    """

    def __init__(self, parameters: Parameters, learning_rate: Tensor, weight_decay: Tensor) -> None:
        like = next(iter(parameters.values()), torch.empty(0))
        self.flat = torch.empty(
            sum(p.numel() for p in parameters.values()), dtype=like.dtype, device=like.device
        )
        self.parameters = _views(self.flat, parameters)
        for name, value in parameters.items():
            self.parameters[name].copy_(value)
        self._gradient, self._first, self._second = (torch.zeros_like(self.flat) for _ in range(3))
        self._gradients = _views(self._gradient, parameters)
        moments = {"adam_first": self._first, "adam_second": self._second}
        self.state = {name: _views(moment, parameters) for name, moment in moments.items()}
        self._rate = self._per_element(learning_rate)
        self._decay = self._per_element(weight_decay)
        self._one_rate = float(self._rate) if self._rate.numel() == 1 else None

    def _per_element(self, values: Tensor) -> Tensor:
        """Return one number where all replicas have the same, else one for each element of the buffer."""
        if len(values) == 0 or bool((values == values[0]).all()):
            return values[:1].to(self.flat.dtype)
        each = torch.empty_like(self.flat)
        for view in _views(each, self.parameters).values():
            view.copy_(values.view(-1, *(1,) * (view.dim() - 1)))
        return each

    @torch.no_grad()
    def step(self, gradients: dict[str, Tensor | None], steps: int | Tensor) -> None:
        """Take the ``steps``-th step, in place; a parameter without a gradient stays."""
        for name, gradient in gradients.items():
            if gradient is not None:
                self._gradients[name].copy_(gradient)
        unused = [name for name, gradient in gradients.items() if gradient is None]
        before = {name: self.parameters[name].clone() for name in unused}
        self._move(steps)
        for name, value in before.items():
            self.parameters[name].copy_(value)

    def _move(self, steps: int | Tensor) -> None:
        if gpu := fused(self.flat):
            count = torch.as_tensor(steps, device=self.flat.device)
            gpu.adam(self.flat, self._gradient, self._first, self._second, self._rate, self._decay, count)
            return
        self._gradient.addcmul_(self._decay, self.flat)
        self._first.lerp_(self._gradient, 0.1)
        self._second.mul_(0.999).addcmul_(self._gradient, self._gradient, value=0.001)
        scale = self._second.sqrt().div_((1 - 0.999**steps) ** 0.5).add_(1e-8)
        if isinstance(steps, int) and self._one_rate is not None:
            self.flat.addcdiv_(self._first, scale, value=-self._one_rate / (1 - 0.9**steps))
        else:
            self.flat.sub_(scale.reciprocal_().mul_(self._first).mul_(self._rate / (1 - 0.9**steps)))


_BEGIN = 10  # after t steps the average keeps at most t / (t + 9) of itself, so that it forgets its start


class Average:
    """θ̄ ← β θ̄ + (1 − β) θ after every step (Polyak and Juditsky's averaging, with forgetting)."""

    def __init__(self, of: Adam, share: float) -> None:
        self.of, self.share = of, share
        self.flat = of.flat.detach().clone()
        self.parameters: Parameters = _views(self.flat, of.parameters)

    @torch.no_grad()
    def update(self, steps: int | Tensor) -> None:
        """Average in the parameters after the ``steps``-th step."""
        kept = torch.as_tensor(steps / (steps + _BEGIN - 1), dtype=self.flat.dtype, device=self.flat.device)
        self.flat.lerp_(self.of.flat.detach(), 1 - kept.clamp_max(self.share))


def _views(flat: Tensor, parameters: Parameters) -> Parameters:
    """Return views of a flat buffer in the shapes and memory orders of parameters."""
    views, start = {}, 0
    for name, p in parameters.items():
        order = torch.empty_like(p, device="meta").stride()  # as p has it, but without gaps
        views[name] = flat.as_strided(p.shape, order, start)
        start += p.numel()
    return views
