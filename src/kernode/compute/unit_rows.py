"""Rows of length 1: for cosines, and for what learns from the direction of features alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def unit_rows(x: Any) -> Any:
    """Every row (m × f, dense or sparse) divided by its length; zeros stay, and so do float32 and float64.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    kind = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    x = sparse.csr_array(x, dtype=kind) if sparse.issparse(x) else np.asarray(x, kind)
    lengths = _lengths(x)
    # Squares of what is very large or very small are no numbers, or none at all.
    extreme = np.flatnonzero(~(np.isfinite(lengths) & (lengths > np.sqrt(np.finfo(kind).tiny))))
    largest: Any = abs(x[extreme]).max(axis=1) if len(extreme) else np.empty(0)
    largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
    if largest.any():
        by = np.ones(len(lengths), kind)
        by[extreme] = np.where(largest > 0, largest, 1)
        x = _divided(x, by)
        lengths = _lengths(x)
    lengths = np.where(lengths > 0, lengths, 1)
    if not sparse.issparse(x):
        return x / lengths[:, None]
    scale = (1 / lengths).astype(kind)
    return sparse.csr_array(
        (x.data * np.repeat(scale, np.diff(x.indptr)), x.indices, x.indptr), shape=x.shape
    )


def _lengths(x: Any) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        if not sparse.issparse(x):
            return np.sqrt(np.einsum("ij,ij->i", x, x))
        return np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())


def _divided(x: Any, by: np.ndarray) -> Any:
    """Each row by a number of its own."""
    if not sparse.issparse(x):
        return x / by[:, None]
    return sparse.csr_array((x.data / np.repeat(by, np.diff(x.indptr)), x.indices, x.indptr), shape=x.shape)
