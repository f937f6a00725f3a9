"""How people write numbers and dates: 1.234,50 €, 1,234.50, 31.12.2024; found in a table, and made plain.

A column is rewritten as text before its kind is guessed: numbers with a decimal point, dates as 2024-12-31.
What was found in the first table is stored, and other tables are read alike. What can be read in two ways is
decided by the rest of the table, and refused where that does not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kernode.data.tables.columns.values import MOSTLY, PLAIN_NUMBER, texts
from kernode.errors import InputError
from kernode.recipe import Recipe

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
_DOUBTFUL = r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$"  # plain, unless the point stands between thousands
_DATE = "^(?P<a>[0-9]{1,2})(?P<mark>[/.-])(?P<b>[0-9]{1,2})[/.-](?P<year>[0-9]{4})(?:[T ].*)?$"
_YEAR_FIRST = "^(?P<year>[0-9]{4})[/.-](?P<month>[0-9]{1,2})[/.-](?P<day>[0-9]{1,2})(?:[T ].*)?$"
_UNREADABLE = "(no number)"  # in place of what is none, lest it be read otherwise than the column is


def _body(decimal: str) -> str:
    """Digits with a decimal sign and, between thousands, the other sign, a blank or an apostrophe."""
    other = "," if decimal == "." else r"\."
    grouped = "|".join(f"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+" for mark in (other, _BLANK, _APOSTROPHE))
    after = r"(?:\.[0-9]*)?" if decimal == "." else "(?:,[0-9]+)?"
    return f"^(?:[0-9]+|{grouped})?{after}{_POWER}$"


@dataclass(frozen=True)
class Notation(Recipe):
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
    thousands: str = ""  # as the first table had it; any that goes with the decimal sign is read
    unit: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether it is how programs write."""
        return (self.decimal, self.thousands, self.unit) == (".", "", "")

    def plain(self, values: Any) -> Any:
        """Digits with a decimal point."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.decimal == "." and self.unit != "%" and _all_match(texts(values), PLAIN_NUMBER):
            return texts(values)
        look = _Numbers.of(values)
        good = look.fits(self.decimal)
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
        import pyarrow as pa
        import pyarrow.compute as pc

        text = texts(values)
        written = _joined(pc.extract_regex(text, _YEAR_FIRST), "year", "month", "day")
        if self.order != "ymd":
            day, month = ("a", "b") if self.order == "dmy" else ("b", "a")
            written = pc.coalesce(written, _joined(pc.extract_regex(text, _DATE), "year", month, day))
        return pc.coalesce(written, text).cast(pa.large_string())

    def __str__(self) -> str:
        return f"{self.column}: dates with the {'day' if self.order == 'dmy' else 'month'} first"


def _joined(parts: Any, year: str, month: str, day: str) -> Any:
    import pyarrow.compute as pc

    part = lambda name: pc.struct_field(parts, name)  # noqa: E731
    padded = [pc.utf8_lpad(part(name), 2, "0") for name in (month, day)]
    return _join(part(year), *padded, between="-")


def _join(*parts: Any, between: str = "") -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*parts, pa.scalar(between, pa.large_string()))


@dataclass(frozen=True)
class _Numbers:
    """How the values of a column read as numbers."""

    text: Any  # large_string, null where there is none
    parts: Any  # a struct for each, null where it is no number

    @classmethod
    def of(cls, values: Any) -> _Numbers:
        import pyarrow.compute as pc

        text = texts(values)
        return cls(text, pc.extract_regex(text, _VALUE))

    def part(self, name: str) -> Any:
        import pyarrow.compute as pc

        return pc.struct_field(self.parts, name)

    def matches(self, pattern: str) -> np.ndarray:
        """Whether the digits of each value are so: booleans."""
        import pyarrow.compute as pc

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
        """The sign beside each value; "" where there is none."""
        import pyarrow.compute as pc

        joined = _join(self.part("before"), self.part("after"))
        lower = pc.replace_substring(pc.utf8_lower(joined.fill_null("")), "kr.", "kr")
        upper = pc.if_else(pc.match_substring_regex(lower, "^[a-z]{3}$"), pc.utf8_upper(lower), lower)
        return np.asarray(upper.to_numpy(zero_copy_only=False), object)

    @cached_property
    def there(self) -> int:
        return len(self.text) - self.text.null_count

    @cached_property
    def decimal(self) -> str | None:
        """The decimal sign that the column itself shows; None where it shows none."""
        only_point, only_comma = self._point & ~self._comma, self._comma & ~self._point
        if only_point.any() == only_comma.any():
            return None
        return "." if only_point.any() else ","

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
        return str(self.text[int(np.flatnonzero(which)[0])].as_py())


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
            raise InputError(f'decimal must be "," or ".". Got {self.decimal!r}.')
        if self.dates not in (None, "dmy", "mdy"):
            raise InputError(f'dates must be "dmy" or "mdy". Got {self.dates!r}.')

    def decimal_elsewhere(self) -> str | None:
        """The decimal sign of the table's other columns; a semicolon between cells speaks for a comma."""
        looks = (_Numbers.of(values) for values in self.others.values() if is_text(values))
        seen = {
            look.decimal
            for look in looks
            if look.there and (look.fits(".") | look.fits(",")).sum() >= MOSTLY * look.there
        } - {None}
        if len(seen) == 1:
            return seen.pop()
        return "," if not seen and self.delimiter == ";" else None

    def order_elsewhere(self) -> str | None:
        """Whether day or month come first in the table's other columns."""
        looks = (_Dates.of(values) for values in self.others.values() if is_text(values))
        seen = {look.order for look in looks if look.there and look.written.sum() >= MOSTLY * look.there}
        seen -= {None}
        return seen.pop() if len(seen) == 1 else None


def is_text(values: Any) -> bool:
    """Whether a column is of text."""
    import pyarrow as pa

    return pa.types.is_string(values.type) or pa.types.is_large_string(values.type)


def looks_like_floats(distinct: Any) -> bool:
    """Whether texts are numbers throughout, in whatever notation, and not all of them whole."""
    look = _Numbers.of(distinct)
    decimal = next((sign for sign in ".," if look.there and look.fits(sign).sum() == len(distinct)), None)
    return decimal is not None and bool(look.matches(rf"[{decimal}][0-9]*[1-9]|e-|E-").any())


def rewritten(table: Any, notations: Iterable[Notation]) -> Any:
    """A table (pyarrow) with these columns as programs write them; columns that are no text stay."""
    for notation in notations:
        values = table[notation.column]
        if is_text(values):
            at = table.column_names.index(notation.column)
            table = table.set_column(at, notation.column, notation.plain(values))
    return table


def find_notations(
    table: Any, features: Sequence[str] | Mapping[str, str | None], clues: Clues
) -> tuple[Notation, ...]:
    """How columns of a table (pyarrow) are written; ``features`` names them, or maps each to a kind."""
    kinds = dict(features) if isinstance(features, Mapping) else dict.fromkeys(features)
    found = (find_notation(name, table[name], kind, clues) for name, kind in kinds.items())
    return tuple(filter(None, found))


def find_notation(name: str, values: Any, kind: str | None, clues: Clues) -> Notation | None:
    """How a column of numbers or dates is written; None where it is neither, or no text."""
    if not is_text(values) or kind not in (None, "number", "date"):
        return None
    finders: dict[str, Callable[..., Notation | None]] = {"number": _number_notation, "date": _date_notation}
    found = (find(name, values, clues, sure=bool(kind)) for of, find in finders.items() if kind in (None, of))
    return next(filter(None, found), None)


def _number_notation(name: str, values: Any, clues: Clues, *, sure: bool) -> NumberNotation | None:
    if clues.decimal != "," and _is_plain(texts(values)):
        return NumberNotation(name)
    look = _Numbers.of(values)
    readable = look.fits(".") | look.fits(",")
    if not readable.any() or (not sure and readable.sum() < MOSTLY * look.there):
        return None
    decimal = _decimal(name, look, clues)
    good = look.fits(decimal)
    if not sure and good.sum() < MOSTLY * look.there:
        if clues.decimal:
            return None
        one, other = (look.example(look.fits(sign) & ~look.fits(rest)) for sign, rest in (".,", ",."))
        raise InputError(
            f"{clues.table}: column {name!r} has decimal points and decimal commas ({one}, {other}). "
            "Write them alike, or leave the column out of features."
        )
    unit = _unit(name, look.units[good], clues.table)
    return NumberNotation(name, decimal, look.thousands(decimal), unit)


def _is_plain(text: Any) -> bool:
    """Whether all values are, beyond doubt, as programs write numbers: seen faster than all else."""
    import pyarrow.compute as pc

    if text.null_count == len(text) or not _all_match(text, PLAIN_NUMBER):
        return False
    doubtful = pc.match_substring_regex(text, _DOUBTFUL)
    if not pc.any(doubtful).as_py():
        return True
    return bool(pc.any(pc.and_not(pc.match_substring(text, "."), doubtful)).as_py())


def _all_match(text: Any, pattern: str) -> bool:
    import pyarrow.compute as pc

    return pc.all(pc.match_substring_regex(text, pattern)).as_py() is not False


def _decimal(name: str, look: _Numbers, clues: Clues) -> str:
    if clues.decimal:
        return clues.decimal
    if look.decimal:
        return look.decimal
    if not look.doubtful.any():
        return max(".,", key=lambda sign: (look.fits(sign).sum(), sign == "."))
    if found := clues.decimal_elsewhere():
        return found
    if not (look.doubtful & look.matches(",")).any():
        return "."  # as every program writes
    shown = look.example(look.doubtful & look.matches(","))
    raise InputError(
        f"{clues.table}: in column {name!r} the comma of {shown} may stand before decimals or between "
        'thousands. Pass decimal="," or decimal=".".'
    )


def _unit(name: str, units: Iterable[str], table: str) -> str:
    distinct = set(units)
    signs = sorted(distinct - {""})
    if len(signs) > 1 or distinct == {"", "%"}:
        shown = " and ".join([*signs, *(["without"] if len(signs) == 1 else [])])
        raise InputError(
            f"{table}: column {name!r} has numbers with {shown}. "
            "Write them alike, or leave the column out of features."
        )
    return signs[0] if signs else ""


@dataclass(frozen=True)
class _Dates:
    """How the values of a column read as dates with the year last."""

    there: int
    written: np.ndarray  # booleans
    first: np.ndarray  # day or month, 0 where there is none
    second: np.ndarray
    dotted: bool
    text: Any

    @classmethod
    def of(cls, values: Any) -> _Dates:
        import pyarrow as pa
        import pyarrow.compute as pc

        text = texts(values)
        parts = pc.extract_regex(text, _DATE)
        number = lambda name: (  # noqa: E731
            pc.struct_field(parts, name).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        )
        written = np.asarray(parts.is_valid().to_numpy(zero_copy_only=False), bool)
        dotted = pc.unique(pc.struct_field(parts, "mark").drop_null()).to_pylist() == ["."]
        return cls(len(text) - text.null_count, written, number("a"), number("b"), dotted, text)

    @property
    def order(self) -> str | None:
        """The order that the column itself shows."""
        day_first, month_first = (self.first > 12).any(), (self.second > 12).any()
        if day_first == month_first:
            return None
        return "dmy" if day_first else "mdy"


def _date_notation(name: str, values: Any, clues: Clues, *, sure: bool) -> DateNotation | None:
    look = _Dates.of(values)
    if not look.written.any():
        return DateNotation(name) if sure or _year_first(look) else None
    if not sure and look.written.sum() < MOSTLY * look.there:
        return None
    return DateNotation(name, clues.dates or look.order or _order(name, look, clues))


def _year_first(look: _Dates) -> bool:
    import pyarrow.compute as pc

    found = pc.sum(pc.match_substring_regex(look.text, _YEAR_FIRST)).as_py() or 0
    return look.there > 0 and found >= MOSTLY * look.there


def _order(name: str, look: _Dates, clues: Clues) -> str:
    if (look.first > 12).any():  # and the second as well
        day_first, month_first = (look.written & (month <= 12) for month in (look.second, look.first))
        if max(day_first.sum(), month_first.sum()) >= MOSTLY * look.there:
            return "dmy" if day_first.sum() > month_first.sum() else "mdy"
        raise InputError(
            f"{clues.table}: column {name!r} has dates with the day first and dates with the month first. "
            "Write them alike, or leave the column out of features."
        )
    if look.dotted:
        return "dmy"  # nobody writes points after the month
    if found := clues.order_elsewhere():
        return found
    shown = look.text[int(np.flatnonzero(look.written)[0])].as_py()
    raise InputError(
        f"{clues.table}: in column {name!r} dates like {shown} may have the day or the month first. "
        'Pass dates="dmy" or dates="mdy".'
    )
