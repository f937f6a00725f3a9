"""How fast this machine is at each kind of work, measured in a fraction of a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch
from scipy import sparse

from kernode.compute.place import Place
from kernode.compute.sparse import product, to_torch
from kernode.studies.cost.work import BEYOND, CACHED, ENTRY, RECYCLED, Work

_WIDTH = 16
_DEGREE = 10
_LONG_ENOUGH = 0.02  # seconds


@dataclass(frozen=True)
class Rates:
    """Seconds that a unit of each kind of work takes; see :class:`Work`."""

    near: float
    far: float
    dense: float
    moved: float
    fresh: float
    short: float
    walks: float
    operations: float

    @classmethod
    def measure(cls, place: Place) -> Rates:
        """Do a little of everything at a place."""
        square = _random_matrix(2**12, 2**12)
        array = torch.ones(2**22, dtype=place.dtype, device=place.device)
        left, right = array[: 2**18].view(-1, 64), array[:1024].view(64, -1)
        stacked, factors = array[: 10 * 2**13].view(-1, 10, 8), array[:10, None]
        few = torch.ones(16, dtype=place.dtype, device=place.device)
        bytes_moved = 2 * array.numel() * array.element_size()
        moved = _seconds(lambda: torch.add(array, 1), place) / bytes_moved
        return cls(
            near=_of_product(CACHED // 2, place),
            far=_of_product(BEYOND, place),
            dense=_seconds(lambda: left @ right, place) / (left.numel() * right.shape[1]),
            moved=moved,
            fresh=_of_fresh_memory(place, moved),
            short=_seconds(lambda: stacked * factors, place) / stacked.numel(),
            walks=_seconds(lambda: square @ square, Place.of()) / (square.nnz * _DEGREE),
            operations=_seconds(lambda: few.add_(1), place),
        )

    def seconds(self, work: Work) -> float:
        """How long some work takes."""
        return sum(getattr(self, field.name) * getattr(work, field.name) for field in fields(self))


def _random_matrix(rows: int, columns: int) -> sparse.csr_array:
    entries = _DEGREE * rows
    at = np.random.Generator(np.random.PCG64(0)).integers(0, columns, entries).astype(np.int32)
    starts = np.arange(0, entries + 1, _DEGREE, dtype=np.int32)
    matrix = sparse.csr_array((np.ones(entries), at, starts), shape=(rows, columns))
    matrix.sort_indices()
    return matrix


def _of_product(operand: int, place: Place) -> float:
    """A multiply-add of a sparse product with a dense operand of so many bytes."""
    dense = torch.ones(operand // (4 * _WIDTH), _WIDTH, dtype=place.dtype, device=place.device)
    rows = 2**13
    matrix, result = to_torch(_random_matrix(rows, len(dense)), place), dense.new_zeros(rows, _WIDTH)
    multiply_adds = rows * _DEGREE * (_WIDTH + ENTRY)
    return _seconds(lambda: product(matrix, dense, minus=result), place) / multiply_adds


def _of_fresh_memory(place: Place, moved: float) -> float:
    if place.device.type != "cpu":  # torch keeps what was given back on a GPU
        return 0.0
    size = 2 * RECYCLED
    return max(0.0, _seconds(lambda: torch.ones(size // 4), place) / size - moved)


def _seconds(act: Callable[[], object], place: Place) -> float:
    """How long an act takes when nothing disturbs it: the least of some tries, the first not counted."""
    act()
    taken: list[float] = []
    while sum(taken) < _LONG_ENOUGH or len(taken) < 3:
        _wait_for(place)
        started = time.perf_counter()
        act()
        _wait_for(place)
        taken.append(time.perf_counter() - started)
    return min(taken)


def _wait_for(place: Place) -> None:
    if place.device.type == "cuda":
        torch.cuda.synchronize(place.device)
