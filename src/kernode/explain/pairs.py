"""K(u, v) as a sum over pairs of neighbours, of which the largest are found without looking at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

_AT_A_TIME = 2**22  # products


@dataclass(frozen=True)
class Pairs:
    """The largest of the k × l pairs, by the magnitude of their mean over replicas."""

    left: np.ndarray  # p: places among the left node's parts
    right: np.ndarray  # p
    values: np.ndarray  # r × p

    @classmethod
    def of(cls, left: Tensor, right: Tensor, count: int) -> Pairs:
        """Of parts a (k × r × d) and b (l × r × d), with ⟨a, b⟩ of each replica.

        No pair is larger than the product of two norms. So parts are taken by their norms, the longest first,
        and each is paired only with those that could still make one of the largest.
        """
        k, r, d = left.shape
        a, b = left.reshape(k, r * d) / r, right.reshape(-1, r * d)  # then ⟨a, b⟩ is the mean over replicas
        (of_a, by_a), (of_b, by_b) = (x.norm(dim=1).sort(descending=True, stable=True) for x in (a, b))
        a, b, least = a[by_a], b[by_b], 0.0
        best = a.new_empty(0), by_a.new_empty(0), by_b.new_empty(0)
        start = 0
        while start < k:
            partners = int((of_b * of_a[start] >= least).sum())
            if not partners:
                break
            rows = max(1, _AT_A_TIME // partners)
            products = a[start : start + rows] @ b[:partners].T
            best = _largest(best, products, start, count)
            least = float(best[0][-1].abs()) if len(best[0]) == count else 0.0
            start += rows
        i, j = by_a[best[1]], by_b[best[2]]
        return cls(i.numpy(), j.numpy(), (left[i] * right[j]).sum(dim=2).T.numpy())


Best = tuple[Tensor, Tensor, Tensor]  # values, and where they stand: rows, columns


def _largest(best: Best, products: Tensor, start: int, count: int) -> Best:
    """The largest of those known and of a block whose first row is ``start``."""
    some = torch.topk(products.abs().flatten(), min(count, products.numel())).indices
    rows, columns = some // products.shape[1], some % products.shape[1]
    found = products[rows, columns], rows + start, columns
    joined = [torch.cat(both) for both in zip(best, found, strict=True)]
    order = torch.argsort(joined[0].abs(), descending=True, stable=True)[:count]
    values, i, j = (one[order] for one in joined)
    return values, i, j
