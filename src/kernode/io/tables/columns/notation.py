"""How people write numbers and dates (1.234,50 €, 1,234.50, 31.12.2024), and how programs do.

A column is rewritten as text before its kind is guessed: numbers with a decimal point, dates as 2024-12-31.
What was found in the first table is stored, and other tables are read alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernode.config import Config
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.columns.values import MOSTLY, PLAIN_NUMBER, texts

_BLANK = "[ \t\u00a0\u2009\u202f]"
_APOSTROPHE = "['\u2019]"
_SIGN = "[+\u2212-]"
_UNITS = ("€", r"\$", "£", "¥", r"kr\.?", "chf", "eur", "usd", "gbp", "jpy", "sek", "nok", "dkk", "%")
_UNIT = f"(?i:{'|'.join(_UNITS)})"
_POWER = "(?:[eE][+-]?[0-9]+)?"
_INNER = r"[0-9.,'\x{2019} \t\x{a0}\x{2009}\x{202f}]"
_VALUE = (
    f"^(?P<sign>{_SIGN}?){_BLANK}*(?P<before>{_UNIT}?){_BLANK}*(?P<inner>{_SIGN}?){_BLANK}*"
    f"(?P<body>[0-9](?:{_INNER}*[0-9.])?{_POWER}|[.,][0-9]+{_POWER})"
    f"{_BLANK}*(?P<after>{_UNIT}?)$"
)
_DATE = "^(?P<a>[0-9]{1,2})(?P<mark>[/.-])(?P<b>[0-9]{1,2})[/.-](?P<year>[0-9]{4})(?:[T ].*)?$"
_YEAR_FIRST = "^(?P<year>[0-9]{4})[/.-](?P<month>[0-9]{1,2})[/.-](?P<day>[0-9]{1,2})(?:[T ].*)?$"
_FIRST = {"dmy": "day", "mdy": "month", "ymd": "year"}
_UNREADABLE = "(no number)"  # replaces a value that does not fit the notation


def _body(decimal: str) -> str:
    """Digits with a decimal sign and, between thousands, the other sign, a blank or an apostrophe."""
    other = "," if decimal == "." else r"\."
    grouped = "|".join(f"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+" for mark in (other, _BLANK, _APOSTROPHE))
    after = r"(?:\.[0-9]*)?" if decimal == "." else "(?:,[0-9]+)?"
    return f"^(?:[0-9]+|{grouped})?{after}{_POWER}$"


@dataclass(frozen=True)
class Notation(Config):
    """How the values of a column are written."""

    column: str

    @property
    def is_plain(self) -> bool:
        """Whether it is how programs write."""
        raise NotImplementedError

    def plain(self, values: Any) -> Any:
        """Values as programs write them: a large_string array."""
        raise NotImplementedError


@dataclass(frozen=True)
class NumberNotation(Notation):
    """The decimal sign, what stands between thousands, and a currency or percent sign.

    >>> import pyarrow as pa
    >>> NumberNotation("spent", ",", ".", "€").plain(pa.array(["1.234,50 €", "-7", None, "12.5"])).to_pylist()
    ['1234.50', '-7', None, '(no number)']
    """

    decimal: str = "."
    thousands: str = ""  # as the first table had it; others are read where they can be nothing else
    unit: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether it is how programs write."""
        return (self.decimal, self.thousands, self.unit) == (".", "", "")

    def plain(self, values: Any) -> Any:
        """Digits with a decimal point."""
        if self.decimal == "." and self.unit != "%" and all_match(texts(values), PLAIN_NUMBER):
            return texts(values)
        look = WrittenNumbers.of(values)
        good = look.fits(self.decimal) & ~self._doubted(look)
        if self.unit == "%":
            good &= look.units == "%"
        else:
            good &= (look.units == "") | (look.units == self.unit)
        digits = pc.replace_substring_regex(look.part("body"), f"{_BLANK}|{_APOSTROPHE}", "")
        digits = pc.replace_substring(digits, "," if self.decimal == "." else ".", "")
        digits = pc.replace_substring(digits, ",", ".")
        sign = _join(look.part("sign"), look.part("inner"))
        sign = pc.replace_substring(sign, "\u2212", "-")
        written = _join(sign, digits)
        marked = pc.if_else(pa.array(good), written, pa.scalar(_UNREADABLE, pa.large_string()))
        return pc.if_else(look.text.is_valid(), marked, pa.scalar(None, pa.large_string()))

    def _doubted(self, look: WrittenNumbers) -> np.ndarray:
        """Values like 1,500 where only the decimal point was seen before: a comma may be either; booleans."""
        mark = "," if self.decimal == "." else "."
        if self.thousands == mark or (look.decimal == self.decimal and look.is_sure):
            return np.zeros(len(look.text), bool)
        return look.doubtful & look.matches(f"[{mark}]")

    def __str__(self) -> str:
        parts = ["decimal comma"] if self.decimal == "," else ["decimal point"] if self.is_plain else []
        between = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}
        parts += [f"{between[self.thousands]} between thousands"] if self.thousands else []
        parts += [self.unit] if self.unit else []
        return f"{self.column}: numbers with {' and '.join(filter(None, [', '.join(parts[:-1]), parts[-1]]))}"


@dataclass(frozen=True)
class DateNotation(Notation):
    """Whether the day comes first (dmy), the month (mdy) or the year (ymd, which is always read).

    >>> import pyarrow as pa
    >>> DateNotation("since", "dmy").plain(pa.array(["31.1.2024", "2024-02-01", "never"])).to_pylist()
    ['2024-01-31', '2024-02-01', 'never']
    """

    order: str = "ymd"

    @property
    def is_plain(self) -> bool:
        """Whether it is how programs write."""
        return self.order == "ymd"

    def plain(self, values: Any) -> Any:
        """Year-month-day."""
        text = texts(values)
        written = _joined(pc.extract_regex(text, _YEAR_FIRST), "year", "month", "day")
        if self.order != "ymd":
            day, month = ("a", "b") if self.order == "dmy" else ("b", "a")
            written = pc.coalesce(written, _joined(pc.extract_regex(text, _DATE), "year", month, day))
        return pc.coalesce(written, text).cast(pa.large_string())

    def __str__(self) -> str:
        return f"{self.column}: dates with the {_FIRST[self.order]} first"


def _joined(parts: Any, year: str, month: str, day: str) -> Any:
    part = lambda name: pc.struct_field(parts, name)  # noqa: E731
    padded = [pc.utf8_lpad(part(name), 2, "0") for name in (month, day)]
    return _join(part(year), *padded, between="-")


def _join(*parts: Any, between: str = "") -> Any:
    return pc.binary_join_element_wise(*parts, pa.scalar(between, pa.large_string()))


@dataclass(frozen=True)
class WrittenNumbers:
    """How the values of a column read as numbers."""

    text: Any  # large_string, null where there is none
    parts: Any  # a struct for each, null where it is not a number

    @classmethod
    def of(cls, values: Any) -> WrittenNumbers:
        """Look at a column (pyarrow)."""
        text = texts(values)
        return cls(text, pc.extract_regex(text, _VALUE))

    def part(self, name: str) -> Any:
        """A part of each value: sign, before, inner, body or after."""
        return pc.struct_field(self.parts, name)

    def matches(self, pattern: str) -> np.ndarray:
        """Whether the digits of each value are so: booleans."""
        found = pc.match_substring_regex(self.part("body"), pattern).fill_null(False)
        return np.asarray(found.to_numpy(zero_copy_only=False), bool)

    def fits(self, decimal: str) -> np.ndarray:
        """Whether each value is a number with this decimal sign: booleans."""
        return self._comma if decimal == "," else self._point

    @cached_property
    def _point(self) -> np.ndarray:
        return self.matches(_body("."))

    @cached_property
    def _comma(self) -> np.ndarray:
        return self.matches(_body(","))

    @cached_property
    def units(self) -> np.ndarray:
        """The currency or percent sign of each value; "" where there is none."""
        joined = _join(self.part("before"), self.part("after"))
        lower = pc.replace_substring(pc.utf8_lower(joined.fill_null("")), "kr.", "kr")
        upper = pc.if_else(pc.match_substring_regex(lower, "^[a-z]{3}$"), pc.utf8_upper(lower), lower)
        return np.asarray(upper.to_numpy(zero_copy_only=False), object)

    @cached_property
    def there(self) -> int:
        """How many values there are."""
        return len(self.text) - self.text.null_count

    @property
    def are_numbers(self) -> bool:
        """Whether most values are numbers."""
        return self.there > 0 and int(np.count_nonzero(self._point | self._comma)) >= MOSTLY * self.there

    @cached_property
    def signed(self) -> np.ndarray:
        """Values that have a point or a comma: booleans."""
        return (self._point | self._comma) & self.matches("[.,]")

    @cached_property
    def decimal(self) -> str | None:
        """The decimal sign that the column itself shows; None where it shows none."""
        only_point, only_comma = self._point & ~self._comma, self._comma & ~self._point
        if only_point.any() == only_comma.any():
            return None
        return "." if only_point.any() else ","

    @cached_property
    def is_sure(self) -> bool:
        """Whether half of the signs show it: one slip of the pen says little about the others."""
        return 2 * int(np.count_nonzero(self._point ^ self._comma)) >= int(np.count_nonzero(self.signed))

    @cached_property
    def doubtful(self) -> np.ndarray:
        """Values that mean one number with a decimal point and another with a comma: booleans."""
        return self._point & self._comma & self.matches("[.,]")

    def thousands(self, decimal: str) -> str:
        """What stands between thousands."""
        other = r"\." if decimal == "," else ","
        for sign, pattern in ((other[-1], other), (" ", _BLANK), ("'", _APOSTROPHE)):
            if (self.matches(pattern) & self.fits(decimal)).any():
                return sign
        return ""

    def example(self, which: np.ndarray) -> str:
        """The first of some values (booleans), as it is written."""
        return str(self.text[int(np.flatnonzero(which)[0])].as_py())


def is_text(values: Any) -> bool:
    """Whether a column is of text."""
    return pa.types.is_string(values.type) or pa.types.is_large_string(values.type)


def looks_like_floats(distinct: Any) -> bool:
    """Whether texts are numbers throughout, in whatever notation, and not all of them whole."""
    look = WrittenNumbers.of(distinct)
    decimal = next((sign for sign in ".," if look.there and look.fits(sign).sum() == len(distinct)), None)
    return decimal is not None and bool(look.matches(rf"[{decimal}][0-9]*[1-9]|e-|E-").any())


def rewritten(table: Any, notations: Iterable[Notation]) -> Any:
    """A table (pyarrow) with these columns as programs write them; other columns stay."""
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for notation in notations:
        if is_text(columns[notation.column]):
            columns[notation.column] = notation.plain(columns[notation.column])
    return pa.table(columns) if columns else table


def all_match(text: Any, pattern: str) -> bool:
    """Whether all texts are so."""
    return pc.all(pc.match_substring_regex(text, pattern)).as_py() is not False


@dataclass(frozen=True)
class WrittenDates:
    """How the values of a column read as dates with the year last."""

    there: int
    written: np.ndarray  # booleans
    first: np.ndarray  # day or month, 0 where there is none
    second: np.ndarray
    dotted: bool
    text: Any

    @classmethod
    def of(cls, values: Any) -> WrittenDates:
        """Look at a column (pyarrow)."""
        text = texts(values)
        parts = pc.extract_regex(text, _DATE)
        number = lambda name: (  # noqa: E731
            pc.struct_field(parts, name).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        )
        written = np.asarray(parts.is_valid().to_numpy(zero_copy_only=False), bool)
        dotted = pc.unique(pc.struct_field(parts, "mark").drop_null()).to_pylist() == ["."]
        return cls(len(text) - text.null_count, written, number("a"), number("b"), dotted, text)

    @property
    def year_first(self) -> int:
        """How many dates have the year first."""
        return pc.sum(pc.match_substring_regex(self.text, _YEAR_FIRST)).as_py() or 0

    @property
    def order(self) -> str | None:
        """The order that the column itself shows."""
        day_first, month_first = (self.first > 12).any(), (self.second > 12).any()
        if day_first == month_first:
            return None
        return "dmy" if day_first else "mdy"

    @property
    def is_sure(self) -> bool:
        """Whether half of the dates show it."""
        return 2 * int(np.count_nonzero((self.first > 12) | (self.second > 12))) >= int(self.written.sum())

    def fits(self, order: str) -> np.ndarray:
        """Whether each value is a date in this order: booleans."""
        return np.asarray(self.written & ((self.second if order == "dmy" else self.first) <= 12), bool)
