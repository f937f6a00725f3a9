"""X W with an X that every replica masks for itself: dropout on the input, sparse where X is sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernode.maps.base import multiply_shared
from kernode.random import Dropout
from kernode.sparse import SparseMatrix, product, with_values


@dataclass(frozen=True)
class WordFeatures:
    """A sparse X whose stored values each replica masks for itself."""

    x: SparseMatrix  # n × f
    order: Tensor  # where each stored value of Xᵀ stands in X

    @classmethod
    def of(cls, x: SparseMatrix) -> WordFeatures:
        """With the order of Xᵀ, which is by column and within a column by row."""
        return cls(x, torch.argsort(x.matrix.col_indices(), stable=True))

    @property
    def shape(self) -> torch.Size:
        """Rows and columns."""
        return self.x.shape


def kept(dropout: Dropout, layer: int, count: int) -> Tensor:
    """1 or 0 for so many elements of every replica: r × count."""
    return dropout.keep(layer, range(1), count)[0].view(torch.uint8)  # booleans convert more slowly


def scale_of(dropout: Dropout, like: Tensor) -> Tensor:
    """What makes up for the elements that are not kept: r × 1 × 1."""
    return dropout.scale.to(like.dtype)[:, None, None]


def masked_product(x: Tensor | WordFeatures, weight: Tensor, dropout: Dropout | None) -> Tensor:
    """X W with X masked for each replica: r × n × d."""
    if dropout is None:
        shared = x.x if isinstance(x, WordFeatures) else x
        return multiply_shared(shared, weight).transpose(0, 1)
    function = _MaskedWords if isinstance(x, WordFeatures) else _MaskedDense
    out: Tensor = function.apply(x, weight, dropout)
    return out


class _MaskedWords(torch.autograd.Function):
    """A sparse X: only stored values need a mask."""

    @staticmethod
    def forward(ctx: Any, words: WordFeatures, weight: Tensor, dropout: Dropout) -> Tensor:
        values = words.x.matrix.values()
        masked = values * kept(dropout, 0, len(values))  # r × stored values
        masked.mul_(scale_of(dropout, values)[:, 0])
        ctx.words = words
        ctx.save_for_backward(masked)
        pairs = zip(masked, weight.contiguous(), strict=True)
        return torch.stack([product(with_values(words.x.matrix, own), w) for own, w in pairs])

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor, None]:
        (masked,) = ctx.saved_tensors
        transposed = masked.index_select(1, ctx.words.order)
        pairs = zip(transposed, upstream[0].contiguous(), strict=True)
        gradients = [product(with_values(ctx.words.x.transpose, own), g) for own, g in pairs]
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
