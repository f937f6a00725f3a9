"""Greedy selection of the weights of an ensemble."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_ROUNDS = 25
_TINY = 1e-12


def greedy_counts(
    probabilities: np.ndarray,
    truth: np.ndarray,
    first: np.ndarray | None = None,
    score: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Count how often greedy selection with replacement takes each member (Caruana et al. 2004): M.

    ``probabilities``: of the validation nodes by each member, M × r × v × c; ``truth``: their classes, q × v
    (−1: none of them). Each round takes the member with which the mean of all that were taken has the lowest
    log-loss, or the highest ``score`` (of r × v × c and q × v: r); of all rounds the best one counts.
    Replicas that share nodes answer together.
    ``first``: which members the first may be, all if None: a sum is to have one that other graphs take, too.

    >>> good, bad = np.array([[[[0.9, 0.1], [0.2, 0.8]]]]), np.array([[[[0.1, 0.9], [0.8, 0.2]]]])
    >>> greedy_counts(np.concatenate([bad, good]), np.array([[0, 1]])).tolist()
    [0, 1]
    """
    members = probabilities.mean(axis=1, keepdims=True) if len(truth) == 1 else probabilities
    if score is None:
        known = truth >= 0
        members = np.take_along_axis(members, np.where(known, truth, 0)[None, ..., None], axis=-1)[..., 0]
        members = members[:, known]  # M × all validation nodes: probabilities of the true classes
    counts = np.zeros(len(members), int)
    best, kept, total = np.inf, counts, np.zeros(members.shape[1:])
    for taken in range(1, _ROUNDS + 1):
        if score is None:
            losses = -np.log((total + members) / taken + _TINY).mean(axis=1)
        else:
            losses = np.array([-score((total + one) / taken, truth).mean() for one in members])
        if taken == 1 and first is not None and first.any():
            losses[~first] = np.inf
        at = int(losses.argmin())
        total, counts = total + members[at], counts.copy()
        counts[at] += 1
        if losses[at] < best - 1e-9:
            best, kept = float(losses[at]), counts
    return kept
