"""How many nodes are answered where only sure answers count, and how many of those answers are right."""

from __future__ import annotations

from typing import Any

import numpy as np

THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)


def coverage(confidence: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """At each threshold the nodes whose confidence reaches it, and how many of them are right, in percent.

    >>> coverage(np.array([0.4, 0.85, 0.9, 0.9]), np.array([False, True, True, False]))[2]
    {'threshold': 0.9, 'answered': 50.0, 'accuracy': 50.0}
    """
    rows = []
    for threshold in THRESHOLDS:
        sure = confidence >= threshold
        accuracy = round(100 * float(right[sure].mean()), 4) if sure.any() else None
        rows.append(
            {"threshold": threshold, "answered": round(100 * float(sure.mean()), 4), "accuracy": accuracy}
        )
    return rows
