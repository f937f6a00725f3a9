"""Rows of a matrix that a rank needs from others: planned once, exchanged in every step."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.ranks import Ranks


class Exchange:
    """Wanted rows of x, of which rank k holds rows ``bounds[k]`` … ``bounds[k + 1]``.

    Called with a rank's own rows (n_k × w) it gives the wanted ones of all. Either each rank sends each other
    what that one wants (all-to-all), or all rows to all (all-gather, padded to the largest share), whichever
    moves fewer bytes: what is received, and for the former what must be picked out before it is sent.
    """

    def __init__(
        self, ranks: Ranks, bounds: np.ndarray, wanted: np.ndarray, device: torch.device, what: str
    ) -> None:
        self.ranks, self.bounds, self.what = ranks, np.asarray(bounds), what
        self.wanted = np.unique(wanted)
        self.start, self.stop = int(bounds[ranks.rank]), int(bounds[ranks.rank + 1])
        self.most = int(np.diff(bounds).max())
        of = np.diff(np.searchsorted(self.wanted, self.bounds)).tolist()  # how many come from each rank
        self.of, self.to = of, [one[ranks.rank] for one in ranks.of_all(of)]  # and how many go to each
        mine = slice(sum(of[: ranks.rank]), sum(of[: ranks.rank + 1]))
        own = self.wanted[mine]
        foreign, picked = len(self.wanted) - len(own), sum(self.to) - len(own)
        to_some, to_all = ranks.total(np.array([foreign + picked, (ranks.size - 1) * self.most]))
        self.all = bool(to_all <= to_some)
        self.own = torch.from_numpy(own - self.start).to(device)
        self.own_at = torch.from_numpy(self.at(own)).to(device)  # among what it gives
        if not self.all:  # everybody is told which of its rows are wanted
            asked = torch.from_numpy(self.wanted)[:, None].to(device)
            self.picked = ranks.exchanged(asked, of, self.to, "beginning")[:, 0] - self.start

    def at(self, nodes: np.ndarray) -> np.ndarray:
        """Where wanted rows stand among those that are given."""
        if self.ranks.alone:
            return np.asarray(nodes)
        if not self.all:
            return np.searchsorted(self.wanted, nodes)
        owner = np.searchsorted(self.bounds, nodes, side="right") - 1
        return owner * self.most + nodes - self.bounds[owner]

    @property
    def rows(self) -> int:
        """How many rows a rank holds itself."""
        return self.stop - self.start

    @property
    def given(self) -> int:
        """How many rows are given."""
        if self.ranks.alone:
            return self.stop
        return self.ranks.size * self.most if self.all else len(self.wanted)

    @property
    def received(self) -> int:
        """How many of them come from other ranks."""
        return (self.ranks.size - 1) * self.most if self.all else len(self.wanted) - self.of[self.ranks.rank]

    def __call__(self, x: Tensor) -> Tensor:
        """Given rows, without a gradient: n_k × w → m × w."""
        if self.ranks.alone:
            return x
        if self.all:
            padded = x if len(x) == self.most else torch.cat([x, x.new_zeros(self.most - len(x), x.shape[1])])
            return self.ranks.gathered(padded, self.what)
        return self.ranks.exchanged(x.index_select(0, self.picked), self.to, self.of, self.what)


def rows_for_all(exchange: Exchange, g: Tensor) -> Tensor:
    """Rows that all ranks want alike, of g (r × n_k × d), for something that all of them compute: r × m × d.

    Since all compute the same of them, each knows the whole gradient of its own rows already.
    """
    return g if exchange.ranks.alone else _ForAll.apply(exchange, g)


class _ForAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, exchange: Exchange, g: Tensor) -> Tensor:
        r, n, d = g.shape
        ctx.exchange, ctx.rows = exchange, n
        return exchange(g.transpose(0, 1).reshape(n, r * d)).view(-1, r, d).transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor]:
        r, m, d = upstream[0].shape
        own = upstream[0].transpose(0, 1).reshape(m, r * d).index_select(0, ctx.exchange.own_at)
        gradient = own.new_zeros(ctx.rows, r * d).index_copy_(0, ctx.exchange.own, own)
        return None, gradient.view(ctx.rows, r, d).transpose(0, 1)
