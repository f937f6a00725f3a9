"""Columns of a graph from tables: which nodes have a value, and what a new value would be in X."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.tables.columns import Category, Column, Date, Flag, Number, Text
from kernode.io.tables.columns.encoding import not_of_its_kind

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
            "where must map columns to values, as {'year': (2000, None)} does. Pass a mask as among."
        )
    if graph.encoding is None:
        raise InputError(
            f"the columns of {graph.name!r} have no names, which those of tables have. Pass among, a mask."
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
        else f"no feature of {graph.name!r} comes from a column. Pass among, a mask."
    )


def _met(column: Column, x: Any, wanted: Any) -> np.ndarray:
    if isinstance(column, Number):  # and dates
        return _between(column, x, *_bounds(column, wanted))
    if isinstance(wanted, tuple):
        raise InputError(f"column {column.name!r} is a {column.kind} and has no order. Give one value.")
    if isinstance(column, Category):
        return np.asarray(x[:, place_of(column, str(wanted), column.values)]) > 0
    if isinstance(column, Text):
        return _has_word(column, x, str(wanted))
    if isinstance(column, Flag):
        there = x[:, 1] == 0 if column.marks_missing else np.ones(len(x), bool)
        return there & (x[:, 0] == _encoded(column, wanted))
    raise InputError(f"column {column.name!r} holds lists of numbers, which no condition can be about.")


def _bounds(column: Number, wanted: Any) -> tuple[float, float]:
    """What a value, or two, are in X."""
    if isinstance(wanted, tuple) and len(wanted) != 2:
        raise InputError(f"column {column.name!r}: bounds are (low, high), None for no bound. Got {wanted}.")
    low, high = wanted if isinstance(wanted, tuple) else (wanted, wanted)
    return (
        -np.inf if low is None else _encoded(column, low),
        np.inf if high is None else _encoded(column, high),
    )


def _between(column: Number, x: np.ndarray, low: float, high: float) -> np.ndarray:
    there = x[:, 1] == 0 if column.marks_missing else np.ones(len(x), bool)
    return there & (x[:, 0] >= low) & (x[:, 0] <= high)


def _encoded(column: Column, value: Any) -> float:
    """What X holds for a value, or a sentence where it is none of the column's kind."""
    import pyarrow as pa

    shown = f"column {column.name!r}: {value!r}"
    try:
        values = pa.chunked_array(
            [pa.array([value if isinstance(value, bool | int | float) else str(value)])]
        )
        number = float(column._read(values)[0]) if isinstance(column, Number) else np.nan
        x = column.encode(values)[0].astype(np.float32)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InputError(f"{shown} is not a {column.kind}.") from error
    if isinstance(column, Number):
        if np.isnan(number):
            example = ", written as 2020-12-31" if isinstance(column, Date) else ""
            raise InputError(f"{shown} is not a {column.kind}{example}.")
        # Beyond, X does not tell values apart.
        if float(x[0]) != np.float32((number - column.mean) / column.scale):
            raise InputError(f"{shown} is further from the mean than features are kept. Pass among, a mask.")
    elif len(x) > 1 and x[1]:
        raise InputError(f"{shown} is neither yes nor no.")
    return float(x[0])


def place_of(column: Column, wanted: str, known: tuple[str, ...]) -> int:
    """Which of a column's numbers a value or a word has."""
    if wanted not in known:
        raise InputError(f"column {column.name!r} has no {wanted!r}. Choose one of {_few(list(known))}.")
    return known.index(wanted)


def _has_word(column: Text, x: Any, word: str) -> np.ndarray:
    found = x[:, [place_of(column, word.lower(), column.words)]]
    return (found.toarray() if sparse.issparse(found) else np.asarray(found))[:, 0] > 0


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
        raise InputError(f"{graph.name!r} was not read from tables. Give features, by name or number.")
    found: dict[int, float] = {}
    for name, value in values.items():
        column, start = column_named(graph, name)
        found |= {start + i: number for i, number in enumerate(_new_numbers(column, value))}
    return found


def _new_numbers(column: Column, value: Any) -> list[float]:
    import pyarrow as pa

    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(column, Category) and value is not None:
        place_of(column, str(value), column.values)  # a value that nobody had would be zeros, unsaid
    as_it_is = value is None or isinstance(value, bool | int | float | list | tuple)
    try:
        given = pa.chunked_array([pa.array([value if as_it_is else str(value)])])
        strange = not_of_its_kind(column, given)[0] or value != value  # NaN
        x = column.encode(given)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise InputError(f"column {column.name!r}: {value!r} is not a {column.kind}.") from error
    if strange:
        raise InputError(f"column {column.name!r}: {value!r} is not a {column.kind}.")
    row = x.toarray() if sparse.issparse(x) else x
    return [float(number) for number in row[0].astype(np.float32)]
