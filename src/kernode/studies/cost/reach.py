"""How far hops reach in a graph that is not at hand, expected from its number of nodes and edges alone.

Degrees are taken to follow a power law with exponent 3, as those of synthetic graphs do: the r-th of the
nodes has a degree in proportion to (r + 10)^(−1/2). Edges are taken to be drawn independently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernode.hops import HopCost, Powers, check_hops

_HUBS = 10.0  # kernode.data.block_model's, by which the largest degree stays far below n
_BINS = 128


@dataclass(frozen=True)
class Degrees:
    """Expected degrees, in bins of nodes that have about the same."""

    nodes: np.ndarray  # in each bin
    mean: np.ndarray  # of their degrees

    @classmethod
    def expected(cls, nodes: int, entries: int) -> Degrees:
        """Degrees of a graph with so many nodes and adjacency entries."""
        bounds = np.geomspace(_HUBS, nodes + _HUBS, min(nodes, _BINS) + 1)
        inside = np.diff(bounds)
        shares = np.diff(np.sqrt(bounds))
        return cls(inside, entries * shares / shares.sum() / inside)

    @property
    def walks(self) -> float:
        """Walks of two steps, Σ degree²; a drawn degree varies as Poisson's numbers do."""
        return float((self.nodes * (self.mean**2 + self.mean)).sum())

    @property
    def largest(self) -> float:
        """The largest expected degree."""
        return float(self.mean.max())

    def within(self, hops: int) -> tuple[float, ...]:
        """Pairs of nodes at most h = 0 … H edges apart, each node with itself included.

        A walk's next edge ends at a node in proportion to its degree, so of S edges that leave a node's
        neighbourhood some reach a node of degree d with chance 1 − exp(−S d / entries).
        """
        n, entries = self.nodes.sum(), (self.nodes * self.mean).sum()
        chance = self.mean / max(entries, 1.0)
        edges = self.mean.copy()  # that leave what is reached from a node of each bin
        pairs = [float(n), float(n + entries)]
        for _ in range(hops - 1):
            reached = -np.expm1(-np.outer(edges, chance))
            edges = self.mean + reached @ (self.nodes * self.mean)
            farther = -np.expm1(-np.outer(edges, chance)) @ self.nodes
            pairs.append(float(min(self.nodes @ (1 + farther), n * n)))
        return tuple(pairs[: hops + 1])


def expected_hop_cost(nodes: int, entries: int, hops: int, powers: Powers) -> HopCost:
    """What :func:`kernode.hops.hop_cost` would count; exact for a single hop.

    >>> expected_hop_cost(1_000_000, 10_000_000, 2, "each").within[:2]
    (1000000.0, 11000000.0)
    """
    check_hops(hops, powers)
    within = Degrees.expected(nodes, entries).within(hops)
    return HopCost(nodes, (float(nodes), float(nodes + entries), *within[2:]), hops == 1, powers)
