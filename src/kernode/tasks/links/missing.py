"""The likeliest node pairs without an edge of a whole graph: every pair is scored, n × n is never held."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from kernode.compute.chunks import chunks
from kernode.errors import warn
from kernode.graph import positions
from kernode.graph.lookup import Positions
from kernode.progress import tell

if TYPE_CHECKING:
    from kernode.tasks.links.model import LinkModelOnGraph

_CELLS = 2**22  # scores in a block of rows, those of all runs counted
_JUDGED_AFTER = 2.0  # seconds: enough to foresee how long all pairs take
_LONG = 10.0  # minutes: whoever waits longer is told so
_ROOM = 1e-3  # of the largest log-odds: far more than a matrix product rounds otherwise than single pairs


def likeliest_pairs(on: LinkModelOnGraph, k: int) -> Positions:
    """The k likeliest pairs without an edge, (u, v) with u < v, of equals the first: k × 2.

    Rows are looked at block by block. A block's Gram matrix tells which of its pairs can be among the best;
    these are then scored one by one, as any pair is, so that no rounding of the matrix product decides.
    """
    n, runs = on.graph.n_nodes, len(on.model.seeds)
    best, odds = positions(np.empty((0, 2), np.int64)), np.empty(0)
    on.kernel  # noqa: B018 (what it takes is not the pairs')
    watch = _Watch(n)
    for rows in chunks(n, max(1, _CELLS // (n * runs))):
        watch.at(rows.start)
        found = _candidates(on, rows, k, odds[-1] if len(odds) == k else -np.inf)
        pairs, scores = np.concatenate([best, found]), np.concatenate([odds, on.log_odds(found)])
        first = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))[:k]
        best, odds = positions(pairs[first]), scores[first]
    return best


class _Watch:
    """Tells how far it is, in pairs, for later rows have fewer; warns once of what takes long."""

    def __init__(self, n: int) -> None:
        self.n, self.started, self.judged = n, time.monotonic(), False

    def at(self, row: int) -> None:
        """Before a row's block."""
        left, total = ((n * (n - 1)) // 2 for n in (self.n - row, self.n))
        tell("missing links: pairs", total - left, total)
        taken = time.monotonic() - self.started
        if self.judged or total == left or taken < _JUDGED_AFTER:
            return
        self.judged = True
        minutes = taken * total / (total - left) / 60
        if minutes >= _LONG:
            takes = f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
            warn(
                f"{total:,} pairs are scored, which will take about {takes}. Those of a single node take a "
                "moment."
            )


@torch.no_grad()
def _candidates(on: LinkModelOnGraph, rows: slice, k: int, least: float) -> Positions:
    """Pairs of some rows, each with a later node, that can be among the k best, ``least`` being the kth."""
    odds = _log_odds(on, rows)
    lower = torch.ones(odds.shape, dtype=torch.bool, device=odds.device).tril()  # with the diagonal
    known = on.known_edges[rows, rows.start :].tocoo()
    lower[torch.from_numpy(known.row).long(), torch.from_numpy(known.col).long()] = True
    room = _ROOM * (1 + float(odds.abs().max()))
    odds.masked_fill_(lower, -torch.inf)
    flat = odds.flatten()
    chosen = flat.ge(max(least - room, torch.finfo(flat.dtype).min)).nonzero()[:, 0]
    if len(chosen) > k:
        # k pairs have at least kth − room in truth: whatever seems to have 2 room less has less than they.
        kth = flat[chosen].topk(k).values[-1]
        chosen = chosen[flat[chosen] >= kth - 2 * room]
    at = chosen.cpu().numpy()
    return positions(rows.start + np.column_stack(np.unravel_index(at, tuple(odds.shape))))


def _log_odds(on: LinkModelOnGraph, rows: slice) -> Tensor:
    """log p / (1 − p) of pairs between some rows and all nodes from the first of them on, nearly: m × p."""
    some = torch.arange(rows.start, rows.stop, device=on.place.device)
    others = torch.arange(rows.start, on.graph.n_nodes, device=on.place.device)
    logits = on.model.method.logits_between(on.parameters, on.kernel.embedded, some, others)
    if len(logits) == 1:
        return logits[0]
    return logsigmoid(logits).logsumexp(dim=0) - logsigmoid(-logits).logsumexp(dim=0)
