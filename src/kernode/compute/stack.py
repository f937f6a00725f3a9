"""A stack of r replicas: rows by node, parameters by name."""

from __future__ import annotations

import torch
from torch import Tensor

Parameters = dict[str, Tensor]


def take(x: Tensor, nodes: Tensor) -> Tensor:
    """Return rows of x (r × n × d) at nodes (q × m; q = 1 where all replicas take the same): r × m × d."""
    r, n, d = x.shape
    shape, rows = ((n, r * d), nodes[0]) if len(nodes) == 1 else ((n * r, d), flat_rows(nodes, r))
    return x.transpose(0, 1).reshape(shape).index_select(0, rows).view(-1, r, d).transpose(0, 1)


def stacked_rows(x: Tensor) -> Tensor:
    """Return r × m × d as the m·r rows that it has in memory."""
    return x.transpose(0, 1).reshape(-1, x.shape[-1])


def flat_rows(nodes: Tensor, replicas: int) -> Tensor:
    """Return the rows of each replica's nodes (r × m) among the n·r rows of a stack in memory: m·r."""
    return (nodes.T * replicas + torch.arange(replicas, device=nodes.device)).reshape(-1)


def under_prefix(parameters: Parameters, prefix: str) -> Parameters:
    """Return the parameters whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): p for name, p in parameters.items() if name.startswith(prefix)}


def replica(parameters: Parameters, i: int) -> Parameters:
    """Return one replica's parameters, as a stack of one."""
    return {name: value[i : i + 1] for name, value in parameters.items()}
