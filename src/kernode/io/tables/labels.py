"""Classes of nodes from a column: which texts mean that there is none, and whether the others are classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.graph.lookup import warn_of_similar_labels
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.columns.encoding import UnknownLabels
from kernode.io.tables.columns.notation import looks_like_floats
from kernode.io.tables.columns.values import alike, numbers, one_array
from kernode.io.tables.nodes import Listed
from kernode.io.tables.table import Table

LABELS = ("label", "class")  # usual names of the column
_MANY = 20  # different numbers: more are hardly classes, or a scale
_FEW_ROWS = 10  # labelled ones: below, all may well have classes of their own
_SHOWN = 5  # texts in a note


class NoClassesError(InputError):
    """A column holds numbers or ids instead of classes."""


@dataclass(frozen=True)
class Labels:
    """The class of every node by number, −1 where it is not known, and the classes' names."""

    numbers: np.ndarray  # n
    names: tuple[str, ...]
    unknown: UnknownLabels | None = None
    notes: tuple[str, ...] = ()


def read_labels(
    listed: Listed, column: str, n: int, unknown: UnknownLabels | None, known: tuple[str, ...] | None = None
) -> Labels:
    """Classes of n nodes, of which the first are listed; no other node has one.

    ``unknown``: the texts that mean there is none; None to guess them. ``known``: classes of another table,
    which come first, in their order; None where this table is the first, and its classes are checked. Others
    are sorted, integers by value.
    """
    table, node = listed.every_row, listed.node
    assert table is not None
    assert node is not None
    raw = _as_text(table[column])
    unknown = unknown or _guess_unknown(table, column, raw)
    written = unknown.without(alike(unknown.without(raw)))
    notes = _unknown_notes(table, column, raw, written, unknown)
    if known is None:
        _require_classes(table, column, written)
    found = pc.unique(written.drop_null()).to_pylist()
    new = set(found) - set(known or ())
    names = (*(known or ()), *sorted(new, key=_by_value(found)))
    warn_of_similar_labels(f"column {column!r}", names, new)
    codes = pc.index_in(written, value_set=pa.array(names, pa.large_string())).fill_null(-1)
    classes = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    labels = np.full(n, -1, np.int64)
    there = np.flatnonzero(classes >= 0)[::-1]  # the last assignment stays, which is of the first row
    labels[node[there]] = classes[there]
    _refuse_two_classes(listed, labels, classes, names)
    return Labels(labels, names, unknown, notes)


def _as_text(values: Any) -> Any:
    """Values as text without blanks around it, null where the cell is empty."""
    try:
        values = one_array(values)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if pa.types.is_floating(values.type):
            x, _ = numbers(values)
            gaps = np.isnan(x)
            if (x[~gaps] == np.floor(x[~gaps])).all() and (abs(x[~gaps]) < 2**53).all():
                values = pa.array(np.where(gaps, 0, x).astype(np.int64), mask=gaps)
            else:
                values = pc.if_else(pa.array(gaps), pa.scalar(None, values.type), values)
        text = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
    except (ValueError, NotImplementedError, TypeError) as error:  # pyarrow's are among them
        raise InputError(
            f"the column of the label holds {values.type}, which cannot be classes. Name another.",
            "unsupported",
            setting="label",
        ) from error
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.large_string()), text)


def _guess_unknown(table: Table, column: str, raw: Any) -> UnknownLabels:
    """Words for not known, and −1 among integers from 0 up to 2 or more."""
    unknown = UnknownLabels.by_words()
    found = pc.unique(alike(unknown.without(raw)).drop_null()).to_pylist()
    if "-1" not in found:
        return unknown
    try:
        others = {int(name) for name in found} - {-1}
    except ValueError:
        return unknown
    if others == {0, 1}:
        raise InputError(
            f"{table.name}: column {column!r} holds −1, 0 and 1, and −1 may be a class or mean that there is "
            "none. Say which texts mean not known: -1, or an empty text if it is a class.",
            "ambiguous",
            setting="unknown",
        )
    if others and min(others) >= 0 and max(others) >= 2:
        return UnknownLabels((*unknown.texts, "-1"))
    return unknown


def _unknown_notes(
    table: Table, column: str, raw: Any, written: Any, unknown: UnknownLabels
) -> tuple[str, ...]:
    """What was taken as not known, other than empty cells."""
    taken = raw.filter(pc.and_(raw.is_valid(), written.is_null()))
    if not len(taken):
        return ()
    shown = ", ".join(repr(text) for text in pc.unique(taken).to_pylist()[:_SHOWN])
    count = f"{len(taken):,} row{'s' * (len(taken) > 1)}"
    said = f"{table.name}: took {shown} in column {column!r} as not known ({count})"
    return (said if unknown.exact else f"{said}; to keep it as a class, say which texts mean not known",)


def _require_classes(table: Table, column: str, written: Any) -> None:
    """Raise where a column holds numbers or ids."""
    there = written.drop_null()
    distinct = pc.unique(there)
    where = f"{table.name}: column {column!r}"
    many = 2 * len(distinct) > len(there)
    if looks_like_floats(distinct):
        if len(distinct) > _MANY or many:
            raise NoClassesError(
                f"{where} looks like a number: regression is not offered. Name a column of classes, or write "
                "ranges as text.",
                "setting",
                setting="label",
            )
    elif many and len(there) >= _FEW_ROWS:
        raise NoClassesError(
            f"{where} looks like an id, with {len(distinct):,} different values in {len(there):,} rows. "
            "Name a column of classes.",
            "setting",
            setting="label",
        )


def _refuse_two_classes(
    listed: Listed, labels: np.ndarray, classes: np.ndarray, names: tuple[str, ...]
) -> None:
    table, node = listed.every_row, listed.node
    assert table is not None
    assert node is not None
    other = np.flatnonzero((classes >= 0) & (classes != labels[node]))
    if not len(other):
        return
    second = other[0]
    first = np.flatnonzero((node == node[second]) & (classes >= 0))[0]
    name = listed.ids[int(node[second])].as_py()
    one, two = (f"{names[classes[at]]!r} in row {table.rows[at]}" for at in (first, second))
    raise InputError(
        f"{table.name}: {name!r} has the class {one} and {two}. Give it one.", "conflict", name=name
    )


def _by_value(names: list[str]) -> Any:
    """A key that sorts integers by value where all names are integers, and text as text."""
    try:
        numbers_of = {name: int(name) for name in names}
    except ValueError:
        return str
    return numbers_of.__getitem__
