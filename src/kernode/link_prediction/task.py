"""What is to be learned: which pairs of a graph's nodes are linked, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernode.data.edge_split import EdgeSplit, draw_non_edges, is_edge, split_edges
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.adjacency import from_upper
from kernode.graph.edits import with_edges
from kernode.graph.lookup import Positions, as_classes
from kernode.training.run import Run

_SHARE = 0.05  # of the linked pairs choose the epoch, as in VGAE's split


@dataclass(frozen=True)
class LinkTask:
    """The links of a graph, to be learned from its training edges."""

    whole: Graph  # what the model's file names
    split: EdgeSplit  # training edges, and those held out
    run: Run
    others: np.ndarray | None = None  # p × 2, known to be no links, beside those drawn in every epoch
    split_seed: int | None = None  # None: an own split cannot be made again from a seed
    beside: Graph | None = None  # has other edges than the split's, which are neither seen nor missing
    all_edges: bool = False  # of the whole graph train, and none is held out

    @classmethod
    def of_graph(cls, graph: Graph, run: Run) -> LinkTask:
        """VGAE's split of a graph, by the first replica's seed."""
        return cls(graph, split_edges(graph, run.seeds[0]), run, split_seed=run.seeds[0])

    @classmethod
    def of_all_edges(cls, graph: Graph, run: Run) -> LinkTask:
        """Every edge of a graph, for vectors of its nodes: nothing is left to choose an epoch or to test."""
        if not graph.n_edges:
            raise InputError(f"{graph.name!r} has no edges, and nothing else is learned from. Give some.")
        none = np.empty((0, 2), np.int64)
        return cls(graph, EdgeSplit(graph, none, none, none, none), run, all_edges=True)

    @property
    def held_out(self) -> np.ndarray:
        """Edges that are there and do not train: m × 2, (u, v) with u < v, each once, in order."""
        known = [self.split.validation, self.split.test]
        if self.beside is not None:
            upper = sparse.triu(self.beside.adjacency, format="coo")
            edges = np.column_stack([upper.row, upper.col]).astype(np.int64)
            known.append(edges[~is_edge(self.split.graph.adjacency, edges)])
        return np.unique(np.concatenate(known), axis=0)


def as_links(y: Any) -> np.ndarray:
    """Whether each pair is linked: m booleans.

    >>> as_links([1, 0, 1])
    array([ True, False,  True])
    """
    y = as_classes(y)
    neither = y[~np.isin(y, (0, 1))]
    if neither.size:
        what = "a continuous " if neither.dtype.kind == "f" else ""
        raise InputError(
            "Only binary classification is supported. y must be 1 where a pair is linked and 0 where not. "
            f"Got {what}{neither.tolist()[0]!r}."
        )
    return y.astype(bool)


def require_one_reading(graph: Graph, given: np.ndarray, linked: np.ndarray | None) -> None:
    """Raise where integers are taken as names, but only as positions are the linked pairs edges.

    ``given``: pairs as they came, m × 2.
    """
    plain = given.dtype.kind in "iu" and not isinstance(given, Positions)
    if not plain or not graph.lookup.has_integer_names or (linked is not None and len(linked) != len(given)):
        return
    pairs = given if linked is None else given[linked]
    if not len(pairs) or pairs.max() >= graph.n_nodes or not is_edge(graph.adjacency, pairs).all():
        return
    if is_edge(graph.adjacency, graph.lookup.find(pairs, sure=True)).mean() < 0.5:
        raise InputError(
            f"most linked pairs are no edges of {graph.name!r} by name, and as positions they all are: write "
            "kn.positions(pairs), or give the names as text where names are meant."
        )


def split_pairs(
    graph: Graph, pairs: np.ndarray, linked: np.ndarray | None, seed: int
) -> tuple[EdgeSplit, np.ndarray]:
    """A split whose training edges are linked pairs, and the other pairs that train (p × 2).

    Of the graph only nodes, features, names and the weights of linked pairs are looked at; an edge that is
    not among the pairs is never seen. A seeded 5 % of the linked pairs (at least one) choose the epoch,
    against as many of the others where those suffice, else against pairs drawn among all that are not given.
    Where nothing is said (None), all pairs are linked.
    """
    linked = np.ones(len(pairs), dtype=bool) if linked is None else linked
    if linked.shape != (len(pairs),):
        raise InputError(f"y must hold one number per pair ({len(pairs)}). Got shape {linked.shape}.")
    edges, others = (_distinct(graph, pairs[rows]) for rows in (linked, ~linked))
    known, counts = np.unique(np.concatenate([edges, others]), axis=0, return_counts=True)
    if (counts > 1).any():
        which = _named(graph, known[counts > 1][0])
        raise InputError(f"the pair {which} is given both as linked and as not. Drop one of the rows.")
    if len(edges) < 2:
        raise InputError(
            f"{len(edges)} linked pairs are too few: one must train and one choose the epoch. Give more."
        )
    random = np.random.Generator(np.random.PCG64(seed))
    held_out = max(1, int(_SHARE * len(edges)))
    edges = random.permutation(edges)
    if len(others) >= held_out:
        others = random.permutation(others)
        negatives, others = others[:held_out], others[held_out:]
    else:
        negatives = _drawn(graph, known, held_out, random)
    training = with_edges(graph, _adjacency(graph, edges[held_out:]))
    return EdgeSplit(training, edges[:held_out], negatives, np.empty((0, 2)), np.empty((0, 2))), others


def _distinct(graph: Graph, pairs: np.ndarray) -> np.ndarray:
    """Each pair once, (u, v) with u < v, in order."""
    loops = pairs[pairs[:, 0] == pairs[:, 1]]
    if len(loops):
        raise InputError(f"the pair {_named(graph, loops[0])} joins a node with itself. Drop it.")
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _named(graph: Graph, pair: np.ndarray) -> str:
    u, v = (graph.lookup.name(int(node)) for node in pair)
    return f"({u}, {v})"


def _drawn(graph: Graph, known: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    n = graph.n_nodes
    if n * (n - 1) // 2 - len(known) < count:
        raise InputError(f"the pairs leave fewer than {count} others to compare with. Give some with y = 0.")
    return draw_non_edges(graph, known, count, random)


def _adjacency(graph: Graph, edges: np.ndarray) -> sparse.csr_array:
    """Edges with the graph's weights; a pair that is no edge of the graph weighs 1."""
    u, v = np.unique(edges, axis=0).T
    weights = np.asarray(sparse.csr_array(graph.adjacency)[u, v]).ravel()
    n = graph.n_nodes
    return from_upper(sparse.csr_array((np.where(weights > 0, weights, 1), (u, v)), shape=(n, n)))
