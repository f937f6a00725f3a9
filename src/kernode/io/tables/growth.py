"""Nodes and edges that arrive later, as tables or as arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph import Graph, Lookup
from kernode.graph.edits import extended, with_edges
from kernode.io.tables.encoding import Encoding, UnknownLabels
from kernode.io.tables.labels import read_labels
from kernode.io.tables.read import (
    TableOrigin,
    added_note,
    aligned,
    column_tables,
    edges_like,
    first_rows,
    id_sql,
    number_ids,
    places,
    read_like,
    with_ids,
    without_repeats,
)
from kernode.io.tables.source import Reading, database, first, open_table, require_encoding


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
    with _joined(graph.node_names, nodes, edges, encoding, codec) as (con, listed, ids, ends):
        names = np.array([row[0] for row in con.execute("SELECT id FROM ids ORDER BY pos").fetchall()], str)
        placed = [places(con, table, id) for table, id in zip(listed, ids, strict=True)]
        for table, place in zip(listed, placed, strict=True):
            known = np.flatnonzero((place >= 0) & (place < n))
            if len(known):
                name = str(names[place[known[0]]])
                raise InputError(
                    f"{table.name}, row {table.numbers(known[:1])[0]}: {name!r} is in the graph already. Leave it "
                    "out: nodes that are there keep their features.",
                    "duplicate",
                    name=name,
                )
        listed = [without_repeats(table, place) for table, place in zip(listed, placed, strict=True)]
        of = column_tables(listed, ids)
        values, notes, repairs, labels = {}, [], [], None
        if listed:
            _, values, repairs, notes = read_like(listed, of, encoding)
        arrived = len(names) - n
        rows = [first_rows(place, len(names))[n:] for place in placed]
        values = {
            one.name: aligned(values.get(one.name), rows[of[one.name]] if rows else None, arrived)
            for one in encoding.columns
        }
        if encoding.label in of:
            at = of[encoding.label]
            labels, said = _labels(graph, encoding, listed[at], placed[at], names)
            notes = [*notes, *said]
        pairs = con.execute("SELECT * FROM pair").fetchnumpy()
        tables = [*listed, *([] if ends is None else [ends.table])]
        repairs = (*(one for table in tables for one in table.repairs), *repairs)
        count_listed = (
            len({*np.concatenate([place[place >= 0] for place in placed]).tolist()}) if placed else 0
        )
        notes = (
            *(note for table in tables for note in table.notes),
            *added_note(names[n + count_listed :].tolist()),
            *notes,
        )
    features = None
    if arrived:
        own = encoding.of_columns(values, arrived)
        later = sparse.csr_array((arrived, graph.n_features - own.shape[1]), dtype=np.float32)
        features = sparse.hstack([own, later], format="csr")
    ends_of = np.column_stack([pairs["s"], pairs["t"]]).astype(np.int64)
    larger = extended(
        graph,
        features,
        ends_of,
        weights=pairs.get("w"),
        labels=labels,
        node_names=names[n:] if arrived else None,
    )
    origin = TableOrigin(encoding, (*graph.repairs, *repairs), *_grown(graph, values, arrived, count_listed))
    larger = replace(larger, origin=origin, notes=(*larger.notes, *notes, *map(str, repairs)))
    return with_edges(larger, larger.adjacency)


def _grown(graph: Graph, values: Mapping[str, np.ndarray], arrived: int, listed: int) -> tuple[Any, Any]:
    """Values of the columns and the mask of listed nodes, of the larger graph."""
    before: TableOrigin = graph.origin  # type: ignore[assignment]
    kept = None
    if before.values is not None:
        kept = {name: np.concatenate([column, values[name]]) for name, column in before.values.items()}
    mask = before.listed
    if mask is not None or listed < arrived:
        mask = np.concatenate(
            [np.ones(graph.n_nodes, bool) if mask is None else mask, np.arange(arrived) < listed]
        )
    return kept, mask


def _joined(names: Any, nodes: Any, edges: Any, encoding: Encoding, codec: str | None) -> Any:
    """Tables that are read as an encoding says, numbered after the known names."""
    from contextlib import contextmanager

    @contextmanager
    def opened() -> Any:
        if codec is not None:
            require_encoding(codec)
        several = [] if nodes is None else list(nodes) if isinstance(nodes, list | tuple) else [nodes]
        columns = frozenset(
            filter(None, (encoding.id, encoding.label, *(one.name for one in encoding.columns)))
        )
        with database() as con:
            known = open_table(con, {"id": np.asarray(names, object)}, "known", Reading())
            listed = [
                open_table(con, one, "nodes", Reading(codec, None, columns, encoding.id)) for one in several
            ]
            listed, ids = with_ids(listed, encoding.id)
            ends = None if edges is None else edges_like(con, edges, encoding, codec)
            number_ids(con, [known, *listed], ["id", *ids], ends)
            yield con, listed, ids, ends

    return opened()


def _labels(
    graph: Graph, encoding: Encoding, table: Any, place: np.ndarray, names: np.ndarray
) -> tuple[Any, tuple[str, ...]]:
    """Classes of new nodes; a class that the graph does not have is unknown."""
    unknown = encoding.unknown or UnknownLabels.usual()
    labels = read_labels(table, str(encoding.label), place, names, unknown, graph.class_names)
    new = labels.names[graph.n_classes :]
    note: tuple[str, ...] = ()
    if new:
        shown = ", ".join(map(repr, new[:5])) + (", …" if len(new) > 5 else "")
        note = (
            f"{table.name}: took {shown} in column {encoding.label!r} as not known, for the graph has no such class",
        )
    numbers = np.where(labels.numbers < graph.n_classes, labels.numbers, -1)
    return numbers[graph.n_nodes :], (*labels.notes, *note)


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
    """Count the nodes that edges mention and the tables of nodes do not list, and those of them in the graph."""
    names = [] if graph is None or graph.node_names is None else graph.node_names
    with _joined(names, nodes, edges, encoding, codec) as (con, listed, ids, _):
        parts = [f"SELECT {id_sql(one, [id])[0]} AS id FROM {one.view}" for one, id in zip(listed, ids, strict=True)]
        again = " UNION ".join(parts) or "SELECT NULL::VARCHAR AS id"
        mentioned = "SELECT s AS pos FROM pair UNION ALL SELECT t FROM pair"
        return first(
            con.execute(
                f"SELECT count(*), count_if(pos < {len(names)}) FROM ids SEMI JOIN ({mentioned}) USING (pos) "
                f"ANTI JOIN ({again}) USING (id)"
            )
        )
