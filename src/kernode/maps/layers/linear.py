"""Linear layers of a stack of replicas: first weights, products with X, dropout on X."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernode.compute.draws import WEIGHTS, Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix, product, with_values
from kernode.maps.layers.features import Features


def initial_weight(
    rows: int, columns: int, layer: int, draws: Draws, place: Place, *, gain: float = 2**0.5, count: int = 1
) -> Tensor:
    """Draw Xavier-uniform weights, ``count`` of them side by side: r × rows × count·columns.

    The paper does not state the start; a gain of √2 is its released code's. Memory runs rows × r × columns,
    so that a sparse product sees the whole stack as one matrix.
    """
    bound = gain * (6 / (rows + columns)) ** 0.5
    uniform = draws.uniform(WEIGHTS + layer, rows * count * columns)  # (rows·count·columns) × r
    weight = (uniform * 2 - 1) * bound
    weight = weight.view(rows, count * columns, -1).transpose(1, 2).contiguous()
    return weight.to(place.dtype).to(place.device).transpose(0, 1)


def initial_bias(width: int, draws: Draws, place: Place) -> Tensor:
    """Return zeros: r × width."""
    return torch.zeros(len(draws.seeds), width, dtype=place.dtype, device=place.device)


def initial_linear(rows: int, columns: int, stream: int, draws: Draws, place: Place) -> tuple[Tensor, Tensor]:
    """Draw weights (r × rows × columns) and biases (r × columns) as ``torch.nn.Linear`` starts: ± 1/√rows."""
    xavier = (6 / (rows + columns)) ** 0.5
    weight = initial_weight(rows, columns, stream, draws, place, gain=rows**-0.5 / xavier)
    bias = (draws.uniform(WEIGHTS + stream + 1, columns).T * 2 - 1) * rows**-0.5
    return weight, bias.to(place.dtype).to(place.device).contiguous()


def multiply_shared(x: Features, weight: Tensor) -> Tensor:
    """Every replica's weights on one shared x: (n × f), (r × f × d) → n × r × d."""
    r, f, d = weight.shape
    return (x @ weight.transpose(0, 1).reshape(f, r * d)).view(-1, r, d)


def multiply_stacked(x: Tensor, weight: Tensor) -> Tensor:
    """Every replica's weights on its own x: (n × r × f), (r × f × d) → n × r × d."""
    if len(weight) == 1:  # faster than a batch of one
        return (x.squeeze(1) @ weight.squeeze(0)).unsqueeze(1)
    return torch.bmm(x.transpose(0, 1), weight).transpose(0, 1)


def kept(dropout: Dropout, layer: int, count: int) -> Tensor:
    """1 or 0 for so many elements of every replica: r × count."""
    return dropout.keep_entries(layer, count).view(torch.uint8)  # booleans convert more slowly


def scale_of(dropout: Dropout, like: Tensor) -> Tensor:
    """What makes up for the elements that are not kept: r × 1 × 1."""
    return dropout.scale.to(like.dtype)[:, None, None]


def masked_product(x: Features, weight: Tensor, dropout: Dropout | None) -> Tensor:
    """X W with X masked for each replica: r × n × d."""
    if dropout is None:
        return multiply_shared(x, weight).transpose(0, 1)
    function = _MaskedSparse if isinstance(x, SparseMatrix) else _MaskedDense
    out: Tensor = function.apply(x, weight, dropout)
    return out


def input_products(x: Features, weights: list[Tensor], dropout: Dropout | None) -> list[Tensor]:
    """X with each of several weights (r × f × d): n × r × d; dropout's mask on X is the same for all."""
    if dropout is None or dropout.of_input is None:
        return [multiply_shared(x, weight) for weight in weights]
    if len(weights) == 1:
        return [masked_product(x, weights[0], dropout.of_input).transpose(0, 1)]
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
