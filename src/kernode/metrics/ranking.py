"""How well scores rank linked pairs of nodes above others. All figures are percentages."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.errors import InputError


def link_metrics(positive: np.ndarray, negative: np.ndarray) -> dict[str, float]:
    """Compare the scores of p edges with those of q non-edges: (p), (q) → figures in percent.

    - ``auc``: area under the ROC curve, the chance that an edge scores above a non-edge.
    - ``ap``: average precision.
    - ``hits_at_k``, k = 20, 50, 100: see :func:`hits_at`; left out where there are fewer than k non-edges,
      for then every edge is a hit whatever its score.
    - ``mrr``: see :func:`mean_reciprocal_rank`.

    >>> figures = link_metrics(np.array([0.9, 0.8, 0.3]), np.array([0.7, 0.2, 0.1]))
    >>> {name: round(figure, 1) for name, figure in figures.items()}
    {'auc': 88.9, 'ap': 91.7, 'mrr': 83.3}
    """
    positive, negative = _checked_scores(positive, "positive"), _checked_scores(negative, "negative")
    return {
        "auc": float(auc(torch.from_numpy(positive)[None], torch.from_numpy(negative)[None])[0]),
        "ap": average_precision(positive, negative),
        **{f"hits_at_{k}": hits_at(k, positive, negative) for k in (20, 50, 100) if k <= len(negative)},
        "mrr": mean_reciprocal_rank(positive, negative),
    }


def auc(positive: Tensor, negative: Tensor) -> Tensor:
    """Area under the ROC curve in percent, ties counted half: (r × p), (r × q) → r, in float64.

    >>> auc(torch.tensor([[0.9, 0.4]]), torch.tensor([[0.1, 0.4]]))
    tensor([87.5000], dtype=torch.float64)
    """
    ordered = negative.sort(dim=1).values
    below_ = torch.searchsorted(ordered, positive.contiguous())
    up_to = torch.searchsorted(ordered, positive.contiguous(), right=True)
    return 50 * (below_ + up_to).double().mean(dim=1) / negative.shape[1]


def average_precision(positive: np.ndarray, negative: np.ndarray) -> float:
    """Percent: precision among all that score at least as high as an edge, the mean over the edges.

    >>> average_precision(np.array([0.9, 0.3]), np.array([0.5, 0.3]))
    75.0
    """
    edges, others = np.sort(positive), np.sort(negative)
    right = len(edges) - np.searchsorted(edges, positive)  # edges that score as high or higher
    wrong = len(others) - np.searchsorted(others, positive)
    return _percent(np.mean(right / (right + wrong)))


def hits_at(k: int, positive: np.ndarray, negative: np.ndarray) -> float:
    """Percent of edges that score strictly above the k-th highest non-edge, as in OGB: (p), (q) → figure.

    With fewer than k non-edges every edge is a hit.

    >>> hits_at(2, np.array([0.9, 0.8, 0.6, 0.1]), np.array([0.8, 0.2, 0.6]))
    50.0
    """
    positive, negative = _checked_scores(positive, "positive"), _checked_scores(negative, "negative")
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k must be an integer ≥ 1. Got {k!r}.")
    if len(negative) < k:
        return 100.0
    kth_highest = np.partition(negative, len(negative) - k)[len(negative) - k]
    return _percent(np.mean(positive > kth_highest))


def mean_reciprocal_rank(positive: np.ndarray, negative: np.ndarray) -> float:
    """Percent: the mean over edges of 1 / rank, each ranked among all non-edges: (p), (q) → figure.

    rank = 1 + (non-edges that score higher) + ½ (non-edges that score the same), the mean of the best and
    the worst rank that ties allow.

    >>> mean_reciprocal_rank(np.array([0.9, 0.5]), np.array([0.7, 0.6, 0.5, 0.5]))
    62.5
    """
    positive, negative = _checked_scores(positive, "positive"), _checked_scores(negative, "negative")
    ordered = np.sort(negative)
    higher = len(ordered) - np.searchsorted(ordered, positive, side="right")
    not_lower = len(ordered) - np.searchsorted(ordered, positive, side="left")
    return _percent(np.mean(1 / (1 + (higher + not_lower) / 2)))


def _checked_scores(scores: Any, what: str) -> np.ndarray:
    scores = np.asarray(scores)
    if scores.ndim != 1 or scores.dtype.kind not in "fiub":
        raise InputError(f"{what} must be a list of scores. Got {scores.dtype} of shape {scores.shape}.")
    if len(scores) == 0:
        raise InputError(f"{what} holds no scores. Pass at least one.")
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise InputError(f"{what}[{bad[0]}] is {scores[bad[0]]}. Scores must be finite: drop or replace it.")
    return scores.astype(np.float64)


def _percent(share: float | np.floating[Any]) -> float:
    # min: a sum of many small shares may end a rounding error above the whole
    return 100 * min(float(share), 1.0)
