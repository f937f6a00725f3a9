"""Ranks of torch.distributed: collectives, and the exchange of matrix rows."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from kernode.errors import KernodeError

T = TypeVar("T")
# Between two collectives of a training there are seconds at most; reading shares of a store may differ more.
_PATIENCE = timedelta(minutes=30)


class LostRankError(KernodeError):
    """Another process of the job has ended, and this one cannot go on without it."""

    code = "lost-rank"


class Ranks:
    """Process ``rank`` of ``size``. Every method must be called by all of them."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def alone(self) -> bool:
        """True where this is the only process."""
        return self.size == 1

    @property
    def first(self) -> bool:
        """True on rank 0, which prints and writes files."""
        return self.rank == 0

    def add(self, values: Tensor) -> Tensor:
        """Sum over all ranks, in place."""
        if not self.alone:
            with _lost_ranks():
                torch.distributed.all_reduce(values)
        return values

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sum an array over all ranks; returns a new one."""
        return self.add(torch.from_numpy(np.array(values))).numpy()

    def broadcast(self, values: Tensor, source: int = 0) -> Tensor:
        """Broadcast a tensor from one rank, in place."""
        if not self.alone:
            with _lost_ranks():
                torch.distributed.broadcast(values, source)
        return values

    def broadcast_object(self, value: T, source: int = 0) -> T:
        """Broadcast any object that can be pickled."""
        if self.alone:
            return value
        values = [value if self.rank == source else None]
        with _lost_ranks():
            torch.distributed.broadcast_object_list(values, source)
        found: Any = values[0]
        return found

    def gather(self, value: T) -> list[T]:
        """Gather an object of every rank, in their order."""
        if self.alone:
            return [value]
        values: list[Any] = [None] * self.size
        with _lost_ranks():
            torch.distributed.all_gather_object(values, value)
        return values

    def exchanged(self, rows: Tensor, to: list[int], of: list[int]) -> Tensor:
        """Send the first ``to[0]`` rows to rank 0, the next to rank 1 …; ``of[k]`` come from rank k."""
        if self.alone:
            return rows
        out = rows.new_empty(sum(of), rows.shape[1])
        with _lost_ranks():
            torch.distributed.all_to_all_single(out, rows.contiguous(), of, to)
        return out


ALONE = Ranks()


def launched() -> int:
    """Return the number of processes that torchrun started; else 1."""
    return int(os.environ["WORLD_SIZE"]) if "RANK" in os.environ and "WORLD_SIZE" in os.environ else 1


def join() -> Ranks:
    """Join the process group, until this process ends."""
    global _joined
    if launched() == 1:
        return ALONE
    if _joined is None:
        with _lost_ranks():  # gloo for what is on a CPU, nccl for what is on a GPU
            distributed: Any = torch.distributed
            store, rank, size = next(distributed.rendezvous("env://", timeout=_PATIENCE))
            # Restarted processes must not find the addresses of those that are gone.
            store = distributed.PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)
            distributed.init_process_group(store=store, rank=rank, world_size=size, timeout=_PATIENCE)
        _joined = Ranks(rank, size)
        atexit.register(leave)
    return _joined


def leave() -> None:
    """Leave the group."""
    global _joined
    if _joined is not None:
        _joined = None
        torch.distributed.destroy_process_group()


_joined: Ranks | None = None


def has_joined() -> bool:
    """Return whether this process is in a group."""
    return _joined is not None


@contextmanager
def _lost_ranks() -> Iterator[None]:
    """Turn torch's errors about a lost rank into :class:`LostRankError`."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if "allocate" in str(error):
            raise MemoryError(str(error)) from error
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        sentence = f"another process of this job has ended, and this one cannot go on without it ({reason})."
        raise LostRankError(
            f"{sentence} Start the job again; with the same checkpoint it resumes."
        ) from error


class Exchange:
    """Rows of x that this rank needs, of which rank k holds rows ``bounds[k]`` … ``bounds[k + 1]``.

    Planned once. Called with a rank's own rows (n_k × w), it returns the wanted rows of all (all-to-all).
    """

    def __init__(self, ranks: Ranks, bounds: np.ndarray, wanted: np.ndarray, device: torch.device) -> None:
        self.ranks = ranks
        self.wanted = np.unique(wanted)
        self.start, self.stop = int(bounds[ranks.rank]), int(bounds[ranks.rank + 1])
        of = np.diff(np.searchsorted(self.wanted, bounds)).tolist()  # how many come from each rank
        self.of, self.to = of, [one[ranks.rank] for one in ranks.gather(of)]  # and how many go to each
        first = sum(of[: ranks.rank])
        own = np.arange(first, first + of[ranks.rank])  # among the returned rows
        self.own_at = torch.from_numpy(own).to(device)
        self.own = torch.from_numpy(self.wanted[own] - self.start).to(device)
        wanted_rows = torch.from_numpy(self.wanted)[:, None].to(device)  # each rank learns its wanted rows
        self.picked = ranks.exchanged(wanted_rows, of, self.to)[:, 0] - self.start

    def at(self, nodes: np.ndarray) -> np.ndarray:
        """Positions of wanted nodes among the returned rows."""
        return np.searchsorted(self.wanted, nodes)

    @property
    def rows(self) -> int:
        """Number of rows that this rank holds."""
        return self.stop - self.start

    @property
    def given(self) -> int:
        """Number of rows returned."""
        return len(self.wanted)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the wanted rows, without a gradient: n_k × w → m × w."""
        return self.ranks.exchanged(x.index_select(0, self.picked), self.to, self.of)


def rows_for_all(exchange: Exchange, g: Tensor) -> Tensor:
    """Return the rows of g (r × n_k × d) that all ranks need for the same computation: r × m × d.

    All ranks compute the same with them, so each already knows the whole gradient of its own rows.
    """
    out: Tensor = _ForAll.apply(exchange, g)
    return out


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
