"""What the hop operator will cost on a graph that is not at hand, from its number of nodes and edges alone.

Degrees are taken to follow a power law with exponent 3, as those of synthetic graphs do: the r-th of the
nodes has a degree in proportion to (r + 10)^(−1/2). Edges are taken to be drawn independently.
"""

from __future__ import annotations

import numpy as np

from kernode.hops.cost import HopCost, hop_cost
from kernode.hops.matrices import Powers, check_hops
from kernode.io.sizes import GraphSizes

_HUBS = 10.0  # kernode.io.synthetic's, by which the largest degree stays far below n
_BINS = 128


def cost_of(sizes: GraphSizes, hops: int, powers: Powers = "each") -> HopCost:
    """Neighbourhoods counted where the graph is at hand, expected where it is not; exact for a single hop.

    >>> from kernode.io.sizes import look_up
    >>> cost_of(look_up("synthetic:nodes=1000000"), 2).within[:2]
    (1000000.0, 11000000.0)
    """
    if sizes.graph is not None:
        return hop_cost(sizes.graph, hops, powers)
    check_hops(hops, powers)
    known = (float(sizes.nodes), float(sizes.step_entries))
    farther = _farther(*_degrees(sizes.nodes, sizes.entries), hops)
    return HopCost(sizes.nodes, (*known, *farther), hops == 1, powers)


def _degrees(nodes: int, entries: int) -> tuple[np.ndarray, np.ndarray]:
    """How many nodes are in each bin of nodes with about the same degree, and their mean degree."""
    bounds = np.geomspace(_HUBS, nodes + _HUBS, min(nodes, _BINS) + 1)
    inside, shares = np.diff(bounds), np.diff(np.sqrt(bounds))
    return inside, entries * shares / shares.sum() / inside


def _farther(nodes: np.ndarray, degree: np.ndarray, hops: int) -> list[float]:
    """Pairs of nodes at most h = 2 … H edges apart, each node with itself included.

    A walk's next edge ends at a node in proportion to its degree, so of S edges that leave a node's
    neighbourhood some reach a node of degree d with chance 1 − exp(−S d / entries).
    """
    n, entries = nodes.sum(), (nodes * degree).sum()
    chance = degree / max(entries, 1.0)
    leaving = degree.copy()  # edges that leave what is reached from a node of each bin
    pairs = []
    for _ in range(hops - 1):
        reached = -np.expm1(-np.outer(leaving, chance))
        leaving = degree + reached @ (nodes * degree)
        farther = -np.expm1(-np.outer(leaving, chance)) @ nodes
        pairs.append(float(min(nodes @ (1 + farther), n * n)))
    return pairs
