"""Tables that come after the first, whose columns must be written as its were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kernode.data.tables.columns.kinds import Category, Column
from kernode.data.tables.columns.notation import Notation, is_text
from kernode.data.tables.columns.values import one_array, texts
from kernode.errors import InputError, warn

_SHOWN = 3  # values in a sentence


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


def new_categories(table: str, columns: Any, of: Iterable[Column]) -> tuple[str, ...]:
    """Notes on values of categories that the first table did not have; warnings where these are many."""
    found = (
        _new_values(table, column, columns[column.name]) for column in of if isinstance(column, Category)
    )
    return tuple(note for note in found if note)


def _new_values(table: str, column: Category, values: Any) -> str | None:
    """What is said of one column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = texts(values)
    there = written.drop_null()
    new = written.filter(pa.array(np.diff(column.encode(values).indptr) == 0)).drop_null()
    if not len(new):
        return None
    distinct = pc.unique(new).to_pylist()
    some = f"{', '.join(map(repr, distinct[:_SHOWN]))}{', …' if len(distinct) > _SHOWN else ''}"
    rare = " or rare" if column.others else ""
    counts = "count as none" if len(new) > 1 else "counts as none"
    are = "are" if len(new) > 1 else "is"
    note = f"{column.name}: {len(new):,} of {len(there):,} values {are} new{rare} ({some}) and {counts}"
    known = {_folded(value): value for value in reversed(column.values)}
    twin = next((value for value in distinct if _folded(value) in known), None)
    if twin is not None:
        warn(f"{table}: {note}. Write them as the first table did: {known[_folded(twin)]!r} for {twin!r}.")
    elif 2 * len(new) > len(there):
        shown = ", ".join(map(repr, column.values[:_SHOWN])) + (", …" if len(column.values) > _SHOWN else "")
        warn(f"{table}: {note}. The first table had {shown}.")
    return f"{table}: {note}"


def _folded(text: str) -> str:
    """Without case and blanks."""
    return "".join(text.casefold().split())
