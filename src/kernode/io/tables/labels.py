"""Classes or numbers of nodes from a column, without the texts that mean unknown; ids are refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.config import Config
from kernode.errors import InputError, bad_setting
from kernode.graph.lookup import warn_of_similar_labels
from kernode.io.tables.encoding import are_ids, read_values
from kernode.io.tables.kinds import Number, alike
from kernode.io.tables.notation import (
    MISSING,
    UNIT,
    Clues,
    Look,
    NumberNotation,
    number_notation,
    trimmed,
)
from kernode.io.tables.table import NUMERIC, Table, is_nested, is_text

LABELS = ("label", "class")  # usual names of the column
TASKS = ("auto", "classes", "numbers")  # what a column to predict may be taken for
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


def require_task(task: str | None) -> None:
    """Raise unless a task is one of those that a column to predict may be for."""
    if task not in (None, *TASKS):
        raise bad_setting("task", f"one of {', '.join(TASKS)}", task)


class NotClassesError(InputError):
    """A column holds ids instead of classes, or numbers under the usual name of a label."""


@dataclass(frozen=True)
class Labels:
    """The class of every node by number, −1 where it is not known, and the classes' names; or its number."""

    numbers: np.ndarray  # n
    names: tuple[str, ...]
    unknown: UnknownLabels | None = None
    notes: tuple[str, ...] = ()
    targets: np.ndarray | None = None  # n, NaN where the number is not known; None for classes
    notation: NumberNotation | None = None  # of the column of targets


def read_labels(
    table: Table,
    column: str,
    node: np.ndarray,
    nodes: np.ndarray,
    unknown: UnknownLabels | None,
    known: tuple[str, ...] | None = None,
    *,
    task: str | None = "auto",
    clues: Callable[[], Clues] = Clues,
) -> Labels:
    """Classes of nodes; ``node``: the position of each row's, −1 for none, among the names ``nodes``.

    ``unknown``: the texts that mean there is none; None to guess them. ``known``: classes of another table,
    which come first, in their order; None where this table is the first, and its classes are checked. Others
    are sorted, integers by value. ``task``: "auto" takes many different numbers as :func:`read_numbers`
    does, with ``clues`` to their notation; None, where only the column's name says that it is a label,
    refuses them.
    """
    raw = _as_text(table, column)
    as_numbers = (table, column, node, nodes, unknown, None, clues)
    if task == "numbers":
        return read_numbers(*as_numbers)
    unknown = unknown or _guess_unknown(table, column, raw)
    written = unknown.without(alike(unknown.without(raw)))
    notes = _unknown_notes(table, column, raw, written, unknown.exact)
    found = list(dict.fromkeys(one for one in written if one is not None))
    if known is None:
        if task != "classes" and _look_like_numbers(written, found):
            if task is None:
                what = f"{table.name}: column {column!r} looks like a number"
                raise NotClassesError(f"{what}. Name it to predict it.", "setting", setting="label")
            return read_numbers(*as_numbers, sure=False)
        _require_no_ids(table, column, written, found)
        codes = {str(code) for code in range(len(found))}
        if task != "classes" and len(found) > 2 and _are_numbers(found)[0] and set(found) != codes:
            what = f"{len(found):,} different numbers, taken as classes"
            notes = (*notes, f"{column}: {what}; task='numbers' takes them as numbers")
    new = set(found) - set(known or ())
    names = (*(known or ()), *sorted(new, key=_by_value(found)))
    warn_of_similar_labels(f"column {column!r}", names, new)
    place: dict[Any, int] = {name: at for at, name in enumerate(names)}
    classes = np.array([place.get(one, -1) for one in written], np.int64)
    return Labels(_of_nodes(table, "class", written, classes, node, nodes), names, unknown, notes)


def read_numbers(
    table: Table,
    column: str,
    node: np.ndarray,
    nodes: np.ndarray,
    unknown: UnknownLabels | None,
    notation: NumberNotation | None = None,
    clues: Callable[[], Clues] = Clues,
    *,
    sure: bool = True,
) -> Labels:
    """Numbers of nodes, in the table's unit; a cell that holds anything else is refused.

    ``notation``: that of another table; None to find it. ``sure``: the column is known to hold numbers.
    """
    type_, later, stated = table.types[column], notation is not None, unknown is not None
    if not is_text(type_) and not type_.startswith((*NUMERIC, "BOOLEAN")):
        sentence = f"column {column!r} holds {type_}, not numbers. Name another, or take it as classes."
        raise table.error(sentence, "unsupported", setting="label")
    raw, unknown = _as_text(table, column), unknown or BY_WORDS
    if notation is None and is_text(type_):
        found = clues()
        look = found.looks.get(column) or Look.of(table, column)
        notation = number_notation(table, column, look, found, sure=True)
    notation = notation or NumberNotation(column)
    values = read_values(table, Number, column, notation)
    written = unknown.without(alike(unknown.without(raw)))
    is_there = np.array([one is not None and one.lower() not in MISSING for one in written], bool)
    values[~is_there], written[~is_there] = np.nan, None
    notes = _unknown_notes(table, column, raw, written, said_so=True)
    for row in np.flatnonzero(is_there & np.isnan(values))[:1]:
        like = "" if notation.is_plain else f" ({notation})"
        fix = "Correct it, leave the cell empty, or say that it means not known."
        sentence = f"{raw[row]!r} in column {column!r} is not a number{like}. {fix}"
        raise table.error(sentence, "setting", row=row, setting="unknown", column=column)
    if not sure and are_ids(column, values[is_there]):
        raise _looks_like_id(table, column, written[is_there], is_there.sum())
    distinct, codes = np.unique(values, return_inverse=True)
    codes = np.where(np.isnan(values), -1, codes)
    of_nodes = np.append(distinct, np.nan)[_of_nodes(table, "number", raw, codes, node, nodes)]
    targets = of_nodes if np.isfinite(of_nodes).any() else None
    if targets is None and not later:
        sentence = f"column {column!r} has no number. Fill it for some nodes."
        raise table.error(sentence, "missing", setting="label", column=column)
    if not later:
        what = f"{column}: numbers, regression ({np.isfinite(distinct).sum():,} different values)"
        notes = (*notes, what if sure else f"{what}; task='classes' takes them as classes")
        if not stated and distinct[distinct < 0].tolist() == [-1]:
            notes = (*notes, f"{column}: −1, the only number below 0, is a number, unless unknown names it")
    return Labels(np.full(len(nodes), -1, np.int64), (), unknown, notes, targets, notation)


def _of_nodes(
    table: Table, what: str, written: np.ndarray, found: np.ndarray, node: np.ndarray, nodes: np.ndarray
) -> np.ndarray:
    """What the rows say of every node, −1 for nothing; ``what`` it is, if two rows say different things."""
    own = np.full(len(nodes), -1, np.int64)
    there = np.flatnonzero((found >= 0) & (node >= 0))
    own[node[there[::-1]]] = found[there[::-1]]  # the last assignment stays, which is of the first row
    for second in there[found[there] != own[node[there]]][:1]:
        first = next(at for at in there if node[at] == node[second])
        one, two = (f"{written[at]!r} in row {table.numbers(at)}" for at in (first, second))
        name = str(nodes[node[second]])
        raise table.error(f"{name!r} has the {what} {one} and {two}. Give it one.", "conflict", name=name)
    return own


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
    table: Table, column: str, raw: np.ndarray, written: np.ndarray, said_so: bool
) -> tuple[str, ...]:
    """What was taken as not known, other than empty cells."""
    taken = Counter(one for one, left in zip(raw, written, strict=True) if one is not None and left is None)
    if not taken:
        return ()
    shown = ", ".join(map(repr, list(taken)[:_SHOWN]))
    count = f"{taken.total():,} row{'s' * (taken.total() > 1)}"
    said = f"{table.name}: took {shown} in column {column!r} as not known ({count})"
    return (said if said_so else f"{said}; to keep it as a class, say which texts mean not known",)


def _look_like_numbers(written: np.ndarray, distinct: list[str]) -> bool:
    """Whether a column holds numbers that are hardly classes: many different ones, or decimals."""
    there = sum(one is not None for one in written)
    numbers, fractions = _are_numbers(distinct)
    is_number = len(distinct) > _MANY and (fractions or _EACH * len(distinct) > there)
    return numbers and (is_number or (fractions and 2 * len(distinct) > there))


def _require_no_ids(table: Table, column: str, written: np.ndarray, distinct: list[str]) -> None:
    """Raise where most rows have a value of their own."""
    there = sum(one is not None for one in written)
    if 2 * len(distinct) > there >= _FEW_ROWS:
        raise _looks_like_id(table, column, distinct, there)


def _looks_like_id(table: Table, column: str, distinct: Any, there: int) -> NotClassesError:
    what = f"column {column!r} looks like an id, with {len(distinct):,} different values in {there:,} rows"
    numbers = 2 * sum(_NUMBER.fullmatch(one) is not None for one in distinct) > len(distinct)
    fix = "Name a column of classes" + ", or say that these are numbers: task='numbers'" * numbers
    return NotClassesError(f"{table.name}: {what}. {fix}.", "setting", setting="label")


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
