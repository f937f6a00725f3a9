"""Columns of a graph from tables: which nodes have a value, and what a new value would be in X."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.tables.arrow import pa
from kernode.io.tables.columns import Category, Column, Date, Flag, Number, Text
from kernode.io.tables.columns.encoding import not_of_its_kind
from kernode.io.tables.columns.values import texts

_SHOWN = 8  # names in a sentence


def nodes_where(graph: Graph, conditions: Mapping[str, Any]) -> np.ndarray:
    """A mask of the nodes that meet every condition, column by column: n booleans.

    A condition is a value, or (low, high) for numbers and dates, both included, None for no bound. Of a
    text the value is a word that is in it. Where a value is missing no condition is met. Values are compared
    as the features hold them, which are the columns' own: numbers in 32 bits, cut 5 deviations from the mean.

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
        raise InputError(
            "where must map columns to values, as {'year': (2000, None)} does. Pass a mask as among.",
            "setting",
            setting="where",
        )
    if graph.encoding is None:
        raise InputError(
            f"the columns of {graph.name!r} have no names, which those of tables have. Pass among, a mask.",
            "unsupported",
            setting="where",
        )
    kept = np.ones(graph.n_nodes, dtype=bool)
    for name, wanted in conditions.items():
        column, start = column_named(graph, name)
        part: Any = graph.features[:, start : start + len(column.feature_names)]
        values = part.toarray() if sparse.issparse(part) and not isinstance(column, Text) else part
        kept &= _met(column, values, wanted)
    return kept


def column_named(graph: Graph, name: str) -> tuple[Column, int]:
    """A column by its name, and where it begins in X."""
    start = 1  # after the constant
    for column in graph.encoding.columns:
        if column.name == name:
            return column, start
        start += len(column.feature_names)
    known = [column.name for column in graph.encoding.columns]
    raise InputError(
        f"no feature of {graph.name!r} comes from a column {name!r}. Choose one of {_few(known)}."
        if known
        else f"no feature of {graph.name!r} comes from a column. Pass among, a mask.",
        "unknown",
        what="column",
        name=name,
    )


def _met(column: Column, x: Any, wanted: Any) -> np.ndarray:
    if isinstance(column, Number):  # and dates
        low, high = wanted if isinstance(wanted, tuple) and len(wanted) == 2 else (wanted, wanted)
        at_least = -np.inf if low is None else _encoded(column, low)
        at_most = np.inf if high is None else _encoded(column, high)
        return _is_there(column, x) & (x[:, 0] >= at_least) & (x[:, 0] <= at_most)
    if isinstance(wanted, tuple):
        raise InputError(
            f"column {column.name!r} is a {column.kind} and has no order. Give one value.",
            "setting",
            setting="where",
        )
    if isinstance(column, Flag):
        return _is_there(column, x) & (x[:, 0] == _encoded(column, wanted))
    if isinstance(column, Category):
        found = x[:, [place_of(column, str(wanted), column.values)]]
    elif isinstance(column, Text):
        found = x[:, [place_of(column, str(wanted).lower(), column.words)]]
    else:
        raise InputError(
            f"column {column.name!r} holds lists of numbers, which no condition can be about.",
            "unsupported",
            setting="where",
        )
    return (found.toarray() if sparse.issparse(found) else np.asarray(found))[:, 0] > 0


def _is_there(column: Number | Flag, x: np.ndarray) -> np.ndarray:
    return x[:, 1] == 0 if column.marks_missing else np.ones(len(x), bool)


def _encoded(column: Number | Flag, value: Any) -> float:
    """What X holds for a value, or a sentence where it is none of the column's kind."""
    if not texts(pa.array([str(value)]))[0].is_valid:  # a missing value would be read as the mean
        raise InputError(f"column {column.name!r}: {value!r} is not a {column.kind}.", "setting", value=value)
    x = _numbers_of(column, value)
    if isinstance(column, Number) and abs(x[0]) >= column.furthest:  # beyond, X does not tell values apart
        raise InputError(
            f"column {column.name!r}: {value!r} is further from the mean than features are kept. "
            "Give a mask of the nodes.",
            "setting",
            setting="where",
            value=value,
        )
    return x[0]


def place_of(column: Column, wanted: str, known: tuple[str, ...]) -> int:
    """Which of a column's numbers a value or a word has."""
    if wanted not in known:
        raise InputError(
            f"column {column.name!r} has no {wanted!r}. Choose one of {_few(list(known))}.",
            "unknown",
            what="value",
            name=wanted,
        )
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
        raise InputError(
            f"{graph.name!r} was not read from tables. Give features, by name or number.", "unsupported"
        )
    found: dict[int, float] = {}
    for name, value in values.items():
        column, start = column_named(graph, name)
        if isinstance(column, Category) and value is not None:
            place_of(column, str(value), column.values)  # an unseen value would be zeros, without a word
        found |= {start + i: number for i, number in enumerate(_numbers_of(column, value))}
    return found


def _numbers_of(column: Column, value: Any) -> list[float]:
    """What X holds for a value of a column; None for a missing one."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    as_it_is = value is None or isinstance(value, bool | int | float | list | tuple)
    example = ", written as 2020-12-31" if isinstance(column, Date) else ""
    wrong = InputError(
        f"column {column.name!r}: {value!r} is not a {column.kind}{example}.", "setting", value=value
    )
    try:
        given = pa.chunked_array([pa.array([value if as_it_is else str(value)])])
        strange = not_of_its_kind(column, given)[0] or value != value  # NaN
        x = column.encode(given)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise wrong from error
    if strange:
        raise wrong
    row = x.toarray() if sparse.issparse(x) else x
    return [float(number) for number in row[0].astype(np.float32)]
