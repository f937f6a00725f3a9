"""Cost of the hop operator before it is built, and the choice between explicit and factored."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from kernode.compute.machine import free_bytes, readable
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.hops.matrices import Powers, check_hops
from kernode.io.sizes import GraphSizes

SAMPLED_ROWS = 4096  # most rows whose neighbourhoods are counted
SAMPLED_ENTRIES = 2**25  # most entries in memory while counting
ENTRY_BYTES = 12  # a float64 and its int32 column, while matrices are built
BUILDING = 4  # copies of the largest pattern in memory at the peak of building


@dataclass(frozen=True)
class HopCost:
    """Entries of the patterns within h = 0 … H hops (estimated by sampling where the graph is large)."""

    nodes: int
    within: tuple[float, ...]  # entries of the pattern of distance ≤ h
    powers: Powers

    @property
    def hops(self) -> int:
        """H."""
        return len(self.within) - 1

    @property
    def explicit(self) -> float:
        """Multiply-adds per column of a product with all terms held whole."""
        if self.powers == "plain":
            return sum(self.within)
        return self.within[-1] + (0.0 if self.powers == "each" else self._near)

    @property
    def factored(self) -> float:
        """Multiply-adds per column of H products with Ā and the corrections on shorter patterns."""
        return self.hops * self.within[1] + self._near

    @property
    def _near(self) -> float:
        """Entries of the terms on shorter patterns."""
        if self.powers == "plain":
            return 0.0
        if self.powers == "released":
            return self.nodes
        return self.within[-2] if self.powers == "last" else sum(self.within[1:-1])

    @property
    def kind(self) -> str:
        """The cheaper of the two."""
        return "factored" if self.factored < self.explicit else "explicit"

    def building_bytes(self, kind: str) -> float:
        """Peak memory of building."""
        if self.powers == "plain" and kind == "factored":
            return ENTRY_BYTES * self.within[1] * BUILDING
        largest = self.within[-1] if kind == "explicit" else max(self.within[1], self.within[-2])
        return ENTRY_BYTES * BUILDING * largest

    def reason(self) -> str:
        """Why the cheaper kind is cheaper, in a sentence."""
        other = "explicit" if self.kind == "factored" else "factored"
        takes, would = (f"{getattr(self, kind):,.0f}" for kind in (self.kind, other))
        return f"{self.kind}: {takes} multiply-adds per column, {other} would take {would}"

    def require_memory(self, kind: str) -> None:
        """Raise if the operator does not fit into memory."""
        need, free = self.building_bytes(kind), free_bytes()
        if need > free:
            raise InputError(
                f"{self.hops} hops on this graph take about {readable(need)} of memory to build and "
                f"{readable(free)} are free. Use fewer hops, or plain powers, the unmasked powers of Ā, "
                "which need no more than the graph itself.",
                "too-large", need=need, free=free, setting="hops",
            )  # fmt: skip


# Cached: a run needs it for the memory check, for building the operator and for predictions.
_COUNTED: WeakKeyDictionary[Graph, dict[tuple[int, Powers], HopCost]] = WeakKeyDictionary()


def hop_cost(graph: Graph, hops: int, powers: Powers = "each") -> HopCost:
    """Count the neighbourhoods of all nodes, or of evenly spread ones where there are many."""
    check_hops(hops, powers)
    counted = _COUNTED.setdefault(graph, {})
    if (hops, powers) not in counted:
        counted[hops, powers] = _count(graph, hops, powers)
    return counted[hops, powers]


def cost_of(sizes: GraphSizes, hops: int, powers: Powers = "each") -> HopCost:
    """Count the neighbourhoods of a graph in memory; of any other, assume the mean degree at every hop.

    >>> from kernode.io.sizes import look_up
    >>> cost_of(look_up("synthetic:nodes=1000000"), 2).within
    (1000000.0, 11000000.0, 121000000.0)
    """
    if sizes.graph is not None:
        return hop_cost(sizes.graph, hops, powers)
    check_hops(hops, powers)
    n, reached = float(sizes.nodes), sizes.step_entries / max(1, sizes.nodes)
    return HopCost(sizes.nodes, tuple(n * min(n, reached**h) for h in range(hops + 1)), powers)


def _count(graph: Graph, hops: int, powers: Powers) -> HopCost:
    n = graph.n_nodes
    step = (graph.adjacency + sparse.eye_array(n, format="csr")).astype(bool)
    known = (float(n), float(step.nnz))
    if hops == 1:
        return HopCost(n, known, powers)
    if powers == "plain":  # H products with Ā always: no pattern within more hops is ever held
        return HopCost(n, (*known, *(known[1:] * (hops - 1))), powers)
    rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLED_ROWS)).astype(np.int64))
    chunks = -(-len(rows) // max(1, SAMPLED_ENTRIES // (2 * n)))
    counts, counted = np.zeros(hops - 1), 0
    for i in range(chunks):
        reached = step[rows[i::chunks]]  # each chunk is spread evenly, so that counting may stop after any
        counted += reached.shape[0]
        for h in range(hops - 1):
            reached = reached @ step
            counts[h] += reached.nnz
        if counts.sum() > SAMPLED_ENTRIES:
            break
    return HopCost(n, (*known, *(counts * n / counted).tolist()), powers)
