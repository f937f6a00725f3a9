"""Dot products of many pairs of rows, with their gradient, and without a copy of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.sparse import product, quiet_csr
from kernode.compute.stack import flat_rows, stacked_rows, take


def pair_products(x: Tensor, pairs: Tensor) -> Tensor:
    """⟨x_u, x_v⟩ for pairs (u, v): (r × n × d), (q × t × 2; q = 1 where all replicas have the same) → r × t.

    On a CPU the pairs are the entries of a sparse matrix S, in both directions: the dot products are
    computed where S has entries, and the gradient of x is S x with the pairs' gradients as values. Rows
    that are taken, multiplied and summed would be written and read several times: t × d numbers each.
    """
    replicas, nodes, _ = x.shape
    fit = 0 < 2 * pairs.shape[1] <= replicas * nodes**2  # torch has no matrix with more entries than places
    if x.device.type != "cpu" or not fit:
        return (take(x, pairs[..., 0]) * take(x, pairs[..., 1])).sum(-1)
    return _PairProducts.apply(x, pairs)


@dataclass(frozen=True)
class _BothWays:
    """Pairs of m rows as the pattern of a sparse matrix, m × m: entry i and entry t + i are pair i."""

    starts: Tensor
    columns: Tensor
    order: Tensor  # of the 2t entries, by row

    @classmethod
    def of(cls, u: Tensor, v: Tensor, rows: int) -> _BothWays:
        row, column = torch.cat([u, v]), torch.cat([v, u])
        order = torch.from_numpy(_stable_order(row.numpy()))
        index = torch.int32 if max(rows, len(row)) < 2**31 else torch.int64  # as in to_torch
        starts = torch.zeros(rows + 1, dtype=index)
        torch.cumsum(torch.bincount(row, minlength=rows), 0, out=starts[1:], dtype=index)
        return cls(starts, column[order].to(index), order)

    def with_values(self, values: Tensor) -> Tensor:
        """The matrix whose entries are in order of row."""
        m = len(self.starts) - 1
        return quiet_csr(self.starts, self.columns, values, (m, m))


def _stable_order(rows: np.ndarray) -> np.ndarray:
    """argsort of integers ≥ 0, by 16 bits at a time, which numpy sorts several times faster than more."""
    order = np.argsort(rows.astype(np.uint16), kind="stable")
    for shift in range(16, int(rows.max(initial=0)).bit_length(), 16):
        order = order[np.argsort((rows[order] >> shift).astype(np.uint16), kind="stable")]
    return order


class _PairProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, pairs: Tensor) -> Tensor:
        r = len(x)
        flat = stacked_rows(x)  # n·r × d
        u, v = (flat_rows(pairs[..., end].expand(r, -1), r) for end in (0, 1))
        pattern = _BothWays.of(u, v, len(flat))
        zeros = pattern.with_values(flat.new_zeros(2 * len(u)))
        by_row = torch.sparse.sampled_addmm(zeros, flat, flat.T, beta=0).values()
        ctx.save_for_backward(flat)
        ctx.pattern, ctx.shape = pattern, x.shape
        both = torch.empty_like(by_row).index_copy_(0, pattern.order, by_row)
        return both[: len(u)].view(-1, r).T.contiguous()

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor, None]:
        (flat,) = ctx.saved_tensors
        r, n, d = ctx.shape
        values = upstream[0].T.reshape(-1)
        both = torch.cat([values, values]).index_select(0, ctx.pattern.order)
        return product(ctx.pattern.with_values(both), flat).view(n, r, d).transpose(0, 1), None
