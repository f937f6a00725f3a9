"""X W with an X that every replica masks for itself: dropout on the input, sparse where X is sparse."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernode.compute.draws import Dropout
from kernode.compute.sparse import SparseMatrix, product, with_values
from kernode.maps.layers.linear import multiply_shared


def kept(dropout: Dropout, layer: int, count: int) -> Tensor:
    """1 or 0 for so many elements of every replica: r × count."""
    return dropout.keep_entries(layer, count).view(torch.uint8)  # booleans convert more slowly


def scale_of(dropout: Dropout, like: Tensor) -> Tensor:
    """What makes up for the elements that are not kept: r × 1 × 1."""
    return dropout.scale.to(like.dtype)[:, None, None]


def masked_product(x: Tensor | SparseMatrix, weight: Tensor, dropout: Dropout | None) -> Tensor:
    """X W with X masked for each replica: r × n × d."""
    if dropout is None:
        return multiply_shared(x, weight).transpose(0, 1)
    function = _MaskedSparse if isinstance(x, SparseMatrix) else _MaskedDense
    out: Tensor = function.apply(x, weight, dropout)
    return out


def input_products(x: Tensor | SparseMatrix, weights: list[Tensor], dropout: Dropout | None) -> list[Tensor]:
    """X with each of several weights (r × f × d): n × r × d; dropout's mask on X is the same for all."""
    if dropout is None or dropout.of_input is None:
        return [multiply_shared(x, weight) for weight in weights]
    together = masked_product(x, torch.cat(weights, dim=2), dropout.of_input).transpose(0, 1)
    return list(together.split([weight.shape[2] for weight in weights], dim=2))


class _MaskedSparse(torch.autograd.Function):
    """A sparse X: only stored values need a mask."""

    @staticmethod
    def forward(ctx: Any, x: SparseMatrix, weight: Tensor, dropout: Dropout) -> Tensor:
        values = x.matrix.values()
        masked = values * kept(dropout, 0, len(values))  # r × stored values
        masked.mul_(scale_of(dropout, values)[:, 0])
        ctx.x = x
        ctx.save_for_backward(masked)
        pairs = zip(masked, weight.contiguous(), strict=True)
        return torch.stack([product(with_values(x.matrix, own), w) for own, w in pairs])

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor, None]:
        (masked,) = ctx.saved_tensors
        transposed = masked.index_select(1, ctx.x.order)
        pairs = zip(transposed, upstream[0].contiguous(), strict=True)
        gradients = [product(with_values(ctx.x.transpose, own), g) for own, g in pairs]
        return None, torch.stack(gradients), None


class _MaskedDense(torch.autograd.Function):
    """A dense X: masks are kept, in a byte each, but only one replica's masked X is there at a time."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, dropout: Dropout) -> Tensor:
        keep = kept(dropout, 0, x.numel()).view(-1, *x.shape)  # r × n × f
        scale = scale_of(dropout, x)
        ctx.save_for_backward(x, keep, scale)
        return torch.stack([(x * own) @ w for own, w in zip(keep, weight, strict=True)]).mul_(scale)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor, None]:
        x, keep, scale = ctx.saved_tensors
        pairs = zip(keep, upstream[0], strict=True)
        return None, torch.stack([(x * own).T @ gradient for own, gradient in pairs]).mul_(scale), None
