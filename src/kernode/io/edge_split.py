"""A split of a graph's edges, for link prediction: what is held out never reaches the training graph."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError, bad_setting
from kernode.graph import Graph, positions
from kernode.graph.adjacency import from_upper
from kernode.graph.edits import with_edges
from kernode.io.node_split import seeded
from kernode.io.synthetic import is_among

_PARTS = ("validation", "validation_negatives", "test", "test_negatives")


@dataclass(frozen=True, eq=False, repr=False)
class EdgeSplit:
    """A graph of training edges, and the edges and non-edges held out from it.

    - ``graph``: all nodes, only the training edges.
    - ``validation``, ``test``: m × 2, the edges held out.
    - ``validation_negatives``, ``test_negatives``: m × 2, pairs without an edge.

    Every row is (u, v) with u < v. No pair is in two parts, or in a part and in ``graph``.

    >>> path = Graph.from_edges([(0, 1), (1, 2)], features=np.eye(5))
    >>> EdgeSplit(path, validation=[(2, 3)], validation_negatives=[(0, 2)], test=[(4, 3)], test_negatives=[])
    EdgeSplit(2 training, 1 validation, 1 test edges; 1 validation, 0 test negatives)
    """

    graph: Graph
    validation: np.ndarray
    validation_negatives: np.ndarray
    test: np.ndarray
    test_negatives: np.ndarray

    def __post_init__(self) -> None:
        for part in _PARTS:
            pairs = positions(np.sort(_checked_pairs(getattr(self, part), self.graph.n_nodes, part), axis=1))
            pairs.setflags(write=False)
            object.__setattr__(self, part, pairs)
            _refuse(pairs[pairs[:, 0] == pairs[:, 1]], f"split.{part}", "joins a node with itself. Drop it.")
            known = pairs[is_edge(self.graph.adjacency, pairs)]
            _refuse(known, f"split.{part}", "is an edge of the training graph. Remove it from one of them.")
        together = np.concatenate([getattr(self, part) for part in _PARTS])
        distinct, counts = np.unique(together, axis=0, return_counts=True)
        _refuse(distinct[counts > 1], "split", "is held out more than once. Keep it in one part, once.")

    def __repr__(self) -> str:
        return (
            f"EdgeSplit({self.graph.n_edges:,} training, {len(self.validation):,} validation, "
            f"{len(self.test):,} test edges; {len(self.validation_negatives):,} validation, "
            f"{len(self.test_negatives):,} test negatives)"
        )


def split_edges(graph: Graph, seed: int = 0, validation: float = 0.05, test: float = 0.10) -> EdgeSplit:
    """Hold out edges at random, and as many non-edges of the full graph (Kipf & Welling 2016, VGAE).

    Of m edges, ⌊validation · m⌋ and ⌊test · m⌋ are held out and the rest is for training. Unlike VGAE's
    own code, no negative is ever a held-out edge, and none serves both in validation and in test.

    >>> from kernode.io import load_graph
    >>> split_edges(load_graph("cora"), seed=0)
    EdgeSplit(4,488 training, 263 validation, 527 test edges; 263 validation, 527 test negatives)
    """
    random = seeded(seed)
    n_validation, n_test = _held_out_counts(graph, validation=validation, test=test)
    held_out = n_validation + n_test
    upper = sparse.triu(graph.adjacency, format="coo")  # every edge once, u < v, in the order of (u, v)
    edges = np.column_stack([upper.row, upper.col]).astype(np.int64)
    order = random.permutation(len(edges))
    negatives = draw_non_edges(graph, edges, held_out, random)
    kept = order[held_out:]
    training = sparse.csr_array((upper.data[kept], tuple(edges[kept].T)), shape=upper.shape)
    return EdgeSplit(
        graph=with_edges(graph, from_upper(training)),
        validation=edges[order[:n_validation]],
        validation_negatives=negatives[:n_validation],
        test=edges[order[n_validation:held_out]],
        test_negatives=negatives[n_validation:],
    )


def is_edge(adjacency: sparse.csr_array, pairs: Any) -> np.ndarray:
    """Whether each pair of nodes is an edge: (n × n), (m × 2) → m booleans, in O((m + edges) log edges).

    >>> path = Graph.from_edges([(0, 1), (1, 2)], features=np.eye(3))
    >>> is_edge(path.adjacency, [(1, 0), (0, 2), (1, 2)])
    array([ True, False,  True])
    """
    n = adjacency.shape[0]
    source, target = _checked_pairs(pairs, n, "pairs").T
    rows, columns = adjacency.nonzero()
    # stable: linear where the keys come sorted, as those of a Graph do
    return is_among(source * n + target, np.sort(rows.astype(np.int64) * n + columns, kind="stable"))


def _checked_pairs(pairs: Any, n: int, what: str) -> np.ndarray:
    pairs = np.asarray(pairs)
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise bad_setting(what, "an m × 2 array of node indices", f"{pairs.dtype} of shape {pairs.shape}")
    outside = pairs[(pairs < 0) | (pairs >= n)]
    if outside.size:
        sentence = f"{what}: node {outside[0]} is not in the graph; nodes run from 0 to {n - 1}."
        raise InputError(sentence, "unknown", what="node", name=int(outside[0]))
    return pairs.astype(np.int64)


def _refuse(pairs: np.ndarray, where: str, why: str) -> None:
    if len(pairs):
        raise InputError(f"{where}: the pair ({pairs[0, 0]}, {pairs[0, 1]}) {why}", "conflict")


def _held_out_counts(graph: Graph, **fractions: float) -> list[int]:
    """How many edges each part holds out."""
    m = graph.n_edges
    counts: list[int] = []
    for part, value in fractions.items():
        if not isinstance(value, Real) or not 0 < value < 1:
            raise bad_setting(part, "a fraction between 0 and 1, both excluded", value)
        # Exact: 0.29 · 100 edges are 29, though the product of the floats is 28.999999999999996.
        share = Fraction(str(float(value)))
        counts.append(math.floor(share * m))
        if not counts[-1]:
            sentence = f"The graph '{graph.name}' has {m:,} edges, and {part}={value} of them is not one. "
            sentence += f"Raise {part}, or use a graph with at least {math.ceil(1 / share):,} edges."
            raise InputError(sentence, "too-few", setting=part)
    if sum(counts) >= m or sum(fractions.values()) >= 1:
        must_be = "together with test less than 1, to leave edges for training"
        raise bad_setting("validation", must_be, fractions["validation"])
    return counts


def draw_non_edges(graph: Graph, edges: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """Draw distinct non-edges, all equally likely, in random order: count × 2, in memory O(n + m + count).

    The n(n−1)/2 pairs are ranked as (0, 1), (0, 2), …, (n−2, n−1). Numbers are drawn among the non-edges
    alone and then lifted over the edges ranked before them, so nothing is rejected and a nearly complete
    graph costs no more than a sparse one.
    """
    n = graph.n_nodes
    available = n * (n - 1) // 2 - len(edges)
    if available < count:
        sentence = (
            f"The graph '{graph.name}' has {available:,} pairs without an edge, and the split needs "
            f"{count:,} of them as negatives. Lower validation or test."
        )
        raise InputError(sentence, "too-few", setting="test")
    first = np.cumsum(n - np.arange(n, dtype=np.int64)) - n  # the rank of (u, u + 1), for each u
    edge_ranks = first[edges[:, 0]] + edges[:, 1] - edges[:, 0] - 1  # ascending, as the edges are
    drawn = random.choice(available, size=count, replace=False)
    non_edges_before = edge_ranks - np.arange(len(edges))
    ranks = drawn + np.searchsorted(non_edges_before, drawn, side="right")
    u = np.searchsorted(first, ranks, side="right") - 1
    return np.column_stack([u, u + 1 + ranks - first[u]])
