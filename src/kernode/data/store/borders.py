"""Where a graph is cut into parts, and which parts a process reads."""

from __future__ import annotations

import numpy as np

from kernode.errors import InputError

ROW = 16  # entries that a node costs beside its own


def borders(entries: np.ndarray, parts: int) -> np.ndarray:
    """Where ``parts`` runs of nodes begin and end, alike by entries + 16 · nodes: ``parts + 1`` numbers.

    ``entries``: of each node's row of the adjacency.

    >>> borders(np.array([100, 0, 0, 0, 0, 0, 0, 0]), 2)
    array([0, 1, 8])
    """
    n = len(entries)
    require_parts(parts)
    if parts > n:
        raise InputError(f"{n:,} nodes cannot be cut into {parts:,} parts. Ask for {n:,} at most.")
    return runs(np.asarray(entries, np.int64) + ROW, int(parts))


def require_parts(parts: int) -> None:
    """Raise unless a graph can be cut into so many, were it large enough."""
    if not isinstance(parts, int | np.integer) or isinstance(parts, bool) or parts < 1:
        raise InputError(f"parts must be an integer ≥ 1. Got {parts!r}.")


def runs(costs: np.ndarray, count: int) -> np.ndarray:
    """Cut items into ``count`` runs of about the same cost, none of them empty: ``count + 1`` numbers."""
    upto = np.cumsum(costs, dtype=np.float64)
    targets = upto[-1] * np.arange(1, count) / count
    after = np.searchsorted(upto, targets)  # the run's last item reaches the target
    before = np.where(after > 0, upto[after - 1], 0)
    cuts = after + (upto[after] - targets <= targets - before)  # whichever border is nearer
    # At least one item in each: not before as many items as there are runs, and as many left after it.
    first = np.arange(1, count)
    cuts = np.maximum.accumulate(np.maximum(cuts, first) - first) + first
    cuts = np.minimum(cuts, len(costs) - count + first)
    return np.concatenate([[0], cuts, [len(costs)]]).astype(np.int64)
