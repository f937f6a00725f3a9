"""What was made and checked in here, and cannot be written to any more: a Graph takes it as it is."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from scipy import sparse


class Verified:
    """Matrices of one kind that need neither a copy nor a second check.

    Whoever adds a matrix vouches for it, and hands over the only reference to its memory. Known by
    identity: a matrix that merely looks like one of these, or was changed since, is not one.

    >>> known, matrix = Verified(), np.eye(2)
    >>> matrix in known, known.add(matrix) in known, np.eye(2) in known
    (False, True, False)
    """

    def __init__(self) -> None:
        self._matrices: WeakValueDictionary[int, Any] = WeakValueDictionary()

    def add(self, matrix: Any) -> Any:
        """Freeze a matrix and know it from now on."""
        for array in buffers(matrix):
            array.setflags(write=False)
        self._matrices[id(matrix)] = matrix
        return matrix

    def __contains__(self, matrix: Any) -> bool:
        known = self._matrices.get(id(matrix)) is matrix
        # scipy can put new arrays into an old matrix, by setdiag for one
        return known and not any(array.flags.writeable for array in buffers(matrix))


ADJACENCIES = Verified()  # symmetric, no loops, weights above 0
FEATURES = Verified()  # finite floats


def buffers(matrix: Any) -> tuple[np.ndarray, ...]:
    """Arrays that hold a dense or a CSR matrix."""
    return (matrix.indptr, matrix.indices, matrix.data) if sparse.issparse(matrix) else (matrix,)
