"""Accuracy, and precision, recall and F1 of each class. All figures are percentages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor


def accuracy(predicted: Any, truth: Any) -> Any:
    """Return the percentage of m predicted classes that are true: (… × m), (… × m) → …, in float64.

    Of tensors it is a tensor, which stays on its device.

    >>> float(accuracy(np.array([0, 1, 0, 1]), np.array([0, 1, 1, 1])))
    75.0
    """
    right = predicted == truth
    return 100 * (right.double() if isinstance(right, Tensor) else right).mean(-1)


def mean_and_std(values: Any) -> tuple[float, float]:
    """Return mean and sample standard deviation; 0 for the spread of a single value."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def summary(name: str, values: Any) -> dict[str, float]:
    """Return mean and spread under their names in reports, rounded.

    >>> summary("accuracy", [80.0, 82.0])
    {'accuracy_mean': 81.0, 'accuracy_std': 1.4142}
    """
    mean, std = mean_and_std(values)
    return {f"{name}_mean": round(mean, 4), f"{name}_std": round(std, 4)}


def class_figures(
    truth: np.ndarray | Sequence[np.ndarray], found: np.ndarray | Sequence[np.ndarray], names: Sequence[Any]
) -> dict[str, Any]:
    """Return the means over r runs, each with the numbers of m true and m predicted classes.

    Classes that occur in neither are left out. The confusion matrix counts the nodes of all runs, with the
    true class in the row and the predicted one in the column.

    >>> figures = class_figures([np.array([0, 0, 1])], [np.array([0, 1, 1])], ["tea", "coffee", "cocoa"])
    >>> figures["classes"][0]
    {'class': 'tea', 'precision': 100.0, 'recall': 50.0, 'f1': 66.6667, 'support': 2.0}
    >>> figures["macro_f1_mean"], figures["confusion"]
    (66.6667, [[1, 1], [0, 1]])
    """
    present = np.unique(np.concatenate([np.ravel(one) for one in (*truth, *found)]).astype(np.int64))
    confusion = np.zeros((len(truth), len(present), len(present)), np.int64)
    for run, (t, f) in enumerate(zip(truth, found, strict=True)):
        np.add.at(confusion[run], (np.searchsorted(present, t), np.searchsorted(present, f)), 1)
    right = np.diagonal(confusion, axis1=1, axis2=2)
    support, answered = confusion.sum(axis=2), confusion.sum(axis=1)
    f1 = 100 * 2 * right / np.maximum(answered + support, 1)  # 0 without any
    columns = {
        "precision": 100 * right / np.maximum(answered, 1),
        "recall": 100 * right / np.maximum(support, 1),
        "f1": f1,
        "support": support,
    }
    means = {name: values.mean(axis=0).round(4).tolist() for name, values in columns.items()}
    return {
        **summary("macro_f1", f1.mean(axis=1)),
        "classes": [
            {"class": names[c], **{name: values[i] for name, values in means.items()}}
            for i, c in enumerate(present)
        ],
        "confusion": confusion.sum(axis=0).tolist(),
    }


def wilson(right: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of n nodes, in percent (Wilson 1927).

    >>> wilson(0.0, 1), wilson(0.9, 1000)
    ((0.0, 79.35), (87.98, 91.71))
    """
    z = 1.959964
    middle, half = right + z**2 / (2 * n), z * np.sqrt(right * (1 - right) / n + z**2 / (4 * n**2))
    low, high = (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)
    return round(100 * max(0.0, float(low)), 2), round(100 * min(1.0, float(high)), 2)
