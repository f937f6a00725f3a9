"""K̄: any kernel on directions alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernode.compute.gpu import fused
from kernode.compute.stack import stacked_rows
from kernode.config import require_part
from kernode.kernels.base import BaseKernel


def _of_kernel(name: str) -> Any:
    return property(lambda normal: getattr(normal.kernel, name), doc="As the kernel inside has it.")


@dataclass(frozen=True)
class Normalized(BaseKernel):
    """K̄: the same kernel after every g(v) is divided by its norm, so |K̄| ≤ 1 for Linear and RBF.

    A vector of zeros stays zero: its similarity to every node, itself included, is that of zeros.
    """

    kernel: BaseKernel

    def __post_init__(self) -> None:
        require_part("kernel", self.kernel, BaseKernel, "kernode.kernels.Linear()")

    # as the kernel inside; pairs and gram take embedded vectors
    dot_product = _of_kernel("dot_product")
    grows = _of_kernel("grows")
    embedding_copies = _of_kernel("embedding_copies")
    initial = _of_kernel("initial")
    pairs = _of_kernel("pairs")
    gram = _of_kernel("gram")

    def embed(self, x: Tensor) -> Tensor:
        """x / ‖x‖."""
        return self.kernel.embed(_Directions.apply(x))

    def pull_back(self, x: Tensor, embedded: Tensor) -> Tensor:
        """As the kernel inside, over ‖x‖, which is held."""
        inverse = x.norm(dim=-1, keepdim=True).reciprocal()
        inverse = inverse.masked_fill(inverse.isinf(), 0)
        return inverse * self.kernel.pull_back(x * inverse, embedded)


class _Directions(torch.autograd.Function):
    """x / ‖x‖ along the last axis; zeros stay zeros, and have no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        flat = stacked_rows(x)
        if gpu := fused(x):
            directions, inverse = gpu.directions(flat)
        else:
            inverse = _row_products(flat, flat).rsqrt_()[:, None]
            inverse.masked_fill_(inverse.isinf(), 0)
            directions = flat * inverse
        ctx.save_for_backward(directions, inverse)
        return _restacked(directions, x)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Tensor:
        directions, inverse = ctx.saved_tensors
        flat = stacked_rows(upstream[0])
        if gpu := fused(flat):
            return _restacked(gpu.directions_gradient(flat, directions, inverse), upstream[0])
        along = _row_products(flat, directions)[:, None]
        return _restacked(torch.addcmul(flat, directions, along, value=-1).mul_(inverse), upstream[0])


def _row_products(x: Tensor, y: Tensor) -> Tensor:
    """⟨x_i, y_i⟩ of rows: (m × d), (m × d) → m."""
    if x.shape[1] > 64:
        return torch.linalg.vecdot(x, y)
    return (x * y) @ x.new_ones(x.shape[1])  # on short rows twice to three times as fast


def _restacked(rows: Tensor, like: Tensor) -> Tensor:
    return rows.view(like.shape[1], like.shape[0], like.shape[2]).transpose(0, 1)


def normalized(kernel: BaseKernel) -> Normalized:
    """K̄ of a base kernel; a normalised one is its own."""
    return kernel if isinstance(kernel, Normalized) else Normalized(kernel)
