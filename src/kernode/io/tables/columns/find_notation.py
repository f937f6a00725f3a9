"""Find how a table's numbers and dates are written: from the column, or from the rest of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernode.errors import InputError, bad_setting, warn
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.columns.kinds import Category, Column
from kernode.io.tables.columns.notation import (
    DateNotation,
    Notation,
    NumberNotation,
    WrittenDates,
    WrittenNumbers,
    all_match,
    is_text,
)
from kernode.io.tables.columns.values import MOSTLY, PLAIN_NUMBER, one_array, texts

_DOUBTFUL = r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$"  # plain, unless the point stands between thousands

_FEW = 3  # values like 1.073: fewer may have three decimals by chance


@dataclass(frozen=True)
class Clues:
    """What else in a table tells how its numbers and dates are written."""

    table: str = ""  # its name
    delimiter: str | None = None
    others: Mapping[str, Any] = field(default_factory=dict)  # columns that hold no ids
    decimal: str | None = None  # what the user says
    dates: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, ",", "."):
            raise bad_setting("decimal", "a comma or a point", self.decimal)
        if self.dates not in (None, "dmy", "mdy"):
            raise bad_setting("dates", "dmy or mdy", self.dates)

    def decimal_elsewhere(self) -> str | None:
        """The decimal sign of the table's other columns; a semicolon between cells speaks for a comma."""
        looks = (WrittenNumbers.of(values) for values in self.others.values() if is_text(values))
        seen = {look.decimal for look in looks if look.are_numbers and look.is_sure} - {None}
        if len(seen) == 1:
            return seen.pop()
        return "," if not seen and self.delimiter == ";" else None


def find_notations(
    table: Any, features: Sequence[str] | Mapping[str, str | None], clues: Clues
) -> tuple[Notation, ...]:
    """How columns of a table (pyarrow) are written; ``features`` names them, or maps each to a kind."""
    kinds = dict(features) if isinstance(features, Mapping) else dict.fromkeys(features)
    found = (find_notation(name, table[name], kind, clues) for name, kind in kinds.items())
    return tuple(filter(None, found))


def find_notation(name: str, values: Any, kind: str | None, clues: Clues) -> Notation | None:
    """How a column of numbers or dates is written; None for other columns."""
    if not is_text(values) or kind not in (None, "number", "date"):
        return None
    finders: dict[str, Callable[..., Notation | None]] = {"number": _number_notation, "date": _date_notation}
    found = (find(name, values, clues, sure=bool(kind)) for of, find in finders.items() if kind in (None, of))
    return next(filter(None, found), None)


def _number_notation(name: str, values: Any, clues: Clues, *, sure: bool) -> NumberNotation | None:
    if clues.decimal != "," and _is_plain(texts(values)):
        return NumberNotation(name)
    look = WrittenNumbers.of(values)
    readable = look.fits(".") | look.fits(",")
    if not readable.any() or (not sure and readable.sum() < MOSTLY * look.there):
        return None
    decimal = _decimal(name, look, clues)
    good = look.fits(decimal)
    if not sure and good.sum() < MOSTLY * look.there:
        if clues.decimal:
            raise _not_as_said(
                name, look.example(~good & readable), f"the decimal sign {decimal!r}", "decimal", clues
            )
        one, other = (look.example(look.fits(sign) & ~look.fits(rest)) for sign, rest in (".,", ",."))
        raise InputError(
            f"{clues.table}: column {name!r} has decimal points and decimal commas ({one}, {other}). "
            "Write them alike, or leave the column out of features.",
            "conflict",
            column=name,
        )
    unit = _unit(name, look.units[good], clues.table)
    return NumberNotation(name, decimal, look.thousands(decimal), unit)


def _is_plain(text: Any) -> bool:
    """Whether all values are, beyond doubt, as programs write numbers: seen faster than all else."""
    if text.null_count == len(text) or not all_match(text, PLAIN_NUMBER):
        return False
    doubtful = pc.match_substring_regex(text, _DOUBTFUL)
    if not pc.any(doubtful).as_py():
        return True
    return bool(pc.any(pc.and_not(pc.match_substring(text, "."), doubtful)).as_py())


def _decimal(name: str, look: WrittenNumbers, clues: Clues) -> str:
    """The decimal sign: as the user says, as most values show, as the table's other columns have it."""
    if said := clues.decimal:
        # A column in which nothing is written as the user says can be about another country.
        return said if look.decimal is None or (look.signed & look.fits(said)).any() else look.decimal
    if look.decimal and look.is_sure:
        return look.decimal
    if not look.doubtful.any():
        return max(".,", key=lambda sign: (look.fits(sign).sum(), sign == "."))
    found = clues.decimal_elsewhere()
    doubtful_commas = look.doubtful & look.matches(",")
    # As programs write. Files with points between thousands have no commas between cells.
    if found is None and not doubtful_commas.any():
        usual = look.decimal == "." or clues.delimiter == "," or not _may_be_thousands(look)
        found = "." if usual else None
    if found and look.decimal in (None, found):
        return found
    sign = "comma" if doubtful_commas.any() else "point"
    shown = look.example(doubtful_commas if doubtful_commas.any() else look.doubtful)
    raise InputError(
        f"{clues.table}: in column {name!r} the {sign} of {shown} may stand before decimals or between "
        "thousands. Say which sign stands before decimals, a comma or a point.",
        "ambiguous",
        setting="decimal",
        column=name,
    )


def _may_be_thousands(look: WrittenNumbers) -> bool:
    """Whether points stand where they would between thousands, and no number from 1000 on lacks one."""
    small = look.matches("^[0-9]{1,3}$")
    numbers = int(np.count_nonzero(look.fits(".")))
    return int(look.doubtful.sum()) >= _FEW and int(np.count_nonzero(look.doubtful | small)) == numbers


def _not_as_said(name: str, example: str, said: str, setting: str, clues: Clues) -> InputError:
    return InputError(
        f"{clues.table}: column {name!r} has values like {example}, which {said} does not fit. Write them "
        "alike, or leave the column out of features.",
        "setting",
        setting=setting,
        column=name,
    )


def _unit(name: str, units: Iterable[str], table: str) -> str:
    distinct = set(units)
    signs = sorted(distinct - {""})
    if len(signs) > 1 or distinct == {"", "%"}:
        shown = " and ".join([*signs, *(["without"] if len(signs) == 1 else [])])
        raise InputError(
            f"{table}: column {name!r} has numbers with {shown}. "
            "Write them alike, or leave the column out of features.",
            "conflict",
            column=name,
        )
    return signs[0] if signs else ""


def _date_notation(name: str, values: Any, clues: Clues, *, sure: bool) -> DateNotation | None:
    look = WrittenDates.of(values)
    if not sure and (not look.there or look.written.sum() + look.year_first < MOSTLY * look.there):
        return None
    if not look.written.any():
        return DateNotation(name)
    if not clues.dates:
        return DateNotation(name, _order(name, look, clues))
    good = look.fits(clues.dates)
    if not sure and good.sum() + look.year_first < MOSTLY * look.there:
        shown = look.text[int(np.flatnonzero(look.written & ~good)[0])].as_py()
        raise _not_as_said(name, shown, f"the order {clues.dates}", "dates", clues)
    return DateNotation(name, clues.dates)


def _order(name: str, look: WrittenDates, clues: Clues) -> str:
    if look.order and look.is_sure:
        return look.order
    if look.order is None and (look.first > 12).any():  # and the second as well
        day_first, month_first = (look.written & (month <= 12) for month in (look.second, look.first))
        if max(day_first.sum(), month_first.sum()) >= MOSTLY * look.there:
            return "dmy" if day_first.sum() > month_first.sum() else "mdy"
        raise InputError(
            f"{clues.table}: column {name!r} has dates with the day first and dates with the month first. "
            "Write them alike, or leave the column out of features.",
            "conflict",
            column=name,
        )
    if look.dotted and look.order in (None, "dmy"):  # points are not used with the month first
        return "dmy"
    either = look.fits("dmy") & look.fits("mdy")
    shown = look.text[int(np.flatnonzero(either)[0])].as_py()
    raise InputError(
        f"{clues.table}: in column {name!r} dates like {shown} may have the day or the month first. "
        "Say which order it is: dmy or mdy.",
        "ambiguous",
        setting="dates",
        column=name,
    )


_SHOWN = 3  # values in a sentence


def require_notation(table: str, columns: Any, notations: Iterable[Notation]) -> None:
    """Raise where dates of a later table (pyarrow) have the month first and those of the first the day."""
    for notation in notations:
        if not isinstance(notation, DateNotation) or not is_text(columns[notation.column]):
            continue
        look = WrittenDates.of(columns[notation.column])
        if not notation.is_plain and look.order not in (None, notation.order):
            raise InputError(
                f"{table}: column {notation.column!r} has dates in the order {look.order}, and the first "
                f"table had {notation.order}. Write it as there.",
                "conflict",
                column=notation.column,
            )


def require_readable(table: str, column: Column, values: Any, rows: np.ndarray) -> None:
    """Raise where most values of a later table, those in some rows, are not of the column's kind."""
    values = one_array(values)
    written = texts(values) if is_text(values) else values
    there = len(written) - written.null_count
    if 2 * len(rows) > there:
        raise InputError(
            f"{table}: column {column.name!r} has no {column.kind} in {len(rows):,} of {there:,} values but "
            f"{shown(values, rows)}. Write it as in the first table.",
            "conflict",
            column=column.name,
        )


def shown(values: Any, rows: np.ndarray) -> str:
    """The first value of a column in some rows, as it is written, with a mark where there are others."""
    distinct = pc.unique(one_array(values).take(rows)).to_pylist()
    return f"{str(distinct[0]).strip()!r}{', …' if len(distinct) > 1 else ''}"


def new_categories(table: str, columns: Any, of: Iterable[Column]) -> tuple[str, ...]:
    """Notes on values of categories that the first table did not have; warnings where most are new."""
    notes = []
    for column in of:
        if not isinstance(column, Category):
            continue
        written = texts(columns[column.name])
        there = len(written) - written.null_count
        is_new = np.diff(column.encode(columns[column.name]).indptr) == 0
        new = written.filter(pa.array(is_new)).drop_null()
        if len(new):
            distinct = pc.unique(new).to_pylist()
            some = f"{', '.join(map(repr, distinct[:_SHOWN]))}{', …' if len(distinct) > _SHOWN else ''}"
            note = (
                f"{table}: {column.name}: new values in {len(new):,} of {there:,} rows, taken as none: {some}"
            )
            notes.append(note)
            if 2 * len(new) > there:
                warn(f"{note}. Write them as in the first table.")
    return tuple(notes)
