"""Figures of predicted numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.models.model import Report
from kernode.tasks.numbers.model import NumbersOnGraph


def figures(truth: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """R², mean absolute error and root mean squared error."""
    off = truth - predicted
    variance = float(np.square(truth - truth.mean()).mean())
    squared = float(np.square(off).mean())
    return {
        "r2": 1 - squared / variance if variance else 0.0,
        "mae": float(np.abs(off).mean()),
        "rmse": squared**0.5,
    }


def number_report(on: NumbersOnGraph, nodes: np.ndarray, truth: np.ndarray) -> Report:
    """Evaluate the answers about nodes with known numbers."""
    found: dict[str, Any] = on.facts() | {"test": figures(truth, on.numbers(nodes))}
    return Report(found, lines)


def lines(report: dict[str, Any]) -> list[str]:
    """The report as lines of text."""
    return [f"{name:<20} {value:.4g}" for name, value in report["test"].items()]
