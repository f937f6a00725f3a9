"""Nodes and edges that arrive later, as tables or as arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.data.tables.columns import Encoding
from kernode.data.tables.edges import read_edges
from kernode.data.tables.files import Table, read
from kernode.data.tables.ids import places
from kernode.data.tables.nodes import aligned, read_labels, read_nodes
from kernode.data.tables.origin import TableOrigin
from kernode.data.tables.repairs import Repair
from kernode.data.tables.to_graph import require_columns, said_added, unreadable
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.growth import extended, with_edges


def extend(graph: Graph, nodes: Any, edges: Any, *, names: Any = None) -> Graph:
    """The graph with nodes and edges that arrived later: old nodes keep their indices, new ones count on.

    - ``nodes``: for a graph from tables a table with the same columns (a path, a data frame, a dictionary
      of columns), for any other an array with a row of features for each new node; None where none comes
      with features.
    - ``edges``: a table for a graph from tables; for any other m × 2 nodes by name or index, new nodes
      n, n + 1, … and with ``names`` where nodes have names.

    What was done to the columns of the first tables is done to these. A new node's edges change the degree
    of its neighbours and, where nodes have positions, those around it.

    >>> from kernode.data import read_table
    >>> friends = read_table({"source": ["ann"], "target": ["bob"]}, {"id": ["ann", "bob"], "age": [20, 40]})
    >>> more = extend(friends, {"id": ["eve"], "age": [50]}, {"source": ["eve"], "target": ["bob"]})
    >>> more.node_names.tolist(), more.features[:, 1].tolist()
    (['ann', 'bob', 'eve'], [-1.0, 1.0, 2.0])
    """
    if graph.encoding is None:
        return extended(graph, nodes, _indices(graph, edges, names), node_names=names)
    for what, table in (("nodes", nodes), ("edges", edges)):
        if table is not None and not _is_table(table):
            raise InputError(
                f"{graph.name!r} was read from tables. Give new {what} as a table with the same columns."
            )
    if names is not None:
        raise InputError("names stand in the tables' columns. Leave names= out.")
    return _extended_by_tables(graph, graph.encoding, nodes, edges)


@dataclass(frozen=True)
class _Arrivals:
    """What tables bring: ids of all nodes, old ones first, and edges between them."""

    ids: Any  # large_string, n + k
    ends: np.ndarray  # m × 2
    weights: np.ndarray | None
    table: Table | None  # of new nodes that come before those that only edges mention
    repairs: tuple[Repair, ...]
    notes: tuple[str, ...] = ()


def _extended_by_tables(graph: Graph, encoding: Encoding, nodes: Any, edges: Any) -> Graph:
    n = graph.n_nodes
    new = _arrivals(graph, encoding, nodes, edges)
    arrived, names = len(new.ids) - n, np.array(new.ids.to_pylist(), dtype=str)
    larger = extended(
        graph,
        _features(graph, encoding, new.table, arrived),
        new.ends,
        weights=new.weights,
        labels=_labels(graph, encoding, new.table, arrived),
        node_names=names[n:],
    )
    notes = (*larger.notes, *new.notes, *map(str, new.repairs))
    larger = replace(larger, origin=TableOrigin(encoding, (*graph.repairs, *new.repairs)), notes=notes)
    return with_edges(larger, larger.adjacency)


def _arrivals(graph: Graph, encoding: Encoding, nodes: Any, edges: Any) -> _Arrivals:
    import pyarrow as pa
    import pyarrow.compute as pc

    assert graph.node_names is not None
    ids = pa.array(graph.node_names.tolist(), pa.large_string())
    table = None
    repairs: tuple[Repair, ...] = ()
    if nodes is not None:
        _, new, table = read_nodes(read(nodes, "nodes"), encoding.id)
        require_columns(table, encoding)
        known = places(new, ids) >= 0
        if known.any():
            row = int(np.flatnonzero(known)[0])
            raise InputError(
                f"{table.name}, row {table.rows[row]}: {new[row].as_py()!r} is in the graph already. "
                "Leave it out: nodes that are there keep their features."
            )
        ids = pa.concat_arrays([ids, new])
        repairs = (*table.repairs, *unreadable(encoding, table))
    if edges is None:
        return _Arrivals(ids, np.empty((0, 2), np.int64), None, table, repairs)
    pairs = read_edges(read(edges, "edges"), encoding.source, encoding.target, encoding.weight, guess=False)
    mentioned = pairs.ids.take(np.unique(pairs.ends))
    added = pc.unique(mentioned.filter(pa.array(places(mentioned, ids) < 0)))
    ids = pa.concat_arrays([ids, added])
    ends = places(pairs.ids, ids)[pairs.ends]
    repairs = (*repairs, *pairs.repairs)
    return _Arrivals(ids, ends, pairs.weights, table, repairs, said_added(added))


def _features(graph: Graph, encoding: Encoding, table: Table | None, arrived: int) -> Any:
    """Rows for the new nodes; their place in the graph is filled in when there is one."""
    if not arrived:
        return None
    columns = None
    if table is not None:
        columns = aligned(table, arrived).columns
    elif encoding.columns:
        columns = {column.name: _nothing(arrived) for column in encoding.columns}
    rows = encoding.of_columns(columns, arrived)
    later = sparse.csr_array((arrived, graph.n_features - rows.shape[1]), dtype=np.float32)
    return sparse.hstack([rows, later], format="csr")


def _nothing(n: int) -> Any:
    import pyarrow as pa

    return pa.nulls(n, pa.large_string())


def _labels(graph: Graph, encoding: Encoding, table: Table | None, arrived: int) -> np.ndarray | None:
    """Classes of new nodes where their table knows them; a class that the graph does not have is unknown."""
    if table is None or encoding.label is None or encoding.label not in table.column_names:
        return None
    labels, _ = read_labels(table[encoding.label], arrived, graph.class_names)
    return np.where(labels < graph.n_classes, labels, -1)


def _indices(graph: Graph, edges: Any, names: Any) -> Any:
    """Edges by index, where they are given by name."""
    try:
        pairs = np.asarray([] if edges is None else edges)
    except ValueError:
        raise InputError("edges must be m × 2 nodes. Got rows of different lengths.") from None
    if pairs.dtype.kind not in "UTO" or not pairs.size:
        return pairs
    if graph.node_names is None:
        raise InputError(f"the nodes of {graph.name!r} have no names. Give edges as indices.")
    everyone = np.concatenate([graph.node_names, np.asarray([] if names is None else names, str)])
    order = np.argsort(everyone)
    text = pairs.astype(str)
    at = np.minimum(np.searchsorted(everyone, text, sorter=order), len(everyone) - 1)
    unknown = text[everyone[order[at]] != text]
    if unknown.size:
        raise InputError(f"edges: no node is called {str(unknown.flat[0])!r}. Name new nodes in names=.")
    return order[at]


def _is_table(value: Any) -> bool:
    known = isinstance(value, str | os.PathLike | Mapping | Table)
    return known or hasattr(value, "columns") or hasattr(value, "__arrow_c_stream__")
