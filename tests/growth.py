"""Graphs that grow: what arrives, in stages, and the graph that it makes in the end."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from graphs import graphs
from kernode.graph import Graph


def edges_of(graph):
    upper = sparse.triu(graph.adjacency).tocoo()
    return np.stack([upper.row, upper.col], axis=1), upper.data


@st.composite
def growth(draw, stages=1, old_nodes=True):
    """A graph, what arrives in so many stages, and the graph in the end, built at once."""
    whole = draw(graphs())
    n, (edges, weights) = whole.n_nodes, edges_of(whole)
    sizes = [*sorted(draw(st.lists(st.integers(1, n), min_size=stages, max_size=stages))), n]
    # An edge comes at the stage of its later node at the earliest.
    earliest = np.array([next(s for s, size in enumerate(sizes) if edge.max() < size) for edge in edges])
    late = draw(st.lists(st.booleans(), min_size=len(edges), max_size=len(edges)))
    stage = np.array([stages if is_late else first for is_late, first in zip(late, earliest, strict=True)])
    first = Graph.from_edges(
        edges[stage == 0], whole.features[: sizes[0]], whole.labels[: sizes[0]], weights=weights[stage == 0],
        class_names=whole.class_names,
    )  # fmt: skip
    arrivals = []
    for s in range(1, stages + 1):
        again = (stage < s) & (np.arange(len(stage)) % 2 == 0)  # repeats, lighter than what is there
        new = stage == s
        rows = slice(sizes[s - 1], sizes[s])
        arrivals.append(
            {
                "features": whole.features[rows],
                "edges": np.concatenate([edges[new], edges[again][:, ::-1]]),
                "weights": np.concatenate([weights[new], weights[again] / 2]),
                "labels": whole.labels[rows],
            }
        )
    return first, arrivals, whole
