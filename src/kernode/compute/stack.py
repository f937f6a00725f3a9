"""A stack of r replicas: rows by node, parameters by name."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Parameters = dict[str, Tensor]


def take(x: Tensor, nodes: Tensor) -> Tensor:
    """Rows of x (r × n × d) at nodes (q × m; q = 1 where all replicas take the same): r × m × d."""
    return _Take.apply(x, nodes)


def stacked_rows(x: Tensor) -> Tensor:
    """r × m × d as the m·r rows that it has in memory."""
    return x.transpose(0, 1).reshape(-1, x.shape[-1])


def flat_rows(nodes: Tensor, replicas: int) -> Tensor:
    """Where each replica's nodes (r × m) stand among the n·r rows of a stack in memory: m·r."""
    return (nodes.T * replicas + torch.arange(replicas, device=nodes.device)).reshape(-1)


class _Take(torch.autograd.Function):
    """index_select on the order that maps leave in memory; its own gradient is slower."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, nodes: Tensor) -> Tensor:
        r, n, d = x.shape
        shape, rows = ((n, r * d), nodes[0]) if len(nodes) == 1 else ((n * r, d), flat_rows(nodes, r))
        ctx.save_for_backward(rows)
        ctx.shapes = shape, (n, r, d)
        taken = x.transpose(0, 1).reshape(shape).index_select(0, rows)
        return taken.view(-1, r, d).transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        shape, stack = ctx.shapes
        gradient = upstream[0].transpose(0, 1).reshape(len(rows), shape[1])
        whole = gradient.new_zeros(shape).index_add_(0, rows, gradient)
        return whole.view(stack).transpose(0, 1), None


def part(parameters: Parameters, prefix: str) -> Parameters:
    """Parameters whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): p for name, p in parameters.items() if name.startswith(prefix)}


def replica(parameters: Parameters, i: int) -> Parameters:
    """One replica's parameters, as a stack of one."""
    return {name: value[i : i + 1] for name, value in parameters.items()}
