"""Ranking: linked pairs above others, and nodes of the same class above others. Figures are percentages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from kernode.compute.chunks import chunks
from kernode.errors import bad_setting

# Similarities ranked at a time: few on a CPU, so that they stay in its cache.
_NUMBERS, _NUMBERS_ON_CPU = 2**26, 2**18


def link_metrics(positive: np.ndarray, negative: np.ndarray) -> dict[str, float]:
    """Compare the scores of p edges with those of q non-edges: (p), (q) → figures in percent.

    - ``auc``: area under the ROC curve, the chance that an edge scores above a non-edge.
    - ``ap``: average precision, among all pairs that score at least as high as an edge.
    - ``hits_at_k``, k = 20, 50, 100: the share of edges that score strictly above the k-th highest non-edge,
      as in OGB; left out with fewer than k non-edges, where every edge is a hit.
    - ``mrr``: the mean of 1 / rank of an edge among all non-edges; ties have the mean of their ranks.

    >>> figures = link_metrics(np.array([0.9, 0.8, 0.3]), np.array([0.7, 0.2, 0.1]))
    >>> {name: round(figure, 1) for name, figure in figures.items()}
    {'auc': 88.9, 'ap': 91.7, 'mrr': 83.3}
    """
    positive, negative = np.array(positive, np.float64), np.array(negative, np.float64)
    for name, scores in (("positive", positive), ("negative", negative)):
        if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
            raise bad_setting(name, "a list of finite scores, at least one", scores)
    edges, others = np.sort(positive), np.sort(negative)
    right = len(edges) - np.searchsorted(edges, positive)  # edges that score as high or higher
    not_lower = len(others) - np.searchsorted(others, positive)
    higher = len(others) - np.searchsorted(others, positive, side="right")
    shares = {
        "ap": right / (right + not_lower),
        **{f"hits_at_{k}": positive > others[-k] for k in (20, 50, 100) if k <= len(others)},
        "mrr": 1 / (1 + (higher + not_lower) / 2),
    }
    area = auc(torch.from_numpy(positive)[None], torch.from_numpy(negative)[None])
    # min: a sum of many small shares may end a rounding error above the whole
    return {"auc": float(area[0])} | {
        name: 100 * min(float(np.mean(one)), 1.0) for name, one in shares.items()
    }


def auc(positive: Tensor, negative: Tensor) -> Tensor:
    """Return the area under the ROC curve, ties counted half: (r × p), (r × q) → r, in float64.

    >>> auc(torch.tensor([[0.9, 0.4]]), torch.tensor([[0.1, 0.4]]))
    tensor([87.5000], dtype=torch.float64)
    """
    ordered = negative.sort(dim=1).values
    below_ = torch.searchsorted(ordered, positive.contiguous())
    up_to = torch.searchsorted(ordered, positive.contiguous(), right=True)
    return 50 * (below_ + up_to).double().mean(dim=1) / negative.shape[1]


@torch.no_grad()
def retrieval_by_blocks(
    similarity: Callable[[slice], Tensor], replicas: int, labels: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """Return mean average precision and precision at k of r × m × m similarities: r each, in float64.

    ``similarity`` gives a block of rows, r × b × m. Every node ranks all others, and is a query where another
    node has its label (m, or q × m where replicas differ); a label below 0 is not a class. Similarities are
    compared in float32, and of equal ones the first node comes first. Without a query the figures are NaN.

    >>> similarity = torch.tensor([[[1.0, 0.2, 0.9], [0.2, 1.0, 0.4], [0.9, 0.4, 1.0]]])
    >>> retrieval_by_blocks(lambda rows: similarity[:, rows], 1, torch.tensor([0, 0, 1]), k=1)
    (tensor([50.], dtype=torch.float64), tensor([0.], dtype=torch.float64))
    """
    labels = labels if labels.dim() == 2 else labels[None]
    m = labels.shape[1]
    numbers = _NUMBERS_ON_CPU if labels.device.type == "cpu" else _NUMBERS
    # In place: small tensors that outlive the large ones between them leave a heap full of holes.
    figures = torch.empty(3, max(replicas, len(labels)), m, dtype=torch.float64, device=labels.device)
    for rows in chunks(max(1, m), max(1, numbers // max(1, replicas * m))):
        hits = _ranked_hits(similarity(rows), labels, rows)
        for figure, values in zip(figures, _of_queries(hits, k), strict=True):
            figure[:, rows] = values
    precision, at_k, is_query = figures
    queries = is_query.sum(dim=1)
    return 100 * precision.sum(dim=1) / queries, 100 * at_k.sum(dim=1) / queries


def _ranked_hits(similarity: Tensor, labels: Tensor, rows: slice) -> Tensor:
    """Return 1 where the i-th most similar other node has the query's class, else 0: r × b × (m − 1).

    What is sorted are integers: the order of the similarities, then the node's place, then the hit.
    """
    own = labels[:, rows, None]
    hits = (own == labels[:, None]) & (own >= 0)
    places = torch.arange(labels.shape[1], device=labels.device)
    bits = (0 - similarity.float()).view(torch.int32)  # the most similar first; and −0 becomes 0
    bits ^= (bits >> 31) & 0x7FFFFFFF  # as integers, floats below 0 are ordered backwards
    keys = bits.long().bitwise_left_shift_(32).bitwise_or_(2 * places + hits)
    keys[:, :, rows].diagonal(dim1=1, dim2=2).fill_(torch.iinfo(torch.int64).max)  # itself: last, and cut off
    return _sorted(keys)[..., :-1] & 1


def _sorted(keys: Tensor) -> Tensor:
    if keys.device.type != "cpu":
        return keys.sort(dim=-1).values
    keys.numpy().sort(axis=-1)  # seven times as fast as torch's sort on a processor
    return keys


def _of_queries(hits: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return average precision, precision at k, and whether another node has the class: r × b each."""
    others = hits.shape[-1]
    ranks = torch.arange(1, others + 1, dtype=torch.float64, device=hits.device)
    total = hits.sum(dim=-1)
    average = hits.cumsum(dim=-1).mul_(hits).double() @ ranks.reciprocal() / total.clamp_min(1)
    return average, hits[..., :k].sum(dim=-1).double() / max(1, min(k, others)), total > 0
