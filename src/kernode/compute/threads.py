"""How many CPU threads a training has: those that were asked for, or as many as are worth having just now."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from scipy import sparse

from kernode.compute.determinism import is_deterministic
from kernode.compute.place import MOST_THREADS, Place
from kernode.compute.replicas import whole
from kernode.compute.sparse import SparseMatrix

Threads = int | Literal["measured"] | None  # None: as many as torch has

_SET_BY = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS")
_BUDGET = 0.1  # seconds of measuring at most
_REMEMBERED = 60.0  # seconds that a measurement is believed
# Torch's own number is left only for one that is clearly faster: with another number the same seed gives
# other bits, and on a machine with time to spare it should give the same ones every day.
_CLEARLY = 1.3
WORTH_MEASURING = 100_000  # nodes × replicas × epochs: a part of a second on cores that have time

_measured: tuple[float, int, int] | None = None  # when, of how many threads, which number was best


def asked_for(threads: int | None) -> Threads:
    """What an estimator's or a command's setting asks for: a number, or the best there is just now."""
    if threads is None:
        return "measured"
    return whole("threads", threads, 1, MOST_THREADS)


@contextmanager
def cpu_threads(threads: Threads, worth: float = 0.0) -> Iterator[int]:
    """While this lasts torch has so many threads; gives the number.

    ``worth``: nodes × replicas × epochs, for "measured", which is for nothing that is over in a moment.
    """
    before = torch.get_num_threads()
    if threads == "measured":
        measured = worth >= WORTH_MEASURING and not _set_by_user() and not is_deterministic()
        chosen = _best_of(before) if measured else before
    else:
        chosen = before if threads is None else threads
    if chosen != before:
        torch.set_num_threads(chosen)
    try:
        yield chosen
    finally:
        if chosen != before:
            torch.set_num_threads(before)


def _set_by_user() -> bool:
    """Whether somebody has set a number, or may have: it is not exactly torch's own on this machine."""
    return torch.get_num_threads() != _own_number() or any(os.environ.get(name) for name in _SET_BY)


def _own_number() -> int:
    """The threads that torch has by itself: with MKL as many as there are cores, whose threads may be two.

    Where the system does not say which threads share a core, all are taken for cores: at worst torch's own
    number is taken for somebody's, and left alone.
    """
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    if not torch.backends.mkl.is_available():
        return len(usable)
    return len({_siblings(number) for number in usable})


def _siblings(number: int) -> str:
    """The threads of the core that a thread is one of."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list").read_text(
            encoding="utf-8"
        )
    except OSError:
        return str(number)


def _best_of(most: int) -> int:
    """One thread, half of them or all: what does most of a training's work in a moment's trial."""
    global _measured
    if most == 1:
        return 1
    if _measured is None or _measured[1] != most or time.monotonic() - _measured[0] > _REMEMBERED:
        _measured = time.monotonic(), most, _measure(most)
    return _measured[2]


def _measure(most: int) -> int:
    candidates = sorted({1, max(1, most // 2), most})
    taken: dict[int, list[float]] = {number: [] for number in candidates}
    work = _step_of_training()
    work()  # what is loaded when it is first used
    started = time.perf_counter()
    try:
        while not taken[most] or time.perf_counter() - started < _BUDGET:
            for number in candidates:  # in turn, so that a busy moment is everybody's
                torch.set_num_threads(number)
                begun = time.perf_counter()
                work()
                taken[number].append(time.perf_counter() - begun)
    finally:
        torch.set_num_threads(most)
    # The mean: what makes several threads slow on busy cores is that now and then one waits for long.
    mean = {number: statistics.mean(times) for number, times in taken.items()}
    best = min(mean, key=lambda number: mean[number])
    return best if mean[most] > _CLEARLY * mean[best] else most


def _step_of_training() -> Callable[[], object]:
    """A layer and a product with a sparse operator, of the size of a small graph: some parallel regions.

    Few, for on busy cores each may wait for a turn of the scheduler, and the trial is to be short.
    """
    n, d = 2048, 32
    ring = sparse.diags_array([0.2] * 5, offsets=range(-2, 3), shape=(n, n), format="csr", dtype=np.float32)
    operator = SparseMatrix.of(sparse.csr_array(ring), Place.of(32), symmetric=True)
    x = torch.linspace(-1, 1, n * d).view(n, d)
    weight = torch.eye(d) + 0.01
    return lambda: operator @ torch.relu(x @ weight)
