"""Figures class by class: precision, recall and F1 of each, and who is taken for whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernode.metrics.accuracy import mean_and_std


def class_figures(
    truth: np.ndarray | Sequence[np.ndarray], found: np.ndarray | Sequence[np.ndarray], names: Sequence[Any]
) -> dict[str, Any]:
    """Of r runs, each with the numbers of m true and m found classes: means over the runs, in percent.

    Classes that occur in neither are left out. The confusion matrix counts the nodes of all runs, with the
    true class in the row and the found one in the column.

    >>> figures = class_figures([np.array([0, 0, 1])], [np.array([0, 1, 1])], ["tea", "coffee", "cocoa"])
    >>> figures["classes"][0]
    {'class': 'tea', 'precision': 100.0, 'recall': 50.0, 'f1': 66.6667, 'support': 2.0}
    >>> figures["macro_f1_mean"], figures["confusion"]
    (66.6667, [[1, 1], [0, 1]])
    """
    present = np.unique(np.concatenate([np.ravel(one) for one in (*truth, *found)]).astype(np.int64))
    confusion = np.stack([_confusion(t, f, present) for t, f in zip(truth, found, strict=True)])
    by_run = np.stack([_figures(one) for one in confusion])  # r × 4 × classes
    mean = by_run.mean(axis=0).round(4)
    macro = mean_and_std(by_run[:, 2].mean(axis=1))
    columns = ("precision", "recall", "f1", "support")
    return {
        "macro_f1_mean": round(macro[0], 4),
        "macro_f1_std": round(macro[1], 4),
        "classes": [
            {"class": names[c], **dict(zip(columns, mean[:, i].tolist(), strict=True))}
            for i, c in enumerate(present)
        ],
        "confusion": confusion.sum(axis=0).tolist(),
    }


def _confusion(truth: np.ndarray, found: np.ndarray, present: np.ndarray) -> np.ndarray:
    """How many nodes of each class were taken for each: true class in the row, found one in the column."""
    counts = np.zeros((len(present), len(present)), np.int64)
    np.add.at(counts, (np.searchsorted(present, truth), np.searchsorted(present, found)), 1)
    return counts


def _figures(confusion: np.ndarray) -> np.ndarray:
    """Precision, recall and F1 in percent, and support: 4 × classes; 0 where nothing is counted."""
    right, support, found = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    precision, recall = right / np.maximum(found, 1), right / np.maximum(support, 1)
    f1 = 2 * right / np.maximum(found + support, 1)
    return np.stack([100 * precision, 100 * recall, 100 * f1, support])


def wilson(right: float, n: int) -> tuple[float, float]:
    """95 % interval of a share of n nodes, in percent (Wilson 1927): how little a few nodes say.

    >>> wilson(0.0, 1), wilson(0.9, 1000)
    ((0.0, 79.35), (87.98, 91.71))
    """
    z = 1.959964
    middle, half = right + z**2 / (2 * n), z * np.sqrt(right * (1 - right) / n + z**2 / (4 * n**2))
    low, high = (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)
    return round(100 * max(0.0, float(low)), 2), round(100 * min(1.0, float(high)), 2)
