"""A column of a graph's tables as the one to predict: its values become classes, and it is no feature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.tables.encoding import SPARSE, Encoding, non_zeros
from kernode.io.tables.kinds import Date, Flag
from kernode.io.tables.labels import read_labels
from kernode.io.tables.read import POSITIONS, TableOrigin
from kernode.io.tables.source import database, open_table
from kernode.io.tables.structure import Structure
from kernode.io.tables.table import Reading


def with_target(graph: Graph, name: str) -> Graph:
    """Return the graph with a column's values as classes, and without the column's features.

    >>> from kernode.io import read_table
    >>> people = {"id": ["ann", "bob", "eve", "joe"], "age": [31, 44, 37, 52], "likes": ["tea", "jam"] * 2}
    >>> graph = with_target(read_table({"source": ["ann"], "target": ["bob"]}, people), "likes")
    >>> graph.class_names, graph.labels.tolist(), graph.encoding.feature_names
    (('jam', 'tea'), [1, 0, 1, 0], ('constant', 'age'))
    """
    origin = graph.origin
    if not isinstance(origin, TableOrigin):
        what = f"{graph.name!r} was not read from tables, whose columns have names"
        raise _refused(f"{what}. Give nodes and y.")
    encoding = origin.encoding
    if name == encoding.label:
        return graph
    column = next((one for one in encoding.columns if one.name == name), None)
    if column is None:
        known = ", ".join(one.name for one in encoding.columns if one.is_kept) or "none"
        why = next((why for why in encoding.left_out if why.startswith(f"{name}: ")), f"It has {known}")
        raise _refused(f"{graph.name!r} keeps no column {name!r}. {why}.")
    if not column.is_kept or isinstance(column, Date):
        way = f"Name another column, or read the tables with label={name!r}."
        raise _refused(f"column {name!r} was read as {column.kind}, not as classes. {way}")
    if origin.values is None:
        what = f"{graph.name!r} was saved by kernode 0.2, without its columns"
        raise _refused(f"{what}. Read its tables again.")
    values = origin.values[name]
    if isinstance(column, Flag):
        values = np.array(["false", "true", None], object)[np.nan_to_num(values, nan=2).astype(int)]
    nodes = np.arange(graph.n_nodes)
    with database() as con:
        table = open_table(con, {name: values}, graph.name, Reading())
        labels = read_labels(table, name, nodes, nodes, None)
    others = tuple(one for one in encoding.columns if one is not column)
    learned = replace(
        encoding, columns=others, label=name, classes=labels.names, unknown=labels.unknown,
        notations=tuple(one for one in encoding.notations if one.column != name),
        structure=encoding.structure or (None if others else Structure.learn(graph.adjacency, POSITIONS)),
    )  # fmt: skip
    kept = {one: column for one, column in origin.values.items() if one != name}
    return replace(
        graph, features=_features(graph, encoding, learned), labels=labels.numbers, class_names=labels.names,
        notes=(*(note for note in graph.notes if note != str(column)), *labels.notes),
        origin=replace(origin, encoding=learned, values=kept),
    )  # fmt: skip


def _features(graph: Graph, before: Encoding, after: Encoding) -> Any:
    """X without a column's features, as ``read_table`` makes it without the column."""
    kept = [one in after.columns for one in before.columns for _ in one.features]
    place = graph.n_features - 1 - len(kept)
    x: Any = graph.features[:, np.array([True, *kept, *[True] * place])]
    if before.structure is None and after.structure is not None:
        new = after.structure.encode(graph.adjacency, np.asarray(graph.node_names))
        x = np.hstack([x.toarray() if sparse.issparse(x) else x, new])
    if non_zeros(x) < SPARSE * x.shape[0] * x.shape[1]:
        return sparse.csr_array(x)
    return x.toarray() if sparse.issparse(x) else x


def _refused(sentence: str) -> InputError:
    return InputError(sentence, "unknown", what="column", setting="X")
