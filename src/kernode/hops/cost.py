"""What the hop operator will cost, before anything is computed, and the choice that follows."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from kernode.compute.free_memory import free_bytes, readable
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.hops.matrices import Powers, check_hops

SAMPLED_ROWS = 4096  # rows whose neighbourhoods are counted when a graph has more
SAMPLED_ENTRIES = 2**25  # and the most entries that the counting may hold
ENTRY_BYTES = 12  # a float64 and its int32 column, while matrices are built
BUILDING = 4  # copies of the largest pattern alive at the worst moment of building
SURE = 0.5  # of what is estimated and not counted: so much there is in any case


@dataclass(frozen=True)
class HopCost:
    """Entries of the patterns within h = 0 … H hops (estimated by sampling where the graph is large)."""

    nodes: int
    within: tuple[float, ...]  # entries of the pattern of distance ≤ h
    exact: bool  # counted, not estimated
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
        """The same for H products with Ā and the corrections, which lie on shorter patterns."""
        return self.hops * self.within[1] + self._near

    @property
    def _near(self) -> float:
        """Entries of what stands beside Ā, or where the last term is the whole of Ā^H, beside that."""
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
        """Memory that building takes at its worst moment."""
        if self.powers == "plain" and kind == "factored":
            return ENTRY_BYTES * self.within[1] * BUILDING
        largest = self.within[-1] if kind == "explicit" else max(self.within[1], self.within[-2])
        return ENTRY_BYTES * BUILDING * largest

    def held_bytes(self, kind: str, bytes_per_number: int) -> float:
        """Memory of the finished operator."""
        entries = self.explicit if kind == "explicit" else self.factored - (self.hops - 1) * self.within[1]
        return entries * (bytes_per_number + 4)

    def least_held_bytes(self, bytes_per_number: int) -> float:
        """Memory of the finished operator of the cheaper kind, at least."""
        return self._sure * self._least_entries * (bytes_per_number + 4)

    def least_building_bytes(self) -> float:
        """Main memory that no way of building the operator of the cheaper kind does without."""
        built = 2 * ENTRY_BYTES * self._least_entries  # its terms, and all of them in one piece
        if self.kind == "factored" and self.powers == "each" and self.hops > 2:
            # N, N^(H−1), which has an entry wherever the distance is H − 1, and the pattern within that.
            farthest = self.within[-2] - self.within[-3]
            built = max(built, ENTRY_BYTES * (self._least_entries + farthest) + 5 * self.within[-2])
        return self._sure * built

    def least_terms_bytes(self) -> float:
        """Main memory of the matrices of the definition, at least: :func:`kernode.hops.hop_matrices`."""
        return self._sure * ENTRY_BYTES * self.explicit

    @property
    def _least_entries(self) -> float:
        """Entries of the operator that any graph has: T_0 = I is not held, and a C_h may be all zeros."""
        identity = self.nodes if self.powers in ("each", "plain") else 0
        if self.kind == "explicit":
            return self.explicit - identity
        step = self.within[1] - (self.nodes if self.powers == "each" else 0)  # N has no diagonal, Ā has
        return step + (0.0 if self.powers == "each" else self._near)

    @property
    def _sure(self) -> float:
        return 1.0 if self.exact else SURE

    def reason(self) -> str:
        """Why the cheaper one is cheaper, in a sentence."""
        if self.powers == "plain":
            return f"factored: {self.factored:,.0f} multiply-adds per column, in {self.hops} products with Ā"
        sign = "" if self.exact else "about "
        return (
            f"{self.kind}: {sign}{min(self.factored, self.explicit):,.0f} multiply-adds per column, "
            f"{'explicit' if self.kind == 'factored' else 'factored'} would take "
            f"{sign}{max(self.factored, self.explicit):,.0f}"
        )

    def require_memory(self, kind: str) -> None:
        """Raise before a computation that cannot fit."""
        need, free = self.building_bytes(kind), free_bytes()
        if free is not None and need > free:
            raise InputError(
                f"{self.hops} hops on this graph take about {readable(need)} of memory to build and "
                f"{readable(free)} are free. Use fewer hops, or powers='plain' (--powers plain), "
                "the unmasked powers of Ā, which need no more than the graph itself."
            )


# Counted once: a run asks for it when it is checked, when the operator is built and when nodes are answered.
_COUNTED: WeakKeyDictionary[Graph, dict[tuple[int, Powers], HopCost]] = WeakKeyDictionary()


def hop_cost(graph: Graph, hops: int, powers: Powers = "each") -> HopCost:
    """Count the neighbourhoods of all nodes, or of evenly spread ones where there are many."""
    check_hops(hops, powers)
    counted = _COUNTED.setdefault(graph, {})
    if (hops, powers) not in counted:
        counted[hops, powers] = _count(graph, hops, powers)
    return counted[hops, powers]


def _count(graph: Graph, hops: int, powers: Powers) -> HopCost:
    n = graph.n_nodes
    step = _pattern(graph)
    known = (float(n), float(step.nnz))
    if hops == 1:
        return HopCost(n, known, True, powers)
    if powers == "plain":  # H products with Ā always: no pattern within more hops is ever held
        return HopCost(n, (*known, *(known[1:] * (hops - 1))), True, powers)
    rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLED_ROWS)).astype(np.int64))
    chunks = -(-len(rows) // max(1, SAMPLED_ENTRIES // (2 * n)))
    counts, counted = np.zeros(hops - 1), 0
    for i in range(chunks):
        reached = step[rows[i::chunks]]  # each chunk is spread evenly, so that one may stop after any
        counted += reached.shape[0]
        for h in range(hops - 1):
            reached = reached @ step
            counts[h] += reached.nnz
        if counts.sum() > SAMPLED_ENTRIES:
            break
    return HopCost(n, (*known, *(counts * n / counted).tolist()), counted == n, powers)


def _pattern(graph: Graph) -> sparse.csr_array:
    return (graph.adjacency + sparse.eye_array(graph.n_nodes, format="csr")).astype(bool)
