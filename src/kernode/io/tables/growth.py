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
from kernode.io.tables.read import TableOrigin, open_tables


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
            fix = f"Give new {what} as a table with the same columns."
            raise InputError(f"{graph.name!r} was read from tables. {fix}", "setting", setting=what)
    if names is not None:
        raise InputError("names stand in the tables' columns. Leave names out.", "no-effect", setting="names")
    return _extended_by_tables(graph, nodes, edges, encoding)


def _extended_by_tables(graph: Graph, nodes: Any, edges: Any, codec: str | None) -> Graph:
    n, encoding = graph.n_nodes, graph.encoding
    with open_tables(edges, nodes, graph=graph, like=encoding, encoding=codec) as tables:
        pairs = tables.con.execute("SELECT * FROM pair").fetchnumpy()
    names, labels, notes = tables.names[n:], tables.labels, [*tables.notes(1)]
    if unseen := labels.names[graph.n_classes :]:
        shown = ", ".join(map(repr, unseen[:5])) + (", …" if len(unseen) > 5 else "")
        where = f"{tables.of[encoding.label].table.name}: took {shown} in column {encoding.label!r}"
        notes.append(f"{where} as not known, for the graph has no such class")
    alone = sparse.csr_array((len(names), len(names)), dtype=np.float32)  # their edges follow
    features = encoding.features(tables.values, alone, names) if len(names) else None
    known = np.where(labels.numbers < graph.n_classes, labels.numbers, -1)[n:]
    targets = None if labels.targets is None else labels.targets[n:]
    both, new = np.column_stack([pairs["s"], pairs["t"]]).astype(np.int64), names if len(names) else None
    larger = extended(
        graph, features, both, weights=pairs.get("w"), labels=known, node_names=new, targets=targets
    )
    kept, listed = graph.columns, graph.listed
    if kept is not None:
        kept = {one: np.concatenate([old, tables.values[one].astype(old.dtype)]) for one, old in kept.items()}
    if listed is not None or not tables.listed.all():
        listed = np.concatenate([np.ones(n, bool) if listed is None else listed, tables.listed])
    origin = TableOrigin(encoding, (*graph.repairs, *tables.repairs), kept, listed)
    notes = [*larger.notes, *notes, *map(str, tables.repairs)]
    name = larger.target_name or encoding.label or ""
    larger = replace(larger, origin=origin, notes=tuple(notes), target_name=name)
    return with_edges(larger, larger.adjacency)


def _indices(graph: Graph, edges: Any, names: Any) -> Any:
    """Edges by position in the larger graph; :mod:`kernode.graph.lookup` finds names and integers."""
    try:
        pairs = np.asanyarray([] if edges is None else edges)
    except ValueError:
        sentence = "edges must be m × 2 nodes. Got rows of different lengths."
        raise InputError(sentence, "shape", setting="edges") from None
    if not pairs.size or (graph.node_names is None and pairs.dtype.kind in "iu"):
        return pairs  # of nodes without names: new ones count on
    if graph.node_names is None:
        sentence = f"the nodes of {graph.name!r} have no names. Give edges as indices."
        raise InputError(sentence, "setting", setting="edges")
    everyone = np.concatenate([graph.node_names, np.asarray([] if names is None else names, str)])
    try:
        return Lookup(everyone, len(everyone), f"{graph.name!r} and names").find(pairs)
    except InputError as error:
        sentence = f"edges: {error} New nodes are named in names."
        raise InputError(sentence, "unknown", setting="names") from None


def _is_table(value: Any, what: str) -> bool:
    known = isinstance(value, str | os.PathLike | Mapping)
    if what == "nodes" and isinstance(value, list | tuple):
        return all(_is_table(one, "") for one in value)
    return known or hasattr(value, "columns") or hasattr(value, "__arrow_c_stream__")
