"""The paper's costs (its section 4): multiply-adds of a pass, and numbers held, up to a constant factor.

‖M‖₀ counts non-zeros, V nodes, L layers; F is the width that the paper takes to be the same for all layers.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from kernode.graph import Graph


def time_of_ours(power_entries: int, nodes: int, width: int, layers: int) -> int:
    """‖Ā^h‖₀ F + L |V| F²: one aggregation, whatever the number of layers."""
    return power_entries * width + layers * nodes * width**2


def time_of_gcn(step_entries: int, nodes: int, width: int, layers: int) -> int:
    """L ‖Ā‖₀ F + L |V| F²: an aggregation in each layer."""
    return layers * step_entries * width + layers * nodes * width**2


def memory_of_ours(nodes: int, width: int, layers: int) -> int:
    """|V| F + L F²: one matrix of hidden states and all weights."""
    return nodes * width + layers * width**2


def memory_of_gcn(nodes: int, width: int, layers: int) -> int:
    """L |V| F + L F²: a matrix of hidden states for every layer."""
    return layers * nodes * width + layers * width**2


def power_entries(graph: Graph, hops: int) -> list[int]:
    """‖Ā^h‖₀ for h = 0 … H: pairs of nodes at most h edges apart."""
    step = (graph.adjacency + sparse.eye_array(graph.n_nodes, format="csr")).astype(bool)
    reached = sparse.eye_array(graph.n_nodes, format="csr", dtype=bool)
    counts = [graph.n_nodes]
    for _ in range(hops):
        reached = reached @ step
        counts.append(int(np.int64(reached.nnz)))
    return counts
