"""Some rows of the matrices of Eq. 7, computed from the nodes around them alone."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from kernode.graph import Graph
from kernode.graph.neighbourhoods import degrees, places, spheres
from kernode.hops.matrices import Powers, check_hops, scaled, terms_at


def hop_rows(
    graph: Graph, hops: int, powers: Powers, rows: np.ndarray
) -> tuple[np.ndarray, list[sparse.csr_array]]:
    """Return the k nodes within H hops of m rows, ascending, and T_h for h = 0 … H on them: m × k each.

    It reads the degrees of nodes within H hops and the edges of those within H − 1.

    >>> path = Graph.from_edges([(i, i + 1) for i in range(9)], np.ones((10, 1)))
    >>> hop_rows(path, 2, "each", np.array([4]))[0]
    array([2, 3, 4, 5, 6])
    """
    check_hops(hops, powers)
    found = list(spheres(graph, rows, hops))
    columns, inner = (np.sort(np.concatenate(part)) for part in (found, found[:-1]))
    place, k = places(columns, graph.n_nodes), len(columns)
    edges = graph.adjacency[inner]
    starts = np.zeros(k + 1, edges.indptr.dtype)
    starts[place[inner]] = np.diff(edges.indptr)  # places count from 1, as the ends of rows do
    step = sparse.csr_array(
        (edges.data.astype(np.float64), place[edges.indices] - 1, np.cumsum(starts)), shape=(k, k)
    )
    # Rows of the outermost nodes have no edges: no walk goes on there.
    step = scaled((step + sparse.eye_array(k, format="csr")).tocsr(), (degrees(graph, columns) + 1) ** -0.5)
    m, at = len(rows), place[rows] - 1
    own = sparse.csr_array((np.ones(m), at, np.arange(m + 1)), shape=(m, k))
    return columns, terms_at(own, step, hops, powers)
