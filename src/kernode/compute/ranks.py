"""Processes that compute as one, over torch.distributed: what they tell each other, and how much it is."""

from __future__ import annotations

import atexit
import os
import re
from collections import Counter
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


class Ranks:
    """This process, ``rank`` of ``size`` that began together. Every method must be called by all of them.

    ``received``: bytes that came from other ranks, by what they were for.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self.received: Counter[str] = Counter()

    @property
    def alone(self) -> bool:
        """Whether there is nobody to tell anything."""
        return self.size == 1

    @property
    def first(self) -> bool:
        """Whether this is the one that speaks and writes."""
        return self.rank == 0

    def add(self, values: Tensor, what: str) -> Tensor:
        """The sum over all ranks, in place."""
        if not self.alone:
            with _telling():
                torch.distributed.all_reduce(values)
            # A ring passes each number on twice, but for the share that a rank begins and ends with.
            self.received[what] += 2 * (self.size - 1) * values.nbytes // self.size
        return values

    def total(self, values: np.ndarray, what: str = "beginning") -> np.ndarray:
        """The same of an array, as a new one."""
        return self.add(torch.from_numpy(np.array(values)), what).numpy()

    def told(self, values: Tensor, what: str, first: int = 0) -> Tensor:
        """What one rank has, for all, in place."""
        if not self.alone:
            with _telling():
                torch.distributed.broadcast(values, first)
            self.received[what] += values.nbytes if self.rank != first else 0
        return values

    def told_value(self, value: T, first: int = 0) -> T:
        """The same of anything that can be pickled, for what is said once."""
        if self.alone:
            return value
        values = [value if self.rank == first else None]
        with _telling():
            torch.distributed.broadcast_object_list(values, first)
        found: Any = values[0]
        return found

    def of_all(self, value: T) -> list[T]:
        """What every rank has, in their order, for what is said once."""
        if self.alone:
            return [value]
        values: list[Any] = [None] * self.size
        with _telling():
            torch.distributed.all_gather_object(values, value)
        return values

    def gathered(self, rows: Tensor, what: str) -> Tensor:
        """Rows (m × w) of all ranks, which have as many each, on top of each other: size·m × w."""
        out = rows.new_empty(self.size * len(rows), rows.shape[1])
        with _telling():
            _all_gather(out, rows.contiguous())
        self.received[what] += (self.size - 1) * rows.nbytes
        return out

    def exchanged(self, rows: Tensor, to: list[int], of: list[int], what: str) -> Tensor:
        """The first ``to[0]`` rows go to rank 0, the next to rank 1 …; ``of[k]`` come from rank k."""
        out = rows.new_empty(sum(of), rows.shape[1])
        with _telling():
            torch.distributed.all_to_all_single(out, rows.contiguous(), of, to)
        foreign = sum(of) - of[self.rank]
        self.received[what] += foreign * rows.shape[1] * rows.element_size()
        return out


def _all_gather(out: Tensor, rows: Tensor) -> None:
    """By the name that torch has for it."""
    distributed: Any = torch.distributed
    gather = getattr(distributed, "all_gather_single", None) or distributed.all_gather_into_tensor
    gather(out, rows)


ALONE = Ranks()


def launched() -> int:
    """How many processes torchrun, or something that says so in the same way, began together; else 1."""
    return int(os.environ["WORLD_SIZE"]) if "RANK" in os.environ and "WORLD_SIZE" in os.environ else 1


def own_rank() -> int:
    """Which of them this one is."""
    return int(os.environ["RANK"]) if launched() > 1 else 0


def join() -> Ranks:
    """The processes that began together, as one group until this one ends."""
    global _joined
    if launched() == 1:
        return ALONE
    if _joined is None:
        with _telling():  # gloo for what is on a CPU, nccl for what is on a GPU
            distributed: Any = torch.distributed
            store, rank, size = next(distributed.rendezvous("env://", timeout=_PATIENCE))
            # Begun again, processes must not find the addresses of those that are gone.
            store = distributed.PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)
            distributed.init_process_group(store=store, rank=rank, world_size=size, timeout=_PATIENCE)
        _joined = Ranks(own_rank(), launched())
        atexit.register(leave)
    return _joined


def leave() -> None:
    """Go out of the group."""
    global _joined
    if _joined is not None:
        _joined = None
        torch.distributed.destroy_process_group()


_joined: Ranks | None = None


def has_joined() -> bool:
    """Whether this process is in a group."""
    return _joined is not None


@contextmanager
def _telling() -> Iterator[None]:
    """What torch says when another rank is gone, as a sentence."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if "allocate" in str(error):
            raise MemoryError(str(error)) from error
        said = re.search(r"connection [a-z ]+|timed? ?out", str(error), re.IGNORECASE)
        reason = said[0].strip().lower() if said else (str(error).splitlines() or [type(error).__name__])[0]
        raise LostRankError(
            f"another process of this job has ended, and the others cannot go on without it ({reason}). "
            "Start the job again; with the same --checkpoint and --resume it goes on from there."
        ) from error
