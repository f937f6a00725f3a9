"""Linear layers of a stack of replicas: Xavier weights, products with a shared x or each replica's own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernode.compute.draws import WEIGHTS, Draws
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix, product


def initial_weight(
    rows: int, columns: int, layer: int, draws: Draws, place: Place, gain: float = 2**0.5
) -> Tensor:
    """Draw Xavier-uniform weights: r × rows × columns.

    The paper does not state the start; a gain of √2 is its released code's.
    """
    return initial_weights(rows, columns, 1, layer, draws, place, gain)


def initial_weights(
    rows: int, columns: int, count: int, layer: int, draws: Draws, place: Place, gain: float = 2**0.5
) -> Tensor:
    """So many such weights side by side: r × rows × count·columns.

    Memory runs rows × r × columns, so that a sparse product sees the whole stack as one matrix.
    """
    bound = gain * (6 / (rows + columns)) ** 0.5
    uniform = draws.uniform(WEIGHTS + layer, rows * count * columns)  # (rows·count·columns) × r
    weight = (uniform * 2 - 1) * bound
    weight = weight.view(rows, count * columns, -1).transpose(1, 2).contiguous()
    return weight.to(place.dtype).to(place.device).transpose(0, 1)


def initial_linear(rows: int, columns: int, stream: int, draws: Draws, place: Place) -> tuple[Tensor, Tensor]:
    """Draw weights (r × rows × columns) and biases (r × columns) as ``torch.nn.Linear`` starts: ± 1/√rows."""
    xavier = (6 / (rows + columns)) ** 0.5
    weight = initial_weight(rows, columns, stream, draws, place, gain=rows**-0.5 / xavier)
    bias = (draws.uniform(WEIGHTS + stream + 1, columns).T * 2 - 1) * rows**-0.5
    return weight, bias.to(place.dtype).to(place.device).contiguous()


def multiply_shared(x: Tensor | SparseMatrix, weight: Tensor) -> Tensor:
    """Every replica's weights on one shared x: (n × f), (r × f × d) → n × r × d."""
    if isinstance(x, SparseMatrix):
        return _SharedProduct.apply(x, weight)
    r, f, d = weight.shape
    return (x @ weight.transpose(0, 1).reshape(f, r * d)).view(-1, r, d)


class _SharedProduct(torch.autograd.Function):
    """A sparse x, with the reshaping inside: autograd takes its time for each view."""

    @staticmethod
    def forward(ctx: Any, x: SparseMatrix, weight: Tensor) -> Tensor:
        r, f, d = weight.shape
        ctx.x, ctx.shape = x, (f, r, d)
        return product(x.matrix, weight.transpose(0, 1).reshape(f, r * d)).view(-1, r, d)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor]:
        n, r, d = upstream[0].shape
        gradient = product(ctx.x.transpose, upstream[0].reshape(n, r * d))
        return None, gradient.view(ctx.shape).transpose(0, 1)


def multiply_stacked(x: Tensor, weight: Tensor) -> Tensor:
    """Every replica's weights on its own x: (n × r × f), (r × f × d) → n × r × d."""
    if x.shape[1] == 1:
        return _OwnProduct.apply(x, weight)
    return torch.bmm(x.transpose(0, 1), weight).transpose(0, 1)


class _OwnProduct(torch.autograd.Function):
    """One replica's product, with the reshaping inside."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return (x[:, 0] @ weight[0])[:, None]

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        gradient = upstream[0][:, 0]
        to_x = (gradient @ weight[0].T)[:, None] if ctx.needs_input_grad[0] else None
        return to_x, (x[:, 0].T @ gradient)[None] if ctx.needs_input_grad[1] else None
