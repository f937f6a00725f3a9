"""Ids of any type as text, and their places among the nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.data.tables.files import Table


def coded_ids(table: Table, columns: list[str]) -> tuple[np.ndarray, Any]:
    """Columns of ids as numbers, and the id that each number stands for.

    Gives rows × columns, −1 where there is no id, and a large_string array. Two numbers may stand for one
    id, where only blanks around it differ. Every cell is looked at once: ten million edges name few nodes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks = [chunk for column in columns for chunk in _plain(table[column]).chunks]
    # One array first: of many chunks pyarrow would unify the dictionaries, which takes minutes.
    coded = pa.concat_arrays([pa.array([], pa.large_string()), *chunks]).dictionary_encode()
    ids, codes = coded.dictionary, coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).copy()
    if table.written:
        ids = pc.utf8_trim_whitespace(ids)
        empty = pc.equal(ids, "").to_numpy(zero_copy_only=False)
        if empty.any():
            codes[np.append(empty, False)[codes]] = -1
    return codes.reshape(len(columns), -1).T, ids


def _plain(values: Any) -> Any:
    """A column of ids as text, null where there is none: large_string.

    One type for all, because files disagree: 17 in a database is "17" in a CSV file, and 17.0 where pandas
    had to make room for a missing one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_floating(values.type):
        whole = pc.and_(pc.is_finite(values), pc.equal(pc.floor(values), values))
        exact = pc.and_(whole, pc.less(pc.abs(values), 2.0**53)).fill_null(False)
        if pc.all(pc.or_(exact, pc.is_null(values, nan_is_null=True))).as_py() is not False:
            values = pc.if_else(exact, values, pa.scalar(None, values.type)).cast(pa.int64())
    return values.cast(pa.large_string())


def places(ids: Any, known: Any) -> np.ndarray:
    """Where each id stands among known ones, −1 where it does not: int64."""
    import pyarrow.compute as pc

    at = pc.index_in(ids, value_set=known).fill_null(-1)
    return at.to_numpy(zero_copy_only=False).astype(np.int64)
