"""Nodes and edges that arrive later, as tables or as arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph import Graph, Lookup
from kernode.graph.edits import extended, with_edges
from kernode.io.tables.edges import ends_like
from kernode.io.tables.encoding import Encoding, UnknownLabels
from kernode.io.tables.labels import read_labels
from kernode.io.tables.read import (
    Nodes,
    TableOrigin,
    added_note,
    aligned,
    column_tables,
    number_ids,
    open_nodes,
    read_like,
)
from kernode.io.tables.source import database, open_table
from kernode.io.tables.table import Reading, first
from kernode.io.tables.text_files import require_encoding


def extend(graph: Graph, nodes: Any, edges: Any, *, names: Any = None, encoding: str | None = None) -> Graph:
    """The graph with nodes and edges that arrived later: old nodes keep their indices, new ones count on.

    - ``nodes``: for a graph from tables a table with the same columns (a path, a data frame, a dictionary
      of columns), for any other an array with a row of features for each new node; None where none comes
      with features.
    - ``edges``: a table for a graph from tables; for any other m × 2 nodes. By name where nodes have names,
      new ones by those in ``names``; integers are names, too, where any name is an integer, and positions
      elsewhere. New nodes have the positions n, n + 1, …; ``kn.positions`` says that integers are
      positions.
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
        if table is not None and not _is_table(table, what):
            raise InputError(
                f"{graph.name!r} was read from tables. Give new {what} as a table with the same columns.",
                "setting",
                setting=what,
            )
    if names is not None:
        raise InputError("names stand in the tables' columns. Leave names out.", "no-effect", setting="names")
    return _extended_by_tables(graph, graph.encoding, nodes, edges, encoding)


def _extended_by_tables(graph: Graph, encoding: Encoding, nodes: Any, edges: Any, codec: str | None) -> Graph:
    n = graph.n_nodes
    with _joined(graph.node_names, nodes, edges, encoding, codec) as (con, tables, ends):
        names = np.asarray(con.execute("SELECT id FROM ids ORDER BY pos").fetchnumpy()["id"]).astype(str)
        tables = [one.placed() for one in tables]
        for one in tables:
            known = np.flatnonzero((one.place >= 0) & (one.place < n))
            if len(known):
                name = str(names[one.place[known[0]]])
                raise InputError(
                    f"{one.table.name}, row {one.table.numbers(known[:1])[0]}: {name!r} is in the graph "
                    "already. "
                    "Leave it out: nodes that are there keep their features.", "duplicate", name=name,
                )  # fmt: skip
        of, arrived = column_tables(tables), len(names) - n
        _, values, repairs, notes = read_like(tables, of, encoding) if tables else (None, {}, [], [])
        rows = [one.rows(len(names))[n:] for one in tables]
        columns = [one.name for one in encoding.columns]
        values = {
            one: aligned(values.get(one), rows[of[one]] if tables else None, arrived) for one in columns
        }
        labels = None
        if encoding.label in of:
            labels, said = _labels(graph, encoding, tables[of[encoding.label]], names)
            notes += said
        pairs = con.execute("SELECT * FROM pair").fetchnumpy()
    listed = np.max([row >= 0 for row in rows], axis=0) if rows else np.zeros(arrived, bool)
    sources = [*(one.table for one in tables), *([] if ends is None else [ends.table])]
    repairs = [*(one for table in sources for one in table.repairs), *repairs]
    notes = [
        *(note for table in sources for note in table.notes),
        *added_note(names[n:][~listed].tolist()),
        *notes,
    ]
    features = None
    if arrived:
        own = encoding.of_columns(values, arrived)
        later = sparse.csr_array((arrived, graph.n_features - own.shape[1]), dtype=np.float32)
        features = sparse.hstack([own, later], format="csr")
    both = np.column_stack([pairs["s"], pairs["t"]]).astype(np.int64)
    new = names[n:] if arrived else None
    larger = extended(graph, features, both, weights=pairs.get("w"), labels=labels, node_names=new)
    origin = TableOrigin(encoding, (*graph.repairs, *repairs), *_grown(graph, values, listed))
    larger = replace(larger, origin=origin, notes=(*larger.notes, *notes, *map(str, repairs)))
    return with_edges(larger, larger.adjacency)


def _grown(graph: Graph, values: Mapping[str, np.ndarray], listed: np.ndarray) -> tuple[Any, Any]:
    """Values of the columns and the mask of listed nodes, of the larger graph."""
    kept = graph.columns
    if kept is not None:
        kept = {
            name: np.concatenate([column, values[name].astype(column.dtype)]) for name, column in kept.items()
        }
    if graph.listed is None and listed.all():
        return kept, None
    before = np.ones(graph.n_nodes, bool) if graph.listed is None else graph.listed
    return kept, np.concatenate([before, listed])


@contextmanager
def _joined(names: Any, nodes: Any, edges: Any, encoding: Encoding, codec: str | None) -> Iterator[Any]:
    """Open tables that are read as an encoding says, ids numbered after the known names."""
    if codec is not None:
        require_encoding(codec)
    several = [] if nodes is None else list(nodes) if isinstance(nodes, list | tuple) else [nodes]
    with database() as con:
        known = Nodes.of(open_table(con, {"id": np.asarray(names, object)}, "known", Reading()), "id")
        columns = (encoding.label, *(one.name for one in encoding.columns))
        tables = open_nodes(con, several, encoding.id, columns, codec, None)
        ends = None if edges is None else ends_like(con, edges, encoding, codec)
        number_ids(con, [known, *tables], ends)
        yield con, tables, ends


def _labels(
    graph: Graph, encoding: Encoding, nodes: Nodes, names: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Classes of new nodes, and notes; a class that the graph does not have is unknown."""
    unknown, column = encoding.unknown or UnknownLabels.usual(), str(encoding.label)
    assert nodes.place is not None
    labels = read_labels(nodes.table, column, nodes.place, names, unknown, graph.class_names)
    notes, new = list(labels.notes), labels.names[graph.n_classes :]
    if new:
        shown = ", ".join(map(repr, new[:5])) + (", …" if len(new) > 5 else "")
        where = f"{nodes.table.name}: took {shown} in column {column!r}"
        notes.append(f"{where} as not known, for the graph has no such class")
    return np.where(labels.numbers < graph.n_classes, labels.numbers, -1)[graph.n_nodes :], notes


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


def _is_table(value: Any, what: str) -> bool:
    known = isinstance(value, str | os.PathLike | Mapping)
    if what == "nodes" and isinstance(value, list | tuple):
        return all(_is_table(one, "") for one in value)
    return known or hasattr(value, "columns") or hasattr(value, "__arrow_c_stream__")


def count_unlisted(
    graph: Graph | None, edges: Any, nodes: Any, encoding: Encoding, codec: str | None
) -> tuple[int, int]:
    """Count the nodes that edges mention and no table of nodes lists, and those of them in the graph."""
    names: Any = [] if graph is None or graph.node_names is None else graph.node_names
    with _joined(names, nodes, edges, encoding, codec) as (con, tables, _):
        again = " UNION ".join(f"SELECT {one.id_sql} AS id FROM {one.table.view}" for one in tables)
        mentioned = "SELECT s AS pos FROM pair UNION ALL SELECT t FROM pair"
        unlisted, own = first(
            con.execute(
                f"SELECT count(*), count_if(pos < {len(names)}) FROM ids SEMI JOIN ({mentioned}) USING (pos) "
                f"ANTI JOIN ({again or 'SELECT NULL::VARCHAR AS id'}) USING (id)"
            )
        )
        return unlisted, own
