"""A graph with more nodes and edges, or with some edges and features changed, and what differs in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph.adjacency import ADJACENCIES, FEATURES
from kernode.graph.graph import Graph, as_array

Pair = tuple[int, int]


def extended(
    graph: Graph,
    features: Any,
    edges: Any,
    *,
    weights: Any = None,
    labels: Any = None,
    node_names: Any = None,
    targets: Any = None,
) -> Graph:
    """Return the graph with more nodes and edges: old nodes keep their indices, new ones count on from n.

    - ``features``: one row for each new node, in the columns of the graph; None or no rows for edges alone.
    - ``edges``: m × 2 indices into the larger graph; they may join old nodes, too. Of an edge that exists
      already, the largest weight is kept.
    - ``weights``: m numbers, 1 where None. ``labels``: classes of the new nodes, −1 (not known) where None.
      ``targets``: their numbers, NaN (not known) where None.
    - ``node_names``: of the new nodes, where nodes have names.

    >>> path = Graph.from_edges([(0, 1), (1, 2)], features=np.eye(3))
    >>> longer = extended(path, [[0, 0, 1]], [(2, 3)])
    >>> longer
    Graph('graph': 4 nodes, 3 edges, 3 features, 0 classes)
    >>> touched(path, longer)
    array([2, 3])
    """
    rows = _new_rows(graph, features)
    n, arrived = graph.n_nodes, rows.shape[0]
    # The new edges alone: made undirected and merged as any edges are.
    new = Graph.from_edges(edges, np.zeros((n + arrived, 1), np.float32), weights=weights)
    adjacency, notes = _merged(graph, new)
    features = graph.features
    if arrived:
        both: list[Any] = [features, rows]
        stacked = sparse.vstack(both, format="csr") if sparse.issparse(rows) else np.concatenate(both)
        features = FEATURES.add(stacked)
    return Graph(
        adjacency,
        features,
        np.concatenate([graph.labels, np.full(arrived, -1) if labels is None else labels]),
        class_names=graph.class_names,
        node_names=_all_names(graph, node_names, arrived),
        name=graph.name,
        notes=(*graph.notes, *notes),
        origin=graph.origin,
        targets=_all_targets(graph, targets, arrived),
        target_name=graph.target_name,
    )


def with_edges(graph: Graph, adjacency: sparse.csr_array) -> Graph:
    """Return the same nodes with other edges.

    Features that describe a node's place in the graph are recomputed, so that they do not reveal edges that
    are held out.
    """
    features: Any = graph.features
    if graph.origin is not None:
        features = graph.origin.placed(features, adjacency, graph.node_names)
    return replace(graph, adjacency=adjacency, features=features)


def touched(old: Graph, new: Graph) -> np.ndarray:
    """Return the nodes of the larger graph whose own row of A or X differs, new nodes included; ascending."""
    n = old.n_nodes
    if new.n_nodes < n or new.n_features != old.n_features:
        expected, found = (n, old.n_features), (new.n_nodes, new.n_features)
        sentence = f"a larger graph must keep all nodes and features {expected}. Got {found}."
        raise InputError(sentence, "shape", setting="graph", expected=expected, found=found)
    differs = np.ones(new.n_nodes, bool)
    differs[:n] = _rows_with_entries(_padded(old.adjacency, new.n_nodes) != new.adjacency)[:n]
    differs[:n] |= _features_differ(old.features, new.features, n)
    return np.flatnonzero(differs)


def _new_rows(graph: Graph, features: Any) -> Any:
    """Return the features of the new nodes in the form and type of the graph's, checked."""
    kept = graph.features
    rows: Any = kept[:0] if features is None else features
    rows = rows if sparse.issparse(rows) else as_array("features", rows)
    if rows.ndim and rows.shape[0] == 0:
        return kept[:0]
    if rows.ndim != 2 or rows.shape[1] != graph.n_features:
        sentence = f"features of new nodes must have the {graph.n_features} columns of {graph.name!r}."
        got = f"Got shape {rows.shape}."
        raise InputError(f"{sentence} {got}", "shape", setting="features", found=rows.shape)
    if rows.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # a number too large for the graph's type is found next
            rows = rows.astype(kept.dtype)
    rows = Graph.from_edges([], rows).features  # checks them
    if sparse.issparse(kept):
        return sparse.csr_array(rows)
    return rows.toarray() if sparse.issparse(rows) else rows


def _merged(graph: Graph, new: Graph) -> tuple[sparse.csr_array, tuple[str, ...]]:
    """Return old and new edges, with the larger weight where both have one, and notes."""
    old = _padded(graph.adjacency, new.n_nodes)
    adjacency = sparse.csr_array(old.maximum(new.adjacency))
    known = (old.nnz + new.adjacency.nnz - adjacency.nnz) // 2
    notes = [note for note in new.notes if note != "made undirected"]  # edges to add are listed once
    if known:
        notes.append(f"{known:,} of the added edges {'was' if known == 1 else 'were'} there already")
    # The larger of two symmetric matrices is symmetric, and has entries where one of them has.
    return ADJACENCIES.add(adjacency), tuple(notes)


def _padded(adjacency: sparse.csr_array, n: int) -> sparse.csr_array:
    """Return the same entries in an n × n matrix, in the same memory."""
    more = np.full(n - adjacency.shape[0], adjacency.indptr[-1], adjacency.indptr.dtype)
    starts = np.concatenate([adjacency.indptr, more])
    return sparse.csr_array((adjacency.data, adjacency.indices, starts), shape=(n, n))


def _all_names(graph: Graph, new: Any, arrived: int) -> np.ndarray | None:
    old = graph.node_names
    if old is None and new is None:
        return None
    if old is None or (new is None and arrived):
        have = "have no names" if old is None else "have names, and new nodes need one each"
        sentence = f"the nodes of {graph.name!r} {have}."
        raise InputError(sentence, "no-effect" if old is None else "missing", setting="node_names")
    return np.concatenate([old, np.asarray(new)]) if arrived else old


def _all_targets(graph: Graph, new: Any, arrived: int) -> np.ndarray | None:
    if graph.targets is None and new is None:
        return None
    old = np.full(graph.n_nodes, np.nan) if graph.targets is None else graph.targets
    return np.concatenate([old, np.full(arrived, np.nan) if new is None else new])


def _features_differ(old: Any, new: Any, n: int) -> np.ndarray:
    """Return which of the first n rows differ: booleans."""
    if new is old:
        return np.zeros(n, bool)
    if sparse.issparse(old) or sparse.issparse(new):
        return _rows_with_entries(sparse.csr_array(old) != sparse.csr_array(new[:n]))
    return (old != new[:n]).any(axis=1)


def _rows_with_entries(matrix: sparse.csr_array) -> np.ndarray:
    return np.diff(sparse.csr_array(matrix).indptr) > 0


@dataclass(frozen=True)
class Edit:
    """Edges to add, with weight 1, edges to remove, and features to set, by node and column."""

    add: tuple[Pair, ...] = ()
    remove: tuple[Pair, ...] = ()
    features: Mapping[Pair, float] = field(default_factory=dict)

    def __call__(self, graph: Graph) -> Graph:
        """Return the edited graph.

        >>> path = Graph.from_edges([(0, 1), (1, 2)], features=np.eye(3))
        >>> Edit(add=((0, 2),), remove=((0, 1),), features={(0, 0): 5})(path).adjacency.nonzero()[0].tolist()
        [0, 1, 2, 2]
        """
        self.require(graph)
        edited = graph
        if self.add or self.remove:
            edited = with_edges(edited, self._adjacency(graph))
        if self.features:
            edited = replace(edited, features=self._features(edited.features))
        return edited

    def within(self, nodes: np.ndarray) -> Edit:
        """Return the same edit for the graph of some nodes (ascending), without what concerns others."""
        place = {int(node): i for i, node in enumerate(nodes.tolist())}

        def placed(pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
            return tuple((place[u], place[v]) for u, v in pairs if u in place and v in place)

        features = {(place[u], f): value for (u, f), value in self.features.items() if u in place}
        return Edit(placed(self.add), placed(self.remove), features)

    def require(self, graph: Graph) -> None:
        """Raise for an edge to add that exists, one to remove that does not, or one that is listed twice."""
        listed = [frozenset(pair) for pair in (*self.add, *self.remove)]
        for (u, v), adds in [(pair, True) for pair in self.add] + [(pair, False) for pair in self.remove]:
            one, two = (v if graph.node_names is None else graph.node_names[v] for v in (u, v))
            if u == v:
                sentence = f"node {one} cannot have an edge with itself. Leave it out."
            elif adds == bool(graph.adjacency[u, v]):
                what = "an edge already" if adds else "no edge that could be removed"
                sentence = f"nodes {one} and {two} have {what}. Leave it out."
            elif listed.count(frozenset((u, v))) > 1:
                sentence = f"the edge of {one} and {two} is listed twice. List each once."
            else:
                continue
            setting = "add" if adds else "remove"
            raise InputError(sentence, "conflict", setting=setting, nodes=(str(one), str(two)))

    def _adjacency(self, graph: Graph) -> sparse.csr_array:
        matrix = graph.adjacency
        moved = [(u, v, 1.0) for u, v in self.add] + [(u, v, -float(matrix[u, v])) for u, v in self.remove]
        rows, columns, values = (np.array(one) for one in zip(*moved, strict=True))
        change = sparse.coo_array((values, (rows, columns)), shape=matrix.shape)
        edited = (matrix.astype(np.float64) + change + change.T).tocsr().astype(matrix.dtype)
        edited.eliminate_zeros()
        return edited

    def _features(self, features: Any) -> Any:
        edited: Any = features.tolil() if sparse.issparse(features) else np.array(features)
        for (node, column), value in self.features.items():
            edited[node, column] = value
        return edited.tocsr() if sparse.issparse(features) else edited
