"""Calibration of probabilities: calibration error and its size by chance, Brier score, coverage.

Nodes are put into 15 bins by confidence, the probability of the predicted class. A bin's error is the
distance of its mean confidence from its accuracy. Bins hold equal numbers of nodes, since most confidences
are near 1; nodes with the same confidence are in the same bin. Errors are percentages.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BINS = 15
THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)
_DRAWS = 1000  # at most, and fewer where there are many nodes, whose figures vary less
_FEWEST_DRAWS = 100
_NUMBERS = 2 * 10**7  # that are drawn in all, about


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error: |confidence − accuracy| of bins, weighted by nodes; (m), (m).

    >>> calibration_error(np.full(10, 0.9), np.arange(10) < 7)
    20.0
    """
    gaps = np.bincount(_bins(confidence), right - confidence.astype(np.float64), minlength=BINS)
    return round(100 * float(np.abs(gaps).sum()) / len(confidence), 10)


def error_by_chance(confidence: np.ndarray, nodes: np.ndarray | None = None) -> tuple[float, float]:
    """Return the calibration error of perfect confidences (r × m): its mean, and its 95 % quantile.

    Even where each prediction is right with exactly its confidence, the error of m nodes is not 0. It is
    simulated from a fixed seed, and averaged over the r replicas as in a report. Replicas are right or wrong
    on the same node together as far as their confidences allow: ``nodes`` (m, or r × m) identifies nodes,
    None means that all replicas have the same.

    >>> expected, at_most = error_by_chance(np.full((1, 400), 0.8))
    >>> 1.5 < expected < 2 < 3 < at_most < 4.5
    True
    """
    r, m = confidence.shape
    of_node = np.arange(m) if nodes is None else np.unique(nodes, return_inverse=True)[1].reshape(nodes.shape)
    of_run = np.broadcast_to(of_node, (r, m))
    bins = [_bins(run) for run in confidence]
    random = np.random.Generator(np.random.PCG64(0))
    errors = np.zeros(int(np.clip(_NUMBERS // (r * m), _FEWEST_DRAWS, _DRAWS)))
    for draw in range(len(errors)):
        chance = random.random(int(of_node.max()) + 1)
        for run, at, own in zip(confidence, bins, of_run, strict=True):
            gaps = np.bincount(at, (chance[own] < run) - run, minlength=BINS)
            errors[draw] += 100 * np.abs(gaps).sum() / (r * m)
    return float(errors.mean()), float(np.quantile(errors, 0.95))


def reliability(confidence: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """Return the non-empty bins in order of confidence: mean confidence, accuracy and number of nodes.

    >>> reliability(np.array([0.5, 0.5, 1.0]), np.array([True, False, True]))
    [{'confidence': 50.0, 'accuracy': 50.0, 'nodes': 2}, {'confidence': 100.0, 'accuracy': 100.0, 'nodes': 1}]
    """
    bins = _bins(confidence)
    counts = np.bincount(bins, minlength=BINS)
    held = counts > 0
    sums = (np.bincount(bins, values, minlength=BINS)[held] for values in (confidence, right))
    claimed, true = (100 * total / counts[held] for total in sums)
    rows = zip(claimed.round(4).tolist(), true.round(4).tolist(), counts[held].tolist(), strict=True)
    return [dict(zip(("confidence", "accuracy", "nodes"), row, strict=True)) for row in rows]


def brier(probabilities: np.ndarray, truth: np.ndarray) -> float:
    """Return the Brier score, the mean squared distance to the truth, from 0 to 2; (… × m × c), (… × m).

    A true class that is not among the c (below 0, or c and above) has probability 0.

    >>> brier(np.array([[0.8, 0.2], [0.5, 0.5]]), np.array([0, 1]))
    0.29
    """
    p, of_truth, _ = _of_truth(probabilities, truth)
    return round(float(np.mean((p**2).sum(axis=-1) - 2 * of_truth + 1)), 10)


def negative_log_likelihood(probabilities: np.ndarray, truth: np.ndarray) -> float | None:
    """Return the mean −log probability of the true class over nodes whose class is among the c, or None.

    >>> round(negative_log_likelihood(np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([0, 1])), 4)
    0.3993
    """
    _, of_truth, known = _of_truth(probabilities, truth)
    if not known.any():
        return None
    return float(-np.log(np.maximum(of_truth[known], np.finfo(np.float64).tiny)).mean())


def coverage(confidence: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """Return for each threshold the nodes whose confidence reaches it, and their accuracy, in percent.

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


def _of_truth(probabilities: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probabilities in float64, those of the true classes, and where the true class is known."""
    p = probabilities.astype(np.float64)
    truth = np.broadcast_to(truth, p.shape[:-1])
    known = (truth >= 0) & (truth < p.shape[-1])
    own = np.take_along_axis(p, np.where(known, truth, 0)[..., None], axis=-1)[..., 0]
    return p, np.where(known, own, 0.0), known


def _bins(confidence: np.ndarray) -> np.ndarray:
    """Return the bin of each node, by the quantiles of all confidences."""
    m = len(confidence)
    cuts = np.sort(confidence)[np.arange(1, BINS) * m // BINS]
    return np.searchsorted(cuts, confidence, side="right")
