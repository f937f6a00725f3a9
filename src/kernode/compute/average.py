"""A moving average of parameters while they learn: steadier than any one epoch of them."""

from __future__ import annotations

import torch
from torch import Tensor

from kernode.compute.adam import Adam
from kernode.compute.stack import Parameters

_BEGIN = 10  # after t steps it keeps at most t / (t + 9) of itself: so it forgets where it began


class Average:
    """θ̄ ← β θ̄ + (1 − β) θ after every step (Polyak and Juditsky's averaging, with forgetting)."""

    def __init__(self, adam: Adam, share: float) -> None:
        self.adam, self.share = adam, share
        self.flat = adam.flat.detach().clone()
        self.parameters: Parameters = adam.views(self.flat)

    @torch.no_grad()
    def update(self, steps: int | Tensor) -> None:
        """Take in the parameters after the ``steps``-th step."""
        kept = torch.as_tensor(steps / (steps + _BEGIN - 1), dtype=self.flat.dtype, device=self.flat.device)
        self.flat.lerp_(self.adam.flat.detach(), 1 - kept.clamp_max(self.share))
