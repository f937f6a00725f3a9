"""Nodes and edges that arrive later, as tables or as arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph import Graph, Lookup
from kernode.graph.edits import extended, with_edges
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.columns import Encoding
from kernode.io.tables.columns.encoding import UnknownLabels
from kernode.io.tables.columns.find_notation import new_categories, require_notation
from kernode.io.tables.edges import read_edges_like
from kernode.io.tables.files import read_like
from kernode.io.tables.labels import Labels, read_labels
from kernode.io.tables.nodes import Listed, aligned, said_added
from kernode.io.tables.table import Table, TableOrigin, places
from kernode.io.tables.to_graph import require_columns, unreadable


def extend(graph: Graph, nodes: Any, edges: Any, *, names: Any = None, encoding: str | None = None) -> Graph:
    """The graph with nodes and edges that arrived later: old nodes keep their indices, new ones count on.

    - ``nodes``: for a graph from tables a table with the same columns (a path, a data frame, a dictionary
      of columns), for any other an array with a row of features for each new node; None where none comes
      with features.
    - ``edges``: a table for a graph from tables; for any other m × 2 nodes. By name where nodes have names,
      new ones by those in ``names``; integers are names, too, where any name is an integer, and positions
      elsewhere. New nodes have the positions n, n + 1, …; ``kn.positions`` says that integers are positions.
    - ``names``: of the new nodes, where the others have names and come from no tables.
    - ``encoding``: of text files, as in :func:`read_table`.

    What was done to the columns of the first tables is done to these. A new node's edges change the degree
    of its neighbours and, where nodes have positions, those around it.

    >>> from kernode.io import read_table
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
                f"{graph.name!r} was read from tables. Give new {what} as a table with the same columns.",
                "setting",
                setting=what,
            )
    if names is not None:
        raise InputError("names stand in the tables' columns. Leave names out.", "no-effect", setting="names")
    return _extended_by_tables(graph, graph.encoding, nodes, edges, encoding)


def _extended_by_tables(graph: Graph, encoding: Encoding, nodes: Any, edges: Any, codec: str | None) -> Graph:
    assert graph.node_names is not None
    known = pa.array(graph.node_names.tolist(), pa.large_string())
    written = _listed(encoding, nodes, codec)
    listed = written
    if written.table is not None:  # numbers and dates as programs write them
        plain = encoding.plain(written.table.columns)
        listed = replace(written, table=replace(written.table, columns=plain))
    _require_new(listed, known)
    of_listed = _labels(graph, encoding, listed)
    ids = pa.concat_arrays([known, listed.ids])
    notes, repairs = listed.notes, listed.repairs
    if of_listed is not None:
        notes = (*notes, *of_listed.notes)
    if written.table is not None and listed.table is not None:
        repairs = (*repairs, *unreadable(encoding, written.table, listed.table.columns, later=True))
        notes = (*notes, *new_categories(written.table.name, listed.table.columns, encoding.columns))
    ends, weights = np.empty((0, 2), np.int64), None
    if edges is not None:
        pairs = read_edges_like(read_like(edges, "edges", encoding, codec), encoding)
        mentioned = pairs.ids.take(np.unique(pairs.ends))
        added = pc.unique(mentioned.filter(pa.array(places(mentioned, ids) < 0)))
        ids = pa.concat_arrays([ids, added])
        ends, weights = places(pairs.ids, ids)[pairs.ends], pairs.weights
        repairs, notes = (*repairs, *pairs.repairs), (*notes, *pairs.notes, *said_added(added))
    arrived = len(ids) - graph.n_nodes
    labels = None if of_listed is None else np.full(arrived, -1)
    if of_listed is not None and labels is not None:
        labels[: len(of_listed.numbers)] = of_listed.numbers
    larger = extended(
        graph,
        _features(graph, encoding, listed.table, arrived),
        ends,
        weights=weights,
        labels=labels,
        node_names=np.array(ids.to_pylist(), dtype=str)[graph.n_nodes :],
    )
    notes = (*larger.notes, *notes, *map(str, repairs))
    larger = replace(larger, origin=TableOrigin(encoding, (*graph.repairs, *repairs)), notes=notes)
    return with_edges(larger, larger.adjacency)


def _listed(encoding: Encoding, nodes: Any, codec: str | None) -> Listed:
    """New nodes, their columns as they are written."""
    if nodes is None:
        return Listed.of(None, None)
    listed = Listed.of(read_like(nodes, "nodes", encoding, codec), encoding.id)
    require_columns(listed.table, encoding)
    assert listed.table is not None
    require_notation(listed.table.name, listed.table.columns, encoding.all_notations)
    return listed


def _require_new(listed: Listed, known: Any) -> None:
    there = places(listed.ids, known) >= 0
    if there.any():
        assert listed.table is not None
        row = int(np.flatnonzero(there)[0])
        raise InputError(
            f"{listed.table.name}, row {listed.table.rows[row]}: {listed.ids[row].as_py()!r} is in the graph "
            "already. Leave it out: nodes that are there keep their features.",
            "duplicate",
            name=listed.ids[row].as_py(),
        )


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
    return pa.nulls(n, pa.large_string())


def _labels(graph: Graph, encoding: Encoding, listed: Listed) -> Labels | None:
    """Classes of new nodes where their table knows them; a class that the graph does not have is unknown."""
    table, column = listed.table, encoding.label
    if table is None or column is None or column not in table.column_names:
        return None
    unknown = encoding.unknown or UnknownLabels.usual()
    labels = read_labels(listed, column, len(listed.ids), unknown, graph.class_names)
    new = labels.names[graph.n_classes :]
    if not new:
        return labels
    shown = ", ".join(map(repr, new[:5])) + (", …" if len(new) > 5 else "")
    note = f"{table.name}: took {shown} in column {column!r} as not known, for the graph has no such class"
    numbers = np.where(labels.numbers < graph.n_classes, labels.numbers, -1)
    return replace(labels, numbers=numbers, notes=(*labels.notes, note))


def _indices(graph: Graph, edges: Any, names: Any) -> Any:
    """Edges by position in the larger graph; what an integer is, :mod:`kernode.graph.lookup` says."""
    try:
        pairs = np.asanyarray([] if edges is None else edges)
    except ValueError:
        raise InputError(
            "edges must be m × 2 nodes. Got rows of different lengths.", "shape", setting="edges"
        ) from None
    if not pairs.size or (graph.node_names is None and pairs.dtype.kind in "iu"):
        return pairs  # of nodes without names: new ones count on
    if graph.node_names is None:
        raise InputError(
            f"the nodes of {graph.name!r} have no names. Give edges as indices.", "setting", setting="edges"
        )
    everyone = np.concatenate([graph.node_names, np.asarray([] if names is None else names, str)])
    try:
        return Lookup(everyone, len(everyone), f"{graph.name!r} and names").find(pairs)
    except InputError as error:
        raise InputError(
            f"edges: {error} New nodes are named in names.", "unknown", setting="names"
        ) from None


def _is_table(value: Any) -> bool:
    known = isinstance(value, str | os.PathLike | Mapping | Table)
    return known or hasattr(value, "columns") or hasattr(value, "__arrow_c_stream__")


@dataclass(frozen=True)
class Overlap:
    """Counts of nodes in a pair of tables."""

    unlisted: int  # that only edges mention
    listed_again: int  # of the graph, that the table of nodes lists
    only_mentioned: int  # of the graph, that it does not list, and edges mention

    @classmethod
    def of(cls, graph: Graph | None, edges: Table, nodes: Table | None, encoding: Encoding) -> Overlap:
        """Of tables that are read as the encoding says; without a graph, only what they are in themselves."""
        empty = pa.array([], pa.large_string())
        listed = Listed.of(nodes, encoding.id).ids
        pairs = read_edges_like(edges, encoding)
        mentioned = pairs.ids.take(np.unique(pairs.ends)).unique()
        unlisted = mentioned.filter(pa.array(places(mentioned, listed) < 0))
        names: Any = None if graph is None else graph.node_names
        known = empty if names is None else pa.array(names.tolist(), pa.large_string())
        return cls(len(unlisted), *(int((places(ids, known) >= 0).sum()) for ids in (listed, unlisted)))
