"""What a node of a graph from tables would have in X if its row of the table had other values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from kernode.data.tables.columns import Category, Column
from kernode.data.tables.columns.encoding import not_of_its_kind
from kernode.data.tables.conditions import column_named, place_of
from kernode.errors import InputError
from kernode.graph import Graph


def as_features(graph: Graph, values: Mapping[str, Any]) -> dict[int, float]:
    """Columns of X, and the numbers in them, for values as the table has them; None for a missing one.

    >>> from kernode.data import read_table
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
        found |= {start + i: number for i, number in enumerate(_encoded(column, value))}
    return found


def _encoded(column: Column, value: Any) -> list[float]:
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
