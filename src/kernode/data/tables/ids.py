"""Ids of any type as text, and their places among the nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.data.tables.columns.values import are_whole, without_point_zero
from kernode.data.tables.table import Table
from kernode.errors import InputError

_LONGEST = 1000  # characters: numpy holds every name in as much room as the longest takes


def coded_ids(table: Table, columns: list[str]) -> tuple[np.ndarray, Any]:
    """Columns of ids as numbers, and the id that each number stands for.

    Gives rows × columns, −1 where there is no id, and a large_string array. Two numbers may stand for one
    id, where only blanks around it differ, or 2 and 2.0. Every cell is looked at once: ten million edges
    name few nodes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks = [chunk for column in columns for chunk in plain_ids(table, column).chunks]
    # One array first: of many chunks pyarrow would unify the dictionaries, which takes minutes.
    coded = pa.concat_arrays([pa.array([], pa.large_string()), *chunks]).dictionary_encode()
    ids, codes = coded.dictionary, coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).copy()
    ids = pc.utf8_trim_whitespace(ids)
    if are_whole(ids):
        ids = without_point_zero(ids)
    empty = pc.equal(ids, "").to_numpy(zero_copy_only=False)
    if empty.any():
        codes[np.append(empty, False)[codes]] = -1
    require_short(ids, table, columns)
    return codes.reshape(len(columns), -1).T, ids


def require_short(ids: Any, table: Table, columns: list[str]) -> None:
    """Raise where an id is no id but a text."""
    import pyarrow.compute as pc

    longest = pc.max(pc.utf8_length(ids)).as_py() or 0
    if longest > _LONGEST:
        raise InputError(
            f"{table.header}: an id in {' or '.join(columns)} has {longest:,} characters. "
            f"Ids have at most {_LONGEST:,}: name another column, or shorten them."
        )


def plain_ids(table: Table, column: str) -> Any:
    """A column of ids as text, null where there is none: large_string.

    One type for all, because files disagree: 17 in a database is "17" in a CSV file, and 17.0 where pandas
    had to make room for a missing one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values = table[column]
    try:
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_floating(values.type):
            values = values.cast(pa.float64())
            whole = pc.and_(pc.is_finite(values), pc.equal(pc.floor(values), values))
            exact = pc.and_(whole, pc.less(pc.abs(values), 2.0**53)).fill_null(False)
            if pc.all(pc.or_(exact, pc.is_null(values, nan_is_null=True))).as_py() is not False:
                values = pc.if_else(exact, values, pa.scalar(None, values.type)).cast(pa.int64())
        return values.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{table.header}: column {column!r} holds {values.type}, which cannot be an id. "
            "Name another column, or write its values as text."
        ) from error


def places(ids: Any, known: Any) -> np.ndarray:
    """Where each id stands among known ones, −1 where it does not: int64."""
    import pyarrow.compute as pc

    at = pc.index_in(ids, value_set=known).fill_null(-1)
    return at.to_numpy(zero_copy_only=False).astype(np.int64)
