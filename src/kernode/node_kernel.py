"""The node kernel K(u, v) = k_base(g(u), g(v)), p.s.d. for every map g (Theorem 1), and Eq. 1 on top."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.errors import InputError
from kernode.graph import checked_nodes
from kernode.kernels import BaseKernel
from kernode.stack import Parameters, replica


@dataclass(frozen=True)
class NodeKernel:
    """K(u, v) = k_base(g(u), g(v)) on the nodes of one graph; the mean over the replicas of a stack.

    A mean of p.s.d. kernels is p.s.d. Nodes are indices; values come back as numpy arrays.

    >>> from kernode.kernels import Linear, Normalized
    >>> kernel = NodeKernel(Normalized(Linear()), torch.tensor([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    >>> kernel.gram([0, 1, 2]).round(2)
    array([[1.  , 0.  , 0.71],
           [0.  , 1.  , 0.71],
           [0.71, 0.71, 1.  ]], dtype=float32)
    >>> kernel.pairs([0], [2]).round(2)
    array([0.71], dtype=float32)
    """

    base: BaseKernel
    g: Tensor  # r × n × d, or n × d for one replica
    parameters: Parameters = field(default_factory=dict)

    @cached_property
    def embedded(self) -> Tensor:
        """What the base kernel compares: r × n × d'."""
        return self.base.embed(self.g if self.g.dim() == 3 else self.g[None])

    @torch.no_grad()
    def gram(self, nodes: Any = None, others: Any = None) -> np.ndarray:
        """K between two lists of nodes (all nodes if None, the same list if only one is given)."""
        rows = self._rows(nodes)
        columns = rows if others is None else self._rows(others)
        total = sum(
            self.base.gram(
                self.embedded[i : i + 1, rows], self.embedded[i : i + 1, columns], replica(self.parameters, i)
            )[0]
            for i in range(len(self.embedded))
        )
        return self._mean(total)

    def blocks(self, nodes: Any = None, others: Any = None, rows: int = 1024) -> Iterator[np.ndarray]:
        """The same Gram matrix some rows at a time, for lists too long to hold all of it."""
        nodes = self._rows(nodes)
        others = nodes if others is None else others
        for start in range(0, len(nodes), rows):
            yield self.gram(nodes[start : start + rows], others)

    @torch.no_grad()
    def pairs(self, nodes: Any, others: Any) -> np.ndarray:
        """K(u_i, v_i) for two lists of the same length."""
        rows, columns = self._rows(nodes), self._rows(others)
        if len(rows) != len(columns):
            raise InputError(f"pairs need two lists of one length. Got {len(rows)} and {len(columns)}.")
        x, y = self.embedded[:, rows], self.embedded[:, columns]
        return self._mean(self.base.pairs(x, y, self.parameters).sum(dim=0))

    def diagonal(self, nodes: Any = None) -> np.ndarray:
        """K(v, v)."""
        rows = self._rows(nodes)
        return self.pairs(rows, rows)

    def _mean(self, total: Any) -> np.ndarray:
        return (total / len(self.embedded)).cpu().numpy()

    def _rows(self, nodes: Any) -> Tensor:
        n = self.embedded.shape[1]
        rows = np.arange(n) if nodes is None else checked_nodes(nodes, n)
        return torch.from_numpy(rows.reshape(-1)).to(self.g.device)


def graph_kernel(one: NodeKernel, other: NodeKernel, block: int = 1024) -> float:
    """K_G(G_i, G_j) = Σ Σ k_base(f(v_i), f(v_j)) over all nodes of two graphs (Eq. 1).

    >>> from kernode.kernels import Linear
    >>> small = NodeKernel(Linear(), torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    >>> graph_kernel(small, small)
    5.0
    """
    if one.base != other.base or len(one.embedded) != len(other.embedded):
        raise InputError("a graph kernel needs the same base kernel and the same replicas on both graphs.")
    total = 0.0
    for i in range(len(one.embedded)):
        x, y = one.embedded[i : i + 1], other.embedded[i : i + 1]
        if one.base.dot_product:  # the sum of all products is the product of the sums
            total += float((x.sum(dim=1) * y.sum(dim=1)).sum())
            continue
        for start in range(0, x.shape[1], block):
            total += float(one.base.gram(x[:, start : start + block], y, replica(one.parameters, i)).sum())
    return total / len(one.embedded)
