"""A stack of r replicas: rows by node, parameters by name."""

from __future__ import annotations

import torch
from torch import Tensor

Parameters = dict[str, Tensor]


def take(x: Tensor, nodes: Tensor) -> Tensor:
    """Rows of x (r × n × d) at nodes (q × m; q = 1 where all replicas take the same): r × m × d."""
    r, n, d = x.shape
    if r == 1:
        return x[0][nodes]
    by_node = x.transpose(0, 1)  # the order in which maps leave it in memory
    if len(nodes) == 1:
        return by_node.index_select(0, nodes[0]).transpose(0, 1)
    return by_node.reshape(n * r, d).index_select(0, flat_rows(nodes, r)).view(-1, r, d).transpose(0, 1)


def flat_rows(nodes: Tensor, replicas: int) -> Tensor:
    """Where each replica's nodes (r × m) stand among the n·r rows of a stack in memory: m·r."""
    return (nodes.T * replicas + torch.arange(replicas, device=nodes.device)).reshape(-1)


def part(parameters: Parameters, prefix: str) -> Parameters:
    """Parameters whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): p for name, p in parameters.items() if name.startswith(prefix)}


def replica(parameters: Parameters, i: int) -> Parameters:
    """One replica's parameters, as a stack of one."""
    return {name: value[i : i + 1] for name, value in parameters.items()}
