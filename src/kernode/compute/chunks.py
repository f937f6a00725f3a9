"""Long arrays a block at a time."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np

_BYTES = 2**23  # of a block of rows in float64: small beside any graph, large beside the cost of a call


def chunks(length: int, size: int) -> Iterator[slice]:
    """Cut 0 … length into slices of at most ``size``, all of about the same length.

    >>> list(chunks(7, 3))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)]
    """
    # Equal lengths: numpy sums a single row in another order than a row of several.
    count = -(-length // size)
    for i in range(count):
        yield slice(i * length // count, (i + 1) * length // count)


def row_chunks(array: np.ndarray) -> Iterator[slice]:
    """Cut the rows of an array into blocks of a few megabytes."""
    width = array.size // max(1, len(array))
    return chunks(len(array), max(64, _BYTES // (8 * max(1, width))))


def is_mapped(array: Any) -> bool:
    """Return whether an array is memory-mapped from a file, or a view of one that is."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)
