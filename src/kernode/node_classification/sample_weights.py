"""``sample_weight`` as scikit-learn has it: how much each training node counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.errors import InputError


def as_weights(sample_weight: Any, asked: np.ndarray, count: int) -> np.ndarray | None:
    """One finite number ≥ 0 for each of the nodes asked for, in float64; None where there are none.

    Beside a mask of all nodes they may be of all nodes, too. A single number is for all.
    """
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (ValueError, TypeError):
        raise InputError("sample_weight must be numbers, one for each node of X.") from None
    if weights.ndim == 0:
        weights = np.full(count, weights)
    if asked.dtype == bool and weights.shape == asked.shape:
        weights = weights[asked]
    if weights.shape != (count,):
        raise InputError(f"sample_weight must hold one number per node of X ({count}). Got {weights.shape}.")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise InputError(
            f"sample_weight must be finite and ≥ 0. Got {weights[bad[0]]} in row {bad[0]}: give 0 to leave a "
            "node out."
        )
    if count and not weights.any():
        raise InputError("every sample_weight is zero: no node is left to learn from.")
    return weights


def by_node(weights: np.ndarray | None, nodes: np.ndarray, n: int) -> np.ndarray | None:
    """The weight of each of a graph's n nodes, 1 on average over the nodes given; None where all are alike.

    A node that is listed twice has the mean of its weights each time.
    """
    if weights is None or (weights == weights[:1]).all():
        return None
    listed = np.bincount(nodes, minlength=n)
    total = np.bincount(nodes, weights / weights.mean(), minlength=n)
    return total / np.maximum(listed, 1)
