"""What a computation asks of a machine, in amounts that add up and do not depend on the machine."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

CACHED, BEYOND = 2**21, 2**25  # bytes of a sparse product's dense operand: all in the cache, hardly any
RECYCLED = 2**25  # bytes of an array up to which memory is used again; glibc hands out larger ones anew
ENTRY = 8  # columns: what finding a row takes, beside multiplying it


@dataclass(frozen=True)
class Work:
    """Amounts of each kind of work.

    >>> Work(dense=2.0, operations=1.0) + 3 * Work(dense=1.0)
    Work(near=0.0, far=0.0, dense=5.0, moved=0.0, fresh=0.0, short=0.0, walks=0.0, operations=1.0)
    """

    near: float = 0.0  # multiply-adds of a sparse matrix with a dense one that fits in the cache
    far: float = 0.0  # and with one that does not
    dense: float = 0.0  # multiply-adds of dense matrices
    moved: float = 0.0  # bytes read or written by what goes through arrays from end to end
    fresh: float = 0.0  # bytes written to memory that the system must find first
    short: float = 0.0  # elements of operations that go row by short row, such as one factor per replica
    walks: float = 0.0  # multiply-adds of two sparse matrices
    operations: float = 0.0  # calls

    def __add__(self, other: Work) -> Work:
        return Work(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, times: float) -> Work:
        return Work(*(times * amount for amount in astuple(self)))

    __rmul__ = __mul__


NOTHING = Work()


def sparse_product(entries: float, width: float, operand: float, result: float) -> Work:
    """A sparse matrix times a dense one: both dense sizes in bytes.

    >>> sparse_product(100, 16, operand=2**23, result=1000)
    Work(near=1200.0, far=1200.0, dense=0.0, moved=1000.0, fresh=0.0, short=0.0, walks=0.0, operations=1.0)
    """
    multiplied = float(entries * (width + ENTRY))
    share = math.log(max(operand, 1.0) / CACHED) / math.log(BEYOND / CACHED)
    far = multiplied * min(1.0, max(0.0, share))
    return Work(near=multiplied - far, far=far, operations=1.0) + written(result)


def dense_product(multiply_adds: float, operand: float, result: float) -> Work:
    """A dense product with an operand and a result of so many bytes."""
    return Work(dense=float(multiply_adds), moved=float(operand), operations=1.0) + written(result)


def written(array: float, times: float = 1.0) -> Work:
    """Arrays of so many bytes made, ``times`` of them."""
    return Work(moved=float(array * times), fresh=float(array * times) if array > RECYCLED else 0.0)


def walked(walks: float, nodes: int) -> Work:
    """Walks in a graph of so many nodes: the larger it is, the less of it is in the cache."""
    return Work(walks=float(walks * max(1.0, nodes / 1e5) ** 0.25))


def gone_through(array: float, times: float, made: float = 0.0) -> Work:
    """An array of so many bytes read or written, ``times`` times, of which ``made`` fill new memory."""
    return Work(moved=float(array * (times - made)), operations=float(times) / 2) + written(array, made)
