"""How people write numbers and dates (1.234,50 €, 31.12.2024), as DuckDB expressions that read them.

A column of text is looked at once (:class:`Look`). What is found is stored, and other tables are read alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

from kernode.config import Config
from kernode.errors import InputError, bad_setting
from kernode.io.tables.table import BLANKS, Table, first, is_text, sql_text

MOSTLY = 0.9  # of the values of a column of numbers are numbers; the others are mistakes
LARGEST = 1e150  # the square of a larger number is infinite, and so would be the deviation
YES, NO = ("true", "yes", "t", "y", "1"), ("false", "no", "f", "n", "0")
# Missing values as pandas, R and spreadsheets write them.
MISSING = (
    "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "<na>", "-nan", "?", "-", "",
    "#div/0!", "#ref!", "#value!", "#num!", "#name?", "#null!", "#spill!", "#calc!",
)  # fmt: skip
_FEW = 3  # values like 1.073: fewer may have three decimals by chance

_BLANK = r"[ \t\x{a0}\x{2009}\x{202f}]"
_APOSTROPHE = r"['\x{2019}]"
_SIGN = r"[+\x{2212}-]"
UNIT = r"(?i:€|\$|£|¥|kr|chf|eur|usd|gbp|jpy|sek|nok|dkk|%)"
_POWER = "(?:[eE][+-]?[0-9]+)?"
_INNER = r"[0-9.,'\x{2019} \t\x{a0}\x{2009}\x{202f}]"
_VALUE = (
    f"^({_SIGN}?){_BLANK}*({UNIT}?){_BLANK}*({_SIGN}?){_BLANK}*"
    f"([0-9](?:{_INNER}*[0-9.])?{_POWER}|[.,][0-9]+{_POWER}){_BLANK}*({UNIT}?)$"
)
_DATE = "^([0-9]{1,2})([/.-])([0-9]{1,2})[/.-]([0-9]{4})(?:[T ].*)?$"
_YEAR_FIRST = "^([0-9]{4})[/.-]([0-9]{1,2})[/.-]([0-9]{1,2})(?:[T ].*)?$"
_PLAIN = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_FIRST = {"dmy": "day", "mdy": "month", "ymd": "year"}


def texts(*values: str) -> str:
    """Values as a list for SQL's IN."""
    return f"({', '.join(map(sql_text, values))})"


def trimmed(column: str) -> str:
    """SQL: a text without blanks around it; trim() itself is slow, and few texts need it."""
    blank = f"IN {texts(*BLANKS)}"
    needed = f"({column})[1] {blank} OR ({column})[-1] {blank}"
    return f"CASE WHEN {needed} THEN trim({column}, {sql_text(BLANKS)}) ELSE {column} END"


def plain_text(column: str) -> str:
    """SQL: a text without blanks around it, NULL where it is missing."""
    return f"CASE WHEN lower({trimmed(column)}) IN {texts(*MISSING)} THEN NULL ELSE {trimmed(column)} END"


def _body(decimal: str, group: str = ",.") -> str:
    """Digits with a decimal sign, and marks between thousands: blanks, apostrophes, or what ``group`` has."""
    marks = [_BLANK, _APOSTROPHE, *(f"[{mark}]" for mark in group if mark != decimal)]
    grouped = "|".join(f"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+" for mark in marks)
    after = r"(?:\.[0-9]*)?" if decimal == "." else "(?:,[0-9]+)?"
    return f"(?:[0-9]+|{grouped})?{after}{_POWER}"


def _parts(column: str) -> str:
    """SQL: sign, unit and digits of a number as people write it, in a row ``p``."""
    names = "['s', 'before', 'inner', 'body', 'after']"
    return f"regexp_extract({column}, {sql_text(_VALUE)}, {names})"


def plain_counts(column: str) -> tuple[str, str, str]:
    """SQL: how many values there are, how many are numbers beyond doubt, and how many of them have a point.

    1.234 is in doubt: its point may stand between thousands.
    """
    doubtful = r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}"
    plain = f"regexp_full_match({column}, '{_PLAIN}') AND NOT regexp_full_match({column}, '{doubtful}')"
    return f"count({column})", f"count_if({plain})", f"count_if({column} LIKE '%.%')"


@dataclass(frozen=True)
class Notation(Config):
    """How the values of a column are written."""

    column: str

    @property
    def is_plain(self) -> bool:
        """Whether it is how programs write."""
        return self == type(self)(self.column)

    def sql(self, column: str) -> str:
        """SQL that reads a text: DOUBLE, NULL where it does not fit."""
        raise NotImplementedError


@dataclass(frozen=True)
class NumberNotation(Notation):
    """The decimal sign, what stands between thousands, and a currency or percent sign."""

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def sql(self, column: str) -> str:
        """Digits with a decimal point, cast."""
        p = _parts(plain_text(column))
        digits = f"regexp_replace({p}.body, {sql_text(f'{_BLANK}|{_APOSTROPHE}')}, '', 'g')"
        digits = f"replace(replace({digits}, '{'.' if self.decimal == ',' else ','}', ''), ',', '.')"
        sign = f"replace({p}.s || {p}.inner, '\u2212', '-')"
        units = ("%",) if self.unit == "%" else ("", self.unit.lower())
        # 1,234.50 can be nothing else, though the first table had no such mark.
        fits = " OR ".join(
            f"({also}regexp_full_match({p}.body, {sql_text(_body(self.decimal, group))}))"
            for also, group in (("", self.thousands), (f"{p}.body SIMILAR TO '.*[.,].*[.,].*' AND ", ",."))
        )
        good = f"{p}.body <> '' AND ({fits}) AND lower({p}.before || {p}.after) IN {texts(*units)}"
        return f"CASE WHEN {good} THEN TRY_CAST({sign} || {digits} AS DOUBLE) END"

    def __str__(self) -> str:
        between = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}.get(self.thousands)
        marks = [
            "decimal comma" * (self.decimal == ","),
            between and f"{between} between thousands",
            self.unit,
        ]
        return f"{self.column}: numbers with {', '.join(filter(None, marks))}"


@dataclass(frozen=True)
class DateNotation(Notation):
    """Whether the day comes first (dmy), the month (mdy) or the year (ymd, which is always read)."""

    order: str = "ymd"

    def sql(self, column: str) -> str:
        """Days since 1970."""
        written = plain_text(column)
        part = lambda pattern, at: f"regexp_extract({written}, {sql_text(pattern)}, {at})"  # noqa: E731
        date = lambda pattern, *at: " || '-' || ".join(part(pattern, one) for one in at)  # noqa: E731
        found = [f"TRY_CAST({date(_YEAR_FIRST, 1, 2, 3)} AS DATE)"]
        if self.order != "ymd":
            month, day = (3, 1) if self.order == "dmy" else (1, 3)
            found.append(f"TRY_CAST({date(_DATE, 4, month, day)} AS DATE)")
        return f"epoch(coalesce({', '.join(found)})) / 86400"

    def __str__(self) -> str:
        return f"{self.column}: dates with the {_FIRST[self.order]} first"


def _count(condition: str) -> str:
    return f"coalesce(sum(n) FILTER ({condition}), 0)"


def _first(condition: str) -> str:
    return f"arg_min(x, k) FILTER ({condition})"


# What is seen in a column of text: n times x, first in row k, with its parts as a number in p, and day and
# month in some order in d1 and d2; point and comma: whether x is a number with that decimal sign, or none.
_DOUBTFUL = "point AND comma AND (p.body LIKE '%.%' OR p.body LIKE '%,%')"  # such as 1.234
_SEEN = {
    "there": _count("x IS NOT NULL"),
    "distinct": "count(x)",
    "words": r"coalesce(sum(n * len(string_split_regex(x, '\s+'))), 0)",
    "flags": _count(f"lower(x) IN {texts(*YES, *NO)}"),
    "point": _count("point"),
    "comma": _count("comma"),
    "numbers": _count("point OR comma"),
    "only_point": _count("point AND NOT comma"),
    "only_comma": _count("comma AND NOT point"),
    "first_point": _first("point AND NOT comma"),
    "first_comma": _first("comma AND NOT point"),
    "doubtful": _count(_DOUBTFUL),
    "doubtful_number": _first(_DOUBTFUL),
    "small": _count("regexp_full_match(p.body, '[0-9]{1,3}')"),
    "commas": _count("point AND NOT comma AND p.body LIKE '%,%'"),  # between thousands
    "points": _count("comma AND NOT point AND p.body LIKE '%.%'"),
    "units": "list(DISTINCT lower(p.before || p.after)) FILTER (point OR comma)",  # '' for none
    "year_first": _count(f"regexp_matches(x, {sql_text(_YEAR_FIRST)})"),
    "dated": _count("d1 IS NOT NULL"),
    "first_date": _first("d1 IS NOT NULL"),
    "doubtful_date": _first("d1 <= 12 AND d2 <= 12"),
    "day_first": _count("d1 > 12 AND d2 <= 12"),  # and in no other order
    "month_first": _count("d2 > 12 AND d1 <= 12"),
    "dotted": f"bool_and(regexp_extract(x, {sql_text(_DATE)}, 2) = '.') FILTER (d1 IS NOT NULL)",
}


class Look(SimpleNamespace):
    """Counts and examples of the values of a text column, by the names in ``_SEEN``."""

    @classmethod
    def of(cls, table: Table, column: str) -> Look:
        """Query a text column; a shorter query does where programs wrote all its numbers."""
        there, plain, pointed = table.one(", ".join(plain_counts(table.sql(column))))
        if there and plain == there:
            counts = {**dict.fromkeys(_SEEN, 0), **dict.fromkeys(("there", "point", "numbers"), there)}
            return cls(**counts | {"comma": there - pointed, "only_point": pointed, "units": [""]})
        fits = lambda sign: f"p.body <> '' AND regexp_full_match(p.body, {sql_text(_body(sign))})"  # noqa: E731
        date = lambda at: f"TRY_CAST(regexp_extract(x, {sql_text(_DATE)}, {at}) AS INTEGER)"  # noqa: E731
        once = f"SELECT {plain_text(table.sql(column))} AS x, count(*) AS n, min({table.row}) AS k"
        sql = f"""
            WITH texts AS ({once} FROM {table.view} GROUP BY x),
            parts AS (SELECT *, {_parts("x")} AS p, {date(1)} AS d1, {date(3)} AS d2 FROM texts),
            looks AS (SELECT *, {fits(".")} AS point, {fits(",")} AS comma FROM parts)
            SELECT {", ".join(_SEEN.values())} FROM looks"""
        look = cls(**dict(zip(_SEEN, first(table.con.execute(sql)), strict=True)))
        look.units = sorted(look.units or ())
        return look

    @property
    def decimal(self) -> str | None:
        """The decimal sign that the column itself shows; None where it shows none."""
        both = bool(self.only_point) == bool(self.only_comma)
        return None if both else "." if self.only_point else ","

    @property
    def is_sure(self) -> bool:
        """Whether at least half of the signs show it: one slip is no evidence."""
        return bool(self.only_point + self.only_comma >= self.doubtful)

    @property
    def order(self) -> str | None:
        """The order of dates that the column itself shows."""
        both = bool(self.day_first) == bool(self.month_first)
        return None if both else "dmy" if self.day_first else "mdy"


def looks_at(table: Table, columns: Iterable[str]) -> dict[str, Look]:
    """Look at every text column among some."""
    return {name: Look.of(table, name) for name in columns if is_text(table.types[name])}


@dataclass(frozen=True)
class Clues:
    """Notation stated by the user, and the other text columns of the table."""

    decimal: str | None = None
    dates: str | None = None
    looks: Mapping[str, Look] = field(default_factory=dict)  # columns of text that hold no ids

    def __post_init__(self) -> None:
        if self.decimal not in (None, ",", "."):
            raise bad_setting("decimal", "a comma or a point", self.decimal)
        if self.dates not in (None, "dmy", "mdy"):
            raise bad_setting("dates", "dmy or mdy", self.dates)


def number_notation(
    table: Table, name: str, look: Look, clues: Clues, *, sure: bool
) -> NumberNotation | None:
    """How a column of numbers is written; None where it holds other text. ``sure``: it is to hold numbers."""
    if not look.numbers or (not sure and look.numbers < MOSTLY * look.there):
        return None
    decimal = _decimal(table, name, look, clues)
    with_comma = decimal == ","
    other, example = (".", look.first_point) if with_comma else (",", look.first_comma)
    if not sure and (look.comma if with_comma else look.point) < MOSTLY * look.there:
        raise _conflict(
            table, name, f"has values like {example}, which the decimal sign {decimal!r} does not fit"
        )
    units = [unit for unit in look.units if unit]
    if len(units) > 1 or look.units == ["", "%"]:
        raise _conflict(table, name, f"has numbers with {' and '.join([*units, 'without'][:2])}")
    between = look.points if with_comma else look.commas
    if look.doubtful and other in look.doubtful_number and not (look.decimal == decimal and look.is_sure):
        between = look.doubtful
    unit = units[0].upper() if units and len(units[0]) == 3 else "".join(units)
    return NumberNotation(name, decimal, other if between else "", unit)


def _conflict(table: Table, name: str, what: str) -> InputError:
    sentence = f"column {name!r} {what}. Write them alike, or leave the column out of features."
    return table.error(sentence, "conflict", column=name)


def _decimal(table: Table, name: str, look: Look, clues: Clues) -> str:
    """The decimal sign: as stated, as most values show, or as in the table's other columns."""
    if clues.decimal and (look.doubtful or look.decimal in (None, clues.decimal)):
        return clues.decimal
    if not look.doubtful or (look.decimal and look.is_sure):
        return "." if look.point >= look.comma else ","
    others = (one for one in clues.looks.values() if one.numbers >= MOSTLY * one.there and one.is_sure)
    seen = {one.decimal for one in others} - {None}
    found = seen.pop() if len(seen) == 1 else "," if not seen and table.delimiter == ";" else None
    sign = "comma" if "," in look.doubtful_number else "point"
    # As programs write. Files with points between thousands have no commas between cells.
    if found is None and sign == "point":
        thousands = look.doubtful >= _FEW and look.doubtful + look.small == look.point
        found = "." if look.decimal == "." or table.delimiter == "," or not thousands else None
    if found and look.decimal in (None, found):
        return str(found)
    what = f"in column {name!r} the {sign} of {look.doubtful_number} may stand before decimals or between"
    fix = "Say which sign stands before decimals, a comma or a point."
    raise table.error(f"{what} thousands. {fix}", "ambiguous", setting="decimal", column=name)


def date_notation(table: Table, name: str, look: Look, clues: Clues, *, sure: bool) -> DateNotation | None:
    """How a column of dates is written; None where it holds other text."""
    if not sure and (not look.there or look.dated + look.year_first < MOSTLY * look.there):
        return None
    if not look.dated:
        return DateNotation(name)
    order = clues.dates or (look.order if 2 * (look.day_first + look.month_first) >= look.dated else None)
    if order is None and look.dotted and not look.month_first:
        order = "dmy"  # points are not used with the month first
    if order is None and look.day_first and look.month_first:
        raise _conflict(table, name, "has dates with the day first and dates with the month first")
    if order is None:
        what = f"in column {name!r} dates like {look.doubtful_date} may have the day or the month first"
        fix = "Say which order it is: dmy or mdy."
        raise table.error(f"{what}. {fix}", "ambiguous", setting="dates", column=name)
    wrong = look.month_first if order == "dmy" else look.day_first
    if not sure and look.dated - wrong + look.year_first < MOSTLY * look.there:
        example = look.doubtful_date or look.first_date
        raise _conflict(table, name, f"has values like {example}, which the order {order} does not fit")
    return DateNotation(name, order)
