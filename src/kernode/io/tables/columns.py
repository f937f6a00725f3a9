"""Columns of a graph from tables: one to predict, which nodes have a value, what a new value is in X."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.tables.encoding import stacked
from kernode.io.tables.kinds import Category, Column, Date, Flag, Number, Scalar, Text, Tokens, Vector
from kernode.io.tables.labels import read_labels, require_task
from kernode.io.tables.notation import LARGEST, NO, YES, NumberNotation
from kernode.io.tables.read import POSITIONS, TableOrigin
from kernode.io.tables.source import database, open_table
from kernode.io.tables.structure import Structure
from kernode.io.tables.table import Reading

_SHOWN = 8  # names in a sentence
_FLAGS = dict.fromkeys(YES, 1.0) | dict.fromkeys(NO, 0.0)


def with_target(graph: Graph, name: str, task: str = "auto") -> Graph:
    """Return the graph with a column's values as classes or numbers, and without the column's features.

    ``task``: "classes" or "numbers", as :func:`kernode.read_table` takes it. Numbers are those of the table.

    >>> from kernode.io import read_table
    >>> people = {"id": ["ann", "bob", "eve", "joe"], "age": [31, 44, 37, 52], "likes": ["tea", "jam"] * 2}
    >>> graph = with_target(read_table({"source": ["ann"], "target": ["bob"]}, people), "likes")
    >>> graph.class_names, graph.labels.tolist(), graph.encoding.feature_names
    (('jam', 'tea'), [1, 0, 1, 0], ('constant', 'age'))
    >>> with_target(graph, "age", task="numbers").targets.tolist()
    [31.0, 44.0, 37.0, 52.0]
    """
    require_task(task)
    origin = graph.origin
    if not isinstance(origin, TableOrigin):
        what = f"{graph.name!r} was not read from tables, whose columns have names"
        raise _refused(f"{what}. Give nodes and y.")
    encoding = origin.encoding
    if name == encoding.label:
        held = "classes" if encoding.numbers is None else "numbers"
        if task not in ("auto", held):
            way = f"Read the tables with label={name!r} and task={task!r}."
            raise _refused(f"column {name!r} was read as {held}, not as {task}. {way}")
        return graph
    column = next((one for one in encoding.columns if one.name == name), None)
    if column is None:
        known = ", ".join(one.name for one in encoding.columns if one.is_kept) or "none"
        why = next((why for why in encoding.left_out if why.startswith(f"{name}: ")), f"It has {known}")
        raise _refused(f"{graph.name!r} keeps no column {name!r}. {why}.")
    if not column.is_kept or isinstance(column, Date):
        way = f"Name another column, or read the tables with label={name!r}."
        what = "classes" if task == "auto" else task
        raise _refused(f"column {name!r} was read as {column.kind}, not as {what}. {way}")
    if origin.values is None:
        what = f"{graph.name!r} was saved by kernode 0.2, without its columns"
        raise _refused(f"{what}. Read its tables again.")
    values = origin.values[name]
    if isinstance(column, Flag) and task != "numbers":
        values = np.array(["false", "true", None], object)[np.nan_to_num(values, nan=2).astype(int)]
    nodes = np.arange(graph.n_nodes)
    with database() as con:
        table = open_table(con, {name: values}, graph.name, Reading())
        labels = read_labels(table, name, nodes, nodes, None, task=task)
    others = tuple(one for one in encoding.columns if one is not column)
    own = encoding.notation(column)
    notation = own if isinstance(own, NumberNotation) else labels.notation
    learned = replace(
        encoding, columns=others, label=name, classes=labels.names, unknown=labels.unknown,
        numbers=None if labels.targets is None else notation,
        notations=tuple(one for one in encoding.notations if one.column != name),
        structure=encoding.structure or (None if others else Structure.learn(graph.adjacency, POSITIONS)),
    )  # fmt: skip
    # X as read_table makes it without the column
    of_others = [one is not column for one in encoding.columns for _ in one.features]
    place = graph.n_features - 1 - len(of_others)
    parts = [graph.features[:, np.array([True, *of_others, *[True] * place])]]
    if encoding.structure is None and learned.structure is not None:
        parts.append(learned.structure.encode(graph.adjacency, np.asarray(graph.node_names)))
    kept = {one: column for one, column in origin.values.items() if one != name}
    return replace(
        graph, features=stacked(parts), labels=labels.numbers, class_names=labels.names,
        targets=labels.targets, target_name=name,
        notes=(*(note for note in graph.notes if note != str(column)), *labels.notes),
        origin=replace(origin, encoding=learned, values=kept),
    )  # fmt: skip


def _refused(sentence: str) -> InputError:
    return InputError(sentence, "unknown", what="column", setting="X")


def nodes_where(graph: Graph, conditions: Mapping[str, Any]) -> np.ndarray:
    """A mask of the nodes that meet every condition, column by column: n booleans.

    A condition is a value, or (low, high) for numbers and dates, both included, None for no bound. Of a
    text the value is a word that is in it. Where a value is missing no condition is met.

    >>> from kernode.io import read_table
    >>> nodes = {"id": ["a", "b", "c"], "year": [1999, 2004, 2010], "venue": ["X", "Y", "X"]}
    >>> graph = read_table({"source": ["a", "b"], "target": ["b", "c"]}, nodes,
    ...                    features={"year": "number", "venue": "category"})
    >>> nodes_where(graph, {"year": (2000, None)})
    array([False,  True,  True])
    >>> nodes_where(graph, {"year": (2000, None), "venue": "X"})
    array([False, False,  True])
    """
    if not isinstance(conditions, Mapping):
        sentence = "where must map columns to values, as {'year': (2000, None)} does. Pass a mask as among."
        raise InputError(sentence, "setting", setting="where")
    if graph.encoding is None:
        what = f"the columns of {graph.name!r} have no names, which those of tables have"
        raise InputError(f"{what}. Pass among, a mask.", "unsupported", setting="where")
    kept = np.ones(graph.n_nodes, dtype=bool)
    for name, wanted in conditions.items():
        kept &= _met(graph, *_column_named(graph, name), wanted)
    return kept


def _column_named(graph: Graph, name: str) -> tuple[Column, int]:
    """A column by its name, and where it begins in X."""
    start, known = 1, [column.name for column in graph.encoding.columns]  # after the constant
    for column in graph.encoding.columns:
        if column.name == name:
            return column, start
        start += len(column.features)
    hint = f"Choose one of {_few(known)}." if known else "Pass among, a mask."
    sentence = f"no feature of {graph.name!r} comes from a column {name!r}. {hint}"
    raise InputError(sentence, "unknown", what="column", name=name)


def _met(graph: Graph, column: Column, start: int, wanted: Any) -> np.ndarray:
    values = None if graph.columns is None else graph.columns.get(column.name)
    if isinstance(column, Text):
        word = _place_of(column, str(wanted).lower(), column.words)
        found: Any = graph.features[:, [start + word]]
        return (found.toarray() if sparse.issparse(found) else np.asarray(found))[:, 0] > 0
    if values is None:
        what = "holds lists of numbers" if graph.columns else "is not kept in this file"
        sentence = f"column {column.name!r} {what}. Read the tables again, or pass among, a mask."
        raise InputError(sentence, "unsupported", setting="where")
    if isinstance(column, Scalar):
        low, high = wanted if isinstance(wanted, tuple) and len(wanted) == 2 else (wanted, wanted)
        at_least = -np.inf if low is None else float(_read(column, low)[0])
        at_most = np.inf if high is None else float(_read(column, high)[0])
        return (values >= at_least) & (values <= at_most)
    if isinstance(wanted, tuple):
        sentence = f"column {column.name!r} is a {column.kind} and has no order. Give one value."
        raise InputError(sentence, "setting", setting="where")
    assert isinstance(column, Category)
    at = _place_of(column, str(wanted), column.values)
    return np.asarray(column.encode(values)[:, [at]].toarray()[:, 0] > 0)


def _place_of(column: Column, wanted: str, known: tuple[str, ...]) -> int:
    """Which of a column's numbers a value or a word has."""
    if wanted not in known:
        sentence = f"column {column.name!r} has no {wanted!r}. Choose one of {_few(list(known))}."
        raise InputError(sentence, "unknown", what="value", name=wanted)
    return known.index(wanted)


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more


def as_features(graph: Graph, values: Mapping[str, Any]) -> dict[int, float]:
    """Columns of X, and the numbers in them, for values as the table has them; None for a missing one.

    >>> from kernode.io import read_table
    >>> nodes = {"id": ["a", "b", "c"], "year": [1999, 2004, 2009], "venue": ["X", "Y", "X"]}
    >>> graph = read_table({"source": ["a", "b"], "target": ["b", "c"]}, nodes,
    ...                    features={"year": "number", "venue": "category"})
    >>> as_features(graph, {"year": 2004, "venue": "Y"})
    {1: 0.0, 2: 0.0, 3: 1.0}
    """
    if values and graph.encoding is None:
        sentence = f"{graph.name!r} was not read from tables. Give features, by name or number."
        raise InputError(sentence, "unsupported")
    found: dict[int, float] = {}
    for name, value in values.items():
        column, start = _column_named(graph, name)
        if isinstance(column, Category) and value is not None:
            _place_of(column, str(value), column.values)  # an unseen value would be zeros, without a word
        x = column.encode(_read(column, value))
        row = x.toarray() if sparse.issparse(x) else x
        found |= {start + i: float(number) for i, number in enumerate(row[0].astype(np.float32))}
    return found


def _read(column: Column, value: Any) -> np.ndarray:
    """A value as the column's table would have it, in an array of one; None for a missing one."""
    found = np.empty(1, object)
    try:
        found[0] = None if value is None else _parsed(column, value)
    except (ValueError, TypeError, KeyError, OverflowError):
        example = ", written as 2020-12-31" if isinstance(column, Date) else ""
        sentence = f"column {column.name!r}: {value!r} is not a {column.kind}{example}."
        raise InputError(sentence, "setting", value=value) from None
    return found


def _parsed(column: Column, value: Any) -> Any:
    text = str(value).strip()
    if isinstance(column, Date):
        return (date.fromisoformat(text.replace("/", "-")[:10]) - date(1970, 1, 1)).days
    if isinstance(column, Flag):
        return _FLAGS[text.lower().removesuffix(".0")]
    if isinstance(column, Number):
        if not abs(float(value)) <= LARGEST:
            raise ValueError
        return float(value)
    if isinstance(column, Vector):
        return np.asarray(value, np.float64)
    return list(value) if isinstance(column, Tokens) else text
