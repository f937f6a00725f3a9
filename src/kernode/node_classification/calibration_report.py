"""How sure answers are, beside how many are right: calibration, and what is left where some abstain."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.metrics.accuracy import mean_and_std
from kernode.metrics.calibration import (
    brier,
    calibration_error,
    coverage,
    error_by_chance,
    negative_log_likelihood,
    reliability,
)
from kernode.node_classification.calibration import Calibration

_SHOWN = 0.9  # the threshold that a terminal shows


def calibration_report(
    calibration: Calibration | None, by_run: np.ndarray, nodes: np.ndarray, truth: np.ndarray
) -> dict[str, Any]:
    """Of runs with such probabilities (r × t × c) about nodes (q × t) with true class numbers (q × t).

    Errors of single runs, their mean, and beside it what chance explains of that mean. Bins and coverage
    count the nodes of all runs. ``ensemble`` has the same of all runs together, where they share nodes.
    """
    chances = by_run if calibration is None else calibration.of_runs(by_run)
    before = [calibration_error(*_answers(run, own)) for run, own in _by_run(by_run, truth)]
    figures = {
        "calibrated_on": 0 if calibration is None else calibration.nodes,
        "temperature": None if calibration is None else round(calibration.together.temperature, 6),
        "floor": None if calibration is None else round(calibration.together.floor, 6),
        **_figures(chances, nodes, truth),
        "error_uncalibrated": round(float(np.mean(before)), 4),
        "ensemble": None,
    }
    if len(by_run) > 1 and len(nodes) == 1:
        together = by_run.mean(axis=0)
        chances = together if calibration is None else calibration.together(together)
        error = calibration_error(*_answers(together, truth[0]))
        figures["ensemble"] = _figures(chances[None], nodes, truth) | {"error_uncalibrated": round(error, 4)}
    return figures


def _figures(chances: np.ndarray, nodes: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    pairs = [_answers(run, own) for run, own in _by_run(chances, truth)]
    confidence, right = (np.stack(values) for values in zip(*pairs, strict=True))
    runs = [calibration_error(*pair) for pair in pairs]
    mean, std = mean_and_std(runs)
    by_chance, at_most = error_by_chance(confidence, nodes)
    likelihood = negative_log_likelihood(chances, truth)
    return {
        "error_mean": round(mean, 4),
        "error_std": round(std, 4),
        "runs": [round(run, 4) for run in runs],
        "by_chance": round(by_chance, 4),
        "by_chance_at_most": round(at_most, 4),
        "brier": round(brier(chances, truth), 6),
        "nll": None if likelihood is None else round(likelihood, 6),
        "bins": reliability(confidence.ravel(), right.ravel()),
        "coverage": coverage(confidence.ravel(), right.ravel()),
    }


def _by_run(probabilities: np.ndarray, truth: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Each run's rows with its true classes."""
    return list(zip(probabilities, np.broadcast_to(truth, probabilities.shape[:2]), strict=True))


def _answers(chances: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probability of each node's most probable class (m × c), and whether it is the true one (m)."""
    return chances.max(axis=-1).astype(np.float64), chances.argmax(axis=-1) == truth


def calibration_lines(figures: dict[str, Any], runs: int) -> list[tuple[str, str]]:
    """A report's calibration in two lines: what each is about, and what it says."""
    chance = f"chance alone gives {figures['by_chance']:.2f}, at most {figures['by_chance_at_most']:.2f}"
    spread = f" ± {figures['error_std']:.2f}" if runs > 1 else ""
    not_calibrated = "" if figures["calibrated_on"] else "; probabilities are not calibrated"
    found = [("calibration error", f"{figures['error_mean']:.2f}{spread} %   ({chance}{not_calibrated})")]
    sure = next(row for row in figures["coverage"] if row["threshold"] == _SHOWN)
    of_them = "" if sure["accuracy"] is None else f", {sure['accuracy']:.2f} % of them right"
    return [
        *found,
        (f"at least {100 * _SHOWN:.0f} % sure", f"{sure['answered']:.1f} % of the nodes{of_them}"),
    ]
