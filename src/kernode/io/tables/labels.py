"""Classes of nodes from a column, without the texts that mean unknown; numbers and ids are refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.config import Config
from kernode.errors import InputError, bad_setting
from kernode.graph.lookup import warn_of_similar_labels
from kernode.io.tables.kinds import alike
from kernode.io.tables.notation import MISSING, UNIT, trimmed
from kernode.io.tables.table import Table, is_nested

LABELS = ("label", "class")  # usual names of the column
_MANY = 20  # different numbers: more are hardly classes, or a scale
_EACH = 20  # nodes of each of many different integers, on average, if these are classes
_FEW_ROWS = 10  # labelled ones: below, all may well have classes of their own
_SHOWN = 5  # texts in a note
_DIGITS = r"(?:[0-9]+(?:[.,'’\s][0-9]{3})*(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf"[+−-]?{UNIT}?\s*[+−-]?{_DIGITS}\s*{UNIT}?")  # in any notation


@dataclass(frozen=True)
class UnknownLabels(Config):
    """Texts that mean a class is not known; an empty cell always means it.

    >>> BY_WORDS.without(np.array(["tea", "Unknown", "NA", "?"], object)).tolist()
    ['tea', None, None, '?']
    """

    texts: tuple[str, ...]
    exact: bool = False  # as they are written; else in either case

    @classmethod
    def given(cls, texts: Any) -> UnknownLabels:
        """From a text or several."""
        several = [texts] if isinstance(texts, str | int | float) else texts
        if not isinstance(several, Iterable) or isinstance(several, bytes):
            raise bad_setting("unknown", "a text or a list of texts", texts)
        return cls(tuple(str(text).strip() for text in several if str(text).strip()), exact=True)

    def without(self, written: np.ndarray) -> np.ndarray:
        """Texts with None in place of these."""
        unknown = {None, *self.texts}
        fold = (lambda text: text) if self.exact else str.lower
        return np.array([None if one is None or fold(one) in unknown else one for one in written], object)


# What pandas and R write for a missing value; but a class may well be called "none" or "-".
USUAL = UnknownLabels(tuple(text for text in MISSING if text not in ("none", "-", "?", "")))
BY_WORDS = UnknownLabels((*USUAL.texts, "unknown", "unlabeled", "unlabelled", "not known"))


class NotClassesError(InputError):
    """A column holds numbers or ids instead of classes."""


@dataclass(frozen=True)
class Labels:
    """The class of every node by number, −1 where it is not known, and the classes' names."""

    numbers: np.ndarray  # n
    names: tuple[str, ...]
    unknown: UnknownLabels | None = None
    notes: tuple[str, ...] = ()


def read_labels(
    table: Table,
    column: str,
    node: np.ndarray,
    nodes: np.ndarray,
    unknown: UnknownLabels | None,
    known: tuple[str, ...] | None = None,
) -> Labels:
    """Classes of nodes; ``node``: the position of each row's, −1 for none, among the names ``nodes``.

    ``unknown``: the texts that mean there is none; None to guess them. ``known``: classes of another table,
    which come first, in their order; None where this table is the first, and its classes are checked. Others
    are sorted, integers by value.
    """
    raw = _as_text(table, column)
    unknown = unknown or _guess_unknown(table, column, raw)
    written = unknown.without(alike(unknown.without(raw)))
    notes = _unknown_notes(table, column, raw, written, unknown)
    found = list(dict.fromkeys(one for one in written if one is not None))
    if known is None:
        _require_classes(table, column, written, found)
    new = set(found) - set(known or ())
    names = (*(known or ()), *sorted(new, key=_by_value(found)))
    warn_of_similar_labels(f"column {column!r}", names, new)
    place: dict[Any, int] = {name: at for at, name in enumerate(names)}
    classes = np.array([place.get(one, -1) for one in written], np.int64)
    labels = np.full(len(nodes), -1, np.int64)
    there = np.flatnonzero((classes >= 0) & (node >= 0))
    labels[node[there[::-1]]] = classes[there[::-1]]  # the last assignment stays, which is of the first row
    for second in there[classes[there] != labels[node[there]]][:1]:
        first = next(at for at in there if node[at] == node[second])
        one, two = (f"{names[classes[at]]!r} in row {table.numbers(at)}" for at in (first, second))
        name = str(nodes[node[second]])
        raise table.error(f"{name!r} has the class {one} and {two}. Give it one.", "conflict", name=name)
    return Labels(labels, names, unknown, notes)


def _as_text(table: Table, column: str) -> np.ndarray:
    """Values as text without blanks around it, None where the cell is empty."""
    cell, type_ = table.sql(column), table.types[column]
    if is_nested(type_):
        sentence = f"the column of the label holds {type_}, which cannot be classes. Name another."
        raise table.error(sentence, "unsupported", setting="label")
    if type_.startswith(("FLOAT", "DOUBLE", "DECIMAL")):
        cell = f"regexp_replace({table.number_text(column)}, '\\.0$', '')"
    return table.values(f"nullif({trimmed(f'{cell}::VARCHAR')}, '')").astype(object)


def _guess_unknown(table: Table, column: str, raw: np.ndarray) -> UnknownLabels:
    """Words for not known, and −1 among integers from 0 up to 2 or more."""
    unknown = BY_WORDS
    found = {one for one in alike(unknown.without(raw)) if one is not None}
    try:
        others = {int(name) for name in found} - {-1} if "-1" in found else {-1}
    except ValueError:
        return unknown
    if others == {0, 1}:
        what = f"column {column!r} holds −1, 0 and 1, and −1 may be a class or mean that there is none"
        fix = "Say which texts mean not known: -1, or an empty text if it is a class."
        raise table.error(f"{what}. {fix}", "ambiguous", setting="unknown")
    if others and min(others) >= 0 and max(others) >= 2:
        return UnknownLabels((*unknown.texts, "-1"))
    return unknown


def _unknown_notes(
    table: Table, column: str, raw: np.ndarray, written: np.ndarray, unknown: UnknownLabels
) -> tuple[str, ...]:
    """What was taken as not known, other than empty cells."""
    taken = Counter(one for one, left in zip(raw, written, strict=True) if one is not None and left is None)
    if not taken:
        return ()
    shown = ", ".join(map(repr, list(taken)[:_SHOWN]))
    count = f"{taken.total():,} row{'s' * (taken.total() > 1)}"
    said = f"{table.name}: took {shown} in column {column!r} as not known ({count})"
    return (said if unknown.exact else f"{said}; to keep it as a class, say which texts mean not known",)


def _require_classes(table: Table, column: str, written: np.ndarray, distinct: list[str]) -> None:
    """Raise where a column holds numbers or ids."""
    there = sum(one is not None for one in written)
    counted, many = f"{len(distinct):,} different values in {there:,} rows", 2 * len(distinct) > there
    numbers, fractions = _are_numbers(distinct)
    is_number = len(distinct) > _MANY and (fractions or _EACH * len(distinct) > there)
    if numbers and (is_number or (fractions and many)):
        what = f"looks like a number: regression is not offered ({counted})"
        fix = "Name a column of classes, or write ranges as text."
    elif many and not (numbers and fractions) and there >= _FEW_ROWS:
        what, fix = f"looks like an id, with {counted}", "Name a column of classes."
    else:
        return
    sentence = f"{table.name}: column {column!r} {what}. {fix}"
    raise NotClassesError(sentence, "setting", setting="label")


def _are_numbers(distinct: list[str]) -> tuple[bool, bool]:
    """Whether all values are numbers, in whatever notation, and whether some of them have decimals."""
    are = bool(distinct) and all(_NUMBER.fullmatch(one) for one in distinct)
    return are, are and any(re.search("[.,][0-9]*[1-9]|[eE]-", one) for one in distinct)


def _by_value(names: list[str]) -> Any:
    """A key that sorts integers by value where all names are integers, and text as text."""
    try:
        return {name: int(name) for name in names}.__getitem__
    except ValueError:
        return str
