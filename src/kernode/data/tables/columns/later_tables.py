"""Tables that come after the first, whose columns must be written as its were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kernode.data.tables.columns.kinds import Column
from kernode.data.tables.columns.notation import Notation, is_text
from kernode.data.tables.columns.values import one_array, texts
from kernode.errors import InputError


def require_notation(table: str, columns: Any, notations: Iterable[Notation]) -> None:
    """Raise where a column (of a pyarrow table) shows that it is written in another way than the first."""
    for notation in notations:
        values = columns[notation.column]
        other = notation.other(values) if is_text(values) else None
        if other:
            raise InputError(
                f"{table}: column {notation.column!r} has {other}, and was read with {notation.usual} from "
                "the first table. Write it as there."
            )


def require_readable(table: str, column: Column, usual: str, values: Any, rows: np.ndarray) -> None:
    """Raise where most values that are there, those in some rows, are not of the column's kind.

    ``usual``: what they were in the first table.
    """
    values = one_array(values)
    written = texts(values) if is_text(values) else values
    there = len(written) - written.null_count
    if 2 * len(rows) > there:
        raise InputError(
            f"{table}: column {column.name!r} has no {column.kind} in {len(rows):,} of {there:,} values but "
            f"{shown(values, rows)}, and was read with {usual} from the first table. Write it as there."
        )


def shown(values: Any, rows: np.ndarray) -> str:
    """The first value of a column in some rows, as it is written, with a mark where there are others."""
    import pyarrow.compute as pc

    distinct = pc.unique(one_array(values).take(rows)).to_pylist()
    return f"{str(distinct[0]).strip()!r}{', …' if len(distinct) > 1 else ''}"
