"""Significance of paired differences between two methods over random splits.

Random splits of one graph overlap, so differences between them are not independent. Nadeau and Bengio (2003)
correct the variance of the mean: s² (1/S + test nodes / training nodes) for S splits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit


@dataclass(frozen=True)
class Paired:
    """The mean of paired differences, its 95 % interval, and the p-value of "no difference"."""

    mean: float
    low: float
    high: float
    p: float


def paired(differences: Sequence[float], test_to_train: float) -> Paired:
    """Nadeau and Bengio's corrected resampled t-test, two-sided.

    >>> differences = [1.0, 2.0, -0.5, 0.5, 1.0]
    >>> round(paired(differences, test_to_train=0).p, 2), round(paired(differences, test_to_train=1 / 3).p, 2)
    (0.12, 0.29)
    """
    values = np.asarray(differences, dtype=np.float64)
    freedom = len(values) - 1
    mean = float(values.mean())
    if freedom < 1:
        return Paired(mean, -math.inf, math.inf, 1.0)
    error = math.sqrt(values.var(ddof=1) * (1 / len(values) + test_to_train))
    if error == 0:
        return Paired(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    reach = float(stdtrit(freedom, 0.975)) * error
    return Paired(mean, mean - reach, mean + reach, float(2 * stdtr(freedom, -abs(mean) / error)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for several tests: no more than 5 % of such families have a false finding below 0.05.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = round(highest, 12)
    return corrected
