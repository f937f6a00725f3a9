"""How well similarities find nodes of one's own class: every node ranks all others. Figures in percent."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from kernode.compute.chunks import chunks

# So many similarities are ranked at a time. On a processor few, so that they stay in its cache.
_NUMBERS, _NUMBERS_ON_CPU = 2**26, 2**18


def retrieval(similarity: Tensor, labels: Tensor, k: int = 10) -> tuple[Tensor, Tensor]:
    """Mean average precision, and precision among the k others most alike: r × m × m → r each, in float64.

    A node is never ranked against itself, and is no query where no other node has its label (m, or q × m
    where replicas differ); a label below 0 is no class. Similarities are compared in float32, and of equal
    ones the first node comes first. Without a single query the figures are NaN.

    >>> similarity = torch.tensor([[[1.0, 0.2, 0.9], [0.2, 1.0, 0.4], [0.9, 0.4, 1.0]]])
    >>> retrieval(similarity, torch.tensor([0, 0, 1]), k=1)
    (tensor([50.], dtype=torch.float64), tensor([0.], dtype=torch.float64))
    """
    return retrieval_by_blocks(lambda rows: similarity[:, rows], len(similarity), labels, k)


@torch.no_grad()
def retrieval_by_blocks(
    similarity: Callable[[slice], Tensor], replicas: int, labels: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """The same for similarities that are computed some rows (r × b × m) at a time: no more are held."""
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
    """1 where the i-th most alike of the others is of the query's class, else 0: r × b × (m − 1).

    What is sorted are integers: the order of the similarities, then the node's place, then the hit.
    """
    own = labels[:, rows, None]
    hits = (own == labels[:, None]) & (own >= 0)
    places = torch.arange(labels.shape[1], device=labels.device)
    bits = (0 - similarity.float()).view(torch.int32)  # the most alike first; and −0 becomes 0
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
    """Average precision, precision at k, and whether there was anything to find: r × b each."""
    others = hits.shape[-1]
    ranks = torch.arange(1, others + 1, dtype=torch.float64, device=hits.device)
    total = hits.sum(dim=-1)
    average = hits.cumsum(dim=-1).mul_(hits).double() @ ranks.reciprocal() / total.clamp_min(1)
    return average, hits[..., :k].sum(dim=-1).double() / max(1, min(k, others)), total > 0
