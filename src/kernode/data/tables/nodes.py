"""Nodes from a table: ids without gaps and repeats, labels as class numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernode.data.tables.choose import choose
from kernode.data.tables.columns.values import categories, numbers
from kernode.data.tables.files import Table
from kernode.data.tables.ids import coded_ids, places
from kernode.data.tables.repairs import Repair
from kernode.errors import InputError

_IDS = ("id", "node", "node_id", "nodeid", "key", "name")
LABELS = ("label", "class")


def read_nodes(table: Table, id: str | None) -> tuple[str, Any, Table]:
    """The id column's name, the ids (large_string, unique), and the table without other rows."""
    if not table.column_names:
        raise InputError(f"{table.name} has no columns. A table of nodes needs one for their ids.")
    id = choose(table, id, "id", _IDS) or table.column_names[0]
    coded, written = coded_ids(table, [id])
    codes = coded[:, 0]
    missing = codes < 0
    table, codes = table.without(missing, "had no id"), codes[~missing]
    codes = places(written, written)[codes]  # one number per id, the first that stands for it
    repeated = np.ones(len(codes), bool)
    repeated[np.unique(codes, return_index=True)[1]] = False
    table, codes = table.without(repeated, "repeated an id"), codes[~repeated]
    return id, written.take(codes), table


def read_labels(values: Any, n: int, known: tuple[str, ...] = ()) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class numbers of n nodes, of which the first have these values, −1 where there is none; and names.

    Known classes come first, in their order; others are sorted, integers by value.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        written = _class_text(values)
    except (ValueError, NotImplementedError, TypeError) as error:  # pyarrow's are among them
        raise InputError(
            f"the column of the label holds {values.type}, which are no classes. Name another."
        ) from error
    found = pc.unique(written.drop_null()).to_pylist()
    names = [*known, *sorted(set(found) - set(known), key=_by_value(found))]
    at = pc.index_in(written, value_set=pa.array(names, pa.large_string())).fill_null(-1)
    labels = np.full(n, -1, np.int64)
    labels[: len(written)] = at.to_numpy(zero_copy_only=False)
    return labels, tuple(names)


def said_missing(table: Table, column: str) -> tuple[Repair, ...]:
    """Rows that do not leave the class out but write that there is none: NA, null, …"""
    import pyarrow as pa

    values = table[column]
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return ()
    taken = _class_text(values).is_valid().to_numpy(zero_copy_only=False)
    rows = table.rows[values.is_valid().to_numpy() & ~taken]
    return Repair.of(table.name, "say that there is none", f"took {column!r} as not known in", rows)


def _class_text(values: Any) -> Any:
    """Classes as text, null where there is none; a class may well be called "none" or "-"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(values.type):
        x, _ = numbers(values)
        there = x[~np.isnan(x)]
        if (there == np.floor(there)).all() and (abs(there) < 2**53).all():
            gaps = np.isnan(x)
            whole = pa.array(np.where(gaps, 0, x).astype(np.int64), mask=gaps)
            return whole.cast(pa.large_string())
    kept = categories(values)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        trimmed = pc.utf8_trim_whitespace(values.combine_chunks().cast(pa.large_string()))
        is_class = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(["none", "-", "?"], pa.large_string()))
        kept = pc.if_else(is_class, trimmed, kept)
    return kept


def _by_value(names: list[str]) -> Any:
    """A key that sorts integers by value where all names are integers, and text as text."""
    try:
        numbers_of = {name: int(name) for name in names}
    except ValueError:
        return str
    return numbers_of.__getitem__


def aligned(table: Table, n: int) -> Table:
    """A table of the first of n nodes with rows for all of them, empty where it has none."""
    import pyarrow as pa

    rows = np.arange(n)
    beyond = rows >= len(table)
    columns = table.columns.take(pa.array(np.where(beyond, 0, rows), mask=beyond))
    return replace(table, columns=columns, rows=np.append(table.rows, np.full(n - len(table), -1)))
