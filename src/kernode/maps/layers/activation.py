"""ReLU and dropout in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernode.compute.draws import DROPOUT, Dropout
from kernode.compute.gpu import fused


def activate(x: Tensor, layer: int, dropout: Dropout | None) -> Tensor:
    """ReLU, then dropout: n × r × d."""
    return torch.relu(x) if dropout is None else _MaskedReLU.apply(x, dropout, layer)


class _MaskedReLU(torch.autograd.Function):
    """relu(x) · mask. What came out above zero is all that the gradient needs: no mask is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dropout: Dropout, layer: int) -> Tensor:
        scale = dropout.scale.to(x.dtype)[:, None]
        if (gpu := fused(x)) and not dropout.first_row:
            draws = dropout.draws
            out = gpu.masked_relu(
                x, draws.seeds, draws.epoch_on_device, DROPOUT + layer, dropout.threshold, scale
            )
            ctx.save_for_backward(out, scale)
            return out
        out = torch.empty_like(x)
        for rows in _cached_rows(x):  # the random words of all rows would be larger than x itself
            part = out[rows.start : rows.stop]
            torch.clamp_min(x[rows.start : rows.stop], 0, out=part)
            keep = dropout.keep(layer, rows, x.shape[-1]).view(torch.uint8)  # booleans convert more slowly
            part.mul_(keep).mul_(scale)
        ctx.save_for_backward(out, scale)
        return out

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor, None, None]:
        out, scale = ctx.saved_tensors
        if gpu := fused(out):
            return gpu.masked_relu_gradient(upstream[0], out, scale), None, None
        return torch.ops.aten.threshold_backward(upstream[0], out, 0).mul_(scale), None, None


def _cached_rows(x: Tensor) -> Iterator[range]:
    n, r, d = x.shape
    step = n if x.is_cuda else max(1, 2**19 // max(1, r * d))
    for start in range(0, n, max(1, step)):
        yield range(start, min(start + step, n))
