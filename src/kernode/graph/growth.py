"""Nodes and edges that arrive later: the larger graph, and what in it is not as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.compute.chunks import row_chunks
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.verified import ADJACENCIES, FEATURES


def extended(
    graph: Graph,
    features: Any,
    edges: Any,
    *,
    weights: Any = None,
    labels: Any = None,
    node_names: Any = None,
) -> Graph:
    """The graph with more nodes and edges: old nodes keep their indices, new ones count on from n.

    - ``features``: one row for each new node, in the columns of the graph; None or no rows for edges alone.
    - ``edges``: m × 2 indices into the larger graph; they may join old nodes, too. Of an edge that is there
      already, the largest weight stays.
    - ``weights``: m numbers, 1 where None. ``labels``: classes of the new nodes, −1 (not known) where None.
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
    return Graph(
        adjacency,
        _stacked(graph.features, rows),
        np.concatenate([graph.labels, _new_labels(graph, labels, arrived)]),
        class_names=graph.class_names,
        node_names=_all_names(graph, node_names, arrived),
        name=graph.name,
        notes=(*graph.notes, *notes),
        origin=graph.origin,
    )


def with_edges(graph: Graph, adjacency: sparse.csr_array) -> Graph:
    """The same nodes with other edges; what features say of their place in the graph is computed anew.

    So that features do not tell of edges that are held out.
    """
    features: Any = graph.features
    if graph.origin is not None:
        features = graph.origin.placed(features, adjacency, graph.node_names)
    return replace(graph, adjacency=adjacency, features=features)


def touched(old: Graph, new: Graph) -> np.ndarray:
    """Nodes of the larger graph whose own row of A or X is not what it was, new nodes included; ascending."""
    n = old.n_nodes
    if new.n_nodes < n or new.n_features != old.n_features:
        raise InputError(
            f"a larger graph must keep all {n} nodes and {old.n_features} features. "
            f"Got {new.n_nodes} and {new.n_features}: build it with extended()."
        )
    differs = np.ones(new.n_nodes, bool)
    differs[:n] = _rows_with_entries(_padded(old.adjacency, new.n_nodes) != new.adjacency)[:n]
    differs[:n] |= _features_differ(old.features, new.features, n)
    return np.flatnonzero(differs)


def _new_rows(graph: Graph, features: Any) -> Any:
    """Features of the new nodes in the form of the graph's, checked."""
    kept = graph.features
    if features is None:
        return kept[:0]
    features = features if sparse.issparse(features) else _as_array(features)
    if features.ndim and features.shape[0] == 0:
        return kept[:0]
    if features.ndim != 2:
        raise InputError(
            "features of new nodes must be an array with a row for each. "
            f"Got {features.ndim} dimensions: put one node's row into a list."
        )
    rows = _checked(features)
    if rows.shape[1] != graph.n_features:
        raise InputError(
            f"features of new nodes must have the {graph.n_features} columns of {graph.name!r}. "
            f"Got {rows.shape[1]}: give the same columns in the same order."
        )
    with np.errstate(over="ignore"):  # what is too large for the graph's type is found below
        rows = rows.astype(kept.dtype)
    if sparse.issparse(kept):
        return sparse.csr_array(_checked(rows))
    return _checked(rows.toarray() if sparse.issparse(rows) else rows)


def _as_array(features: Any) -> np.ndarray:
    try:
        return np.asarray(features)
    except ValueError:
        raise InputError(
            "features of new nodes must be a regular array. Got rows of other lengths."
        ) from None


def _checked(features: Any) -> Any:
    """Features as a graph takes them, or the sentence that it refuses them with."""
    try:
        return Graph.from_edges([], features).features
    except InputError as error:
        raise InputError(f"new nodes: {error}") from None


def _stacked(kept: Any, rows: Any) -> Any:
    if rows.shape[0] == 0:
        return kept
    if sparse.issparse(kept):
        return FEATURES.add(sparse.vstack([kept, rows], format="csr"))
    return FEATURES.add(np.concatenate([kept, rows]))


def _merged(graph: Graph, new: Graph) -> tuple[sparse.csr_array, tuple[str, ...]]:
    """Old and new edges, the larger weight where both have one."""
    old = _padded(graph.adjacency, new.n_nodes)
    adjacency = sparse.csr_array(old.maximum(new.adjacency))
    known = (old.nnz + new.adjacency.nnz - adjacency.nnz) // 2
    notes = [note for note in new.notes if note != "made undirected"]  # edges to add are listed once
    if known:
        notes.append(f"{known:,} of the added edges {'was' if known == 1 else 'were'} there already")
    # The larger of two symmetric matrices is symmetric, and has entries where one of them has.
    return ADJACENCIES.add(adjacency), tuple(notes)


def _padded(adjacency: sparse.csr_array, n: int) -> sparse.csr_array:
    """The same entries in an n × n matrix, in the same memory."""
    more = np.full(n - adjacency.shape[0], adjacency.indptr[-1], adjacency.indptr.dtype)
    starts = np.concatenate([adjacency.indptr, more])
    return sparse.csr_array((adjacency.data, adjacency.indices, starts), shape=(n, n))


def _new_labels(graph: Graph, labels: Any, arrived: int) -> np.ndarray:
    if labels is None:
        return np.full(arrived, -1)
    labels = np.asarray(labels)
    if labels.shape != (arrived,) or labels.dtype.kind not in "iu":
        raise InputError(
            f"labels of new nodes must be {arrived} integers, one for each, −1 where the class is not known. "
            f"Got {labels.dtype} of shape {labels.shape}."
        )
    strange = labels[(labels < -1) | (labels >= graph.n_classes)]
    if strange.size:
        raise InputError(
            f"{graph.name!r} has no class {strange[0]}; its classes run from 0 to {graph.n_classes - 1}. "
            "Give −1 where the class is not known."
        )
    return labels


def _all_names(graph: Graph, new: Any, arrived: int) -> np.ndarray | None:
    old = graph.node_names
    if old is None:
        if new is not None:
            raise InputError(f"the nodes of {graph.name!r} have no names. Leave node_names out.")
        return None
    if new is None and arrived:
        raise InputError(
            f"the nodes of {graph.name!r} have names. Name the {arrived} new ones, too: names=[…]."
        )
    names = np.asarray([] if new is None else new)
    if names.shape != (arrived,):
        raise InputError(f"node_names must hold one name per new node ({arrived}). Got shape {names.shape}.")
    if not arrived:
        return old
    # The few are looked for among the many: numpy then sorts nothing.
    taken = old[np.isin(old.astype(str), names.astype(str))]
    if len(taken):
        raise InputError(
            f"a node of {graph.name!r} is called {str(taken[0])!r} already. Give the new node another name."
        )
    return np.concatenate([old, names])


def _features_differ(old: Any, new: Any, n: int) -> np.ndarray:
    """Which of the first n rows differ: booleans."""
    if new is old:
        return np.zeros(n, bool)
    if sparse.issparse(old) or sparse.issparse(new):
        return _rows_with_entries(sparse.csr_array(old) != sparse.csr_array(new[:n]))
    differs = np.empty(n, bool)
    for rows in row_chunks(old):
        differs[rows] = (old[rows] != new[rows]).any(axis=1)
    return differs


def _rows_with_entries(matrix: sparse.csr_array) -> np.ndarray:
    return np.diff(sparse.csr_array(matrix).indptr) > 0
