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
    kind = x.dtype if x.dtype.kind == "f" else np.float64
    if not sparse.issparse(x):
        x = np.asarray(x, kind)
        lengths = np.sqrt(np.einsum("ij,ij->i", x, x))
        return x / np.where(lengths > 0, lengths, 1)[:, None]
    x = sparse.csr_array(x, dtype=kind)
    lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    scale = (1 / np.where(lengths > 0, lengths, 1)).astype(kind)
    return sparse.csr_array(
        (x.data * np.repeat(scale, np.diff(x.indptr)), x.indices, x.indptr), shape=x.shape
    )
