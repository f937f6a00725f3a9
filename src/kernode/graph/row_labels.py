"""Row labels of pandas: two columns whose rows do not stand side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.errors import InputError


def require_aligned(X: Any, **beside: Any) -> None:
    """Raise where something has the row labels of X in another order: then rows would be mixed up.

    Rows are taken in their order, whatever labels they have; the same labels in another order are what
    sorting or shuffling one column alone leaves.
    """
    labels = _labels(X)
    for name, values in beside.items():
        others = _labels(values)
        if labels is None or others is None or len(labels) != len(others) or labels.equals(others):
            continue
        if labels.isin(others).all() and others.isin(labels).all():
            raise InputError(
                f"X and {name} have the same row labels in a different order: which row belongs to which? "
                f"Pass {name}.loc[X.index], or {name}.to_numpy() if they stand in order already."
            )


def require_row_order(mask: Any) -> None:
    """Raise where a mask's row labels are the row numbers in another order: it marks rows, not labels."""
    labels = _labels(mask)
    is_mask = str(getattr(mask, "dtype", "")) in ("bool", "boolean")  # numpy's, and pandas' own
    if labels is None or not is_mask or labels.dtype.kind not in "iu":
        return
    numbers = np.asarray(labels)
    if not (numbers == np.arange(len(numbers))).all() and (np.sort(numbers) == np.arange(len(numbers))).all():
        raise InputError(
            "the mask's rows are in another order than their labels 0, 1, …: which row is which node? "
            "Pass mask.sort_index(), or mask.to_numpy() if they stand in the graph's order already."
        )


def _labels(values: Any) -> Any:
    """The index of a Series or DataFrame; None for anything else."""
    index = getattr(values, "index", None)
    return index if hasattr(index, "equals") and hasattr(index, "isin") else None
