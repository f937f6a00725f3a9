"""How fast a cost grows with size: the exponent e of cost ≈ c · size^e."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def exponent(sizes: Sequence[float], costs: Sequence[float | None]) -> float | None:
    """The slope of the least-squares line through log cost over log size; None below two points.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    points = [(size, cost) for size, cost in zip(sizes, costs, strict=True) if cost and cost > 0]
    if len({size for size, _ in points}) < 2:
        return None
    x, y = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


def upper_decade(sizes: Sequence[float]) -> list[bool]:
    """Which sizes are at least a tenth of the largest: there fixed costs no longer hide the growth."""
    return [size >= max(sizes) / 10 for size in sizes]


def exponents(sizes: Sequence[float], costs: Sequence[float | None]) -> dict[str, Any]:
    """The exponent over all sizes and over the upper decade."""
    upper = [cost if inside else None for cost, inside in zip(costs, upper_decade(sizes), strict=True)]
    return {
        "all_sizes": _rounded(exponent(sizes, costs)),
        "upper_decade": _rounded(exponent(sizes, upper)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
