"""Neighbourhoods of nodes, found without going through the rest of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from kernode.graph.adjacency import ADJACENCIES, FEATURES
from kernode.graph.graph import Graph


def spheres(graph: Graph, nodes: Any, radius: int) -> Iterator[np.ndarray]:
    """Yield the nodes exactly 0, 1, … ``radius`` edges away from the nearest of some nodes, ascending.

    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)], np.eye(5))
    >>> [sphere.tolist() for sphere in spheres(path, [1], 2)]
    [[1], [0, 2], [3]]
    """
    seen = np.zeros(graph.n_nodes, bool)
    sphere = np.unique(np.asarray(nodes, dtype=np.int64))
    seen[sphere] = True
    yield sphere
    for _ in range(radius):
        if len(sphere):
            reached = np.zeros(graph.n_nodes, bool)
            reached[graph.adjacency[sphere].indices] = True
            sphere = np.flatnonzero(reached & ~seen)
            seen[sphere] = True
        yield sphere


def ball(graph: Graph, nodes: Any, radius: int) -> np.ndarray:
    """Return the nodes at most ``radius`` edges away from some nodes, ascending."""
    return np.sort(np.concatenate(list(spheres(graph, nodes, radius))))


def entries(graph: Graph, nodes: np.ndarray) -> int:
    """Count the adjacency entries in the rows of some nodes."""
    starts = graph.adjacency.indptr
    return int((starts[nodes + 1] - starts[nodes]).sum())


def degrees(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """Return the weighted degrees of some nodes, in float64."""
    return graph.adjacency[nodes].astype(np.float64).sum(axis=1)


def places(nodes: np.ndarray, n: int) -> np.ndarray:
    """Return the position of each of n nodes in a list of some, counted from 1; 0 where it is not in it."""
    table = np.zeros(n, np.int64)  # from 1, because pages of zeros cost nothing until they are written to
    table[nodes] = np.arange(1, len(nodes) + 1)
    return table


def induced(graph: Graph, nodes: np.ndarray) -> Graph:
    """Return the graph of some nodes (ascending) and of all edges between them, without labels or targets.

    >>> induced(Graph.from_edges([(0, 1), (1, 2), (2, 3)], np.eye(4)), np.array([0, 1, 3]))
    Graph('graph': 3 nodes, 1 edges, 4 features, 0 classes)
    """
    rows = graph.adjacency[nodes]
    column = places(nodes, graph.n_nodes)[rows.indices] - 1
    inside = column >= 0
    starts = np.concatenate([[0], np.cumsum(inside)])[rows.indptr]
    index = rows.indices.dtype
    adjacency = sparse.csr_array(
        (rows.data[inside], column[inside].astype(index), starts.astype(index)),
        shape=(len(nodes), len(nodes)),
    )
    # Parts of a verified matrix are verified, too: symmetric and finite like the whole, in their own memory.
    return Graph(
        ADJACENCIES.add(adjacency),
        FEATURES.add(graph.features[nodes]),
        np.full(len(nodes), -1),
        name=graph.name,
    )
