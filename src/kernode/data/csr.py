"""Sparse matrices out of files, checked before anything walks along their pointers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import FileError


def checked_csr(
    path: Path, what: str, values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any
) -> sparse.csr_array:
    """Build a CSR matrix from its parts, or say that the file is damaged.

    >>> parts = np.ones(1), np.array([7]), np.array([0, 1])
    >>> checked_csr(Path("x.npz"), "adj", *parts, shape=(1, 3))
    Traceback (most recent call last):
    kernode.errors.FileError: x.npz: 'adj' is not a valid CSR matrix (...). Write the file again.
    """
    try:
        rows, columns = (int(size) for size in shape)
        _require_kind("indices", indices, "iu")
        _require_kind("indptr", indptr, "iu")
        _require_kind("values", values, "fiub")
        _require_pointers(indptr, len(indices))
        parts = (values, _signed(indices), _signed(indptr))
        matrix = sparse.csr_array(parts, shape=(rows, columns))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise FileError(
            f"{path}: '{what}' is not a valid CSR matrix ({reason}). Write the file again."
        ) from error
    return matrix


def _require_kind(part: str, array: np.ndarray, kinds: str) -> None:
    if array.ndim != 1 or array.dtype.kind not in kinds:
        raise ValueError(f"{part} are {array.dtype} of shape {array.shape}")


def _signed(integers: np.ndarray) -> np.ndarray:
    """As scipy takes them: an unsigned one beyond 2⁶³ turns negative, and is found."""
    return integers if integers.dtype in (np.int32, np.int64) else integers.astype(np.int64)


def _require_pointers(indptr: np.ndarray, entries: int) -> None:
    # scipy looks at the pointers only if the last one is above 0, and would follow [0, 500, 0] out of
    # its memory. As int64 a pointer beyond 2⁶³ turns negative, and is caught here too.
    steps = np.diff(np.append(np.append(0, indptr.astype(np.int64)), entries))
    if indptr[:1].any() or steps.min() < 0 or steps[-1]:
        raise ValueError("indptr must rise from 0 to the number of entries")
