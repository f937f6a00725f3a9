"""Do probabilities mean what they say? Calibration error beside what chance explains. Errors are percentages.

Nodes are put into 15 bins by their confidence, the probability of the class that is found, and a bin's error
is how far its mean confidence is from its accuracy. Bins hold equally many nodes: confidences crowd near 1,
where bins of equal width would hold nearly all nodes in one and a handful in most others. Nodes with the same
confidence are in the same bin, so that their order does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BINS = 15
_DRAWS = 1000  # at most, and fewer where there are many nodes, whose figures vary less
_FEWEST_DRAWS = 100
_NUMBERS = 2 * 10**7  # that are drawn in all, about


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Expected calibration error: |confidence − accuracy| of the bins, weighted by their nodes; (m), (m).

    >>> calibration_error(np.full(10, 0.9), np.arange(10) < 7)
    20.0
    """
    gaps = np.bincount(_bins(confidence), right - confidence.astype(np.float64), minlength=BINS)
    return round(100 * float(np.abs(gaps).sum()) / len(confidence), 10)


def error_by_chance(confidence: np.ndarray, nodes: np.ndarray | None = None) -> tuple[float, float]:
    """The calibration error that perfect confidences (r × m) have: its mean, and the most in 19 of 20 draws.

    Even where each answer is right with just the probability that it claims, m nodes fall out unevenly. They
    are drawn so, again and again from one seed, and the errors of the r runs are averaged as those of a
    report are. Runs that answer about the same node are right or wrong together as far as their confidences
    allow, for they do err on the same nodes: ``nodes`` (m, or r × m) says which is which, None that each run
    has the same.

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
    """The bins that hold something, from the least confidence to the most: what was claimed, what came true.

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
    """Squared distance to the truth, the mean over nodes: 0 at best, 2 at worst; (… × m × c), (… × m).

    A true class that is not among the c (below 0, or c and above) was given probability 0.

    >>> brier(np.array([[0.8, 0.2], [0.5, 0.5]]), np.array([0, 1]))
    0.29
    """
    p, of_truth, _ = _of_truth(probabilities, truth)
    return round(float(np.mean((p**2).sum(axis=-1) - 2 * of_truth + 1)), 10)


def negative_log_likelihood(probabilities: np.ndarray, truth: np.ndarray) -> float | None:
    """−log of the true class's probability, the mean over nodes whose class is among the c; None without any.

    >>> round(negative_log_likelihood(np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([0, 1])), 4)
    0.3993
    """
    _, of_truth, known = _of_truth(probabilities, truth)
    if not known.any():
        return None
    return float(-np.log(np.maximum(of_truth[known], np.finfo(np.float64).tiny)).mean())


def _of_truth(probabilities: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities in float64, those of the true classes, and where the true class has one."""
    p = probabilities.astype(np.float64)
    truth = np.broadcast_to(truth, p.shape[:-1])
    known = (truth >= 0) & (truth < p.shape[-1])
    own = np.take_along_axis(p, np.where(known, truth, 0)[..., None], axis=-1)[..., 0]
    return p, np.where(known, own, 0.0), known


def _bins(confidence: np.ndarray) -> np.ndarray:
    """The bin of each node: where its confidence stands among quantiles of all."""
    m = len(confidence)
    cuts = np.sort(confidence)[np.arange(1, BINS) * m // BINS]
    return np.searchsorted(cuts, confidence, side="right")
