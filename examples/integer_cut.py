"""What the paper's released program computes, on five nodes in a row: its middle term is cut to zero.

    python examples/integer_cut.py

The program (github.com/bluer555/KernelGCN, `get_adjs`) takes the adjacency matrix as networkx gives it, an
array of integers, and writes into that very array what Ā² has on the edges. Every entry is below 1, and an
array of integers keeps none of it. This is the same in our own words.
"""

from __future__ import annotations

import numpy as np

from kernode import Graph
from kernode.hops import hop_matrices

edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
graph = Graph.from_edges(edges, features=np.eye(5))


def terms(one_hop: np.ndarray) -> list[np.ndarray]:
    """diag(Ā²), Ā² on the edges, and Ā²: the second in the array of numbers that it is given."""
    with_loops = one_hop + np.eye(5)
    scale = with_loops.sum(axis=0) ** -0.5
    squared = np.linalg.matrix_power(scale[:, None] * with_loops * scale, 2)
    on_edges = one_hop > 0
    one_hop[on_edges] = squared[on_edges]
    return [np.diag(np.diag(squared)), one_hop, squared]


adjacency = graph.adjacency.toarray()
intended, computed = terms(adjacency.astype(float)), terms(adjacency.astype(int))
print("Ā² on the edges, in an array of floating-point numbers:", intended[1].round(2), sep="\n")
print("the same in an array of integers:", computed[1], sep="\n")
for powers, program in (("last", intended), ("released", computed)):
    ours = [term.toarray() for term in hop_matrices(graph, 2, powers)]
    print(f'powers="{powers}" differs from it by {np.abs(np.subtract(ours, program)).max():.0e}')
