"""A table of edges by its roles: two columns of ids and, perhaps, one of weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernode.errors import InputError, bad_setting
from kernode.io.tables.encoding import Encoding, looks_at
from kernode.io.tables.kinds import is_nested, is_text
from kernode.io.tables.notation import Clues, NumberNotation, number_notation, texts, trimmed
from kernode.io.tables.source import open_table
from kernode.io.tables.table import BLANKS, Reading, Table, choose, first, require, require_rows, sql_text

_ENDS = (  # usual names of an edge's two columns
    ("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"), ("node1", "node2"),
    ("id1", "id2"), ("citing", "cited"), ("follower", "followee"), ("fromnodeid", "tonodeid"),
    ("sender", "receiver"), ("sender", "recipient"), ("payer", "payee"), ("caller", "callee"),
    ("von", "nach"),
)  # fmt: skip
SOURCES, TARGETS = zip(*_ENDS, strict=True)
WEIGHTS = ("weight", "weights", "w")
NEGATIVE = ("absolute", "drop")  # what may be done to weights below 0
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_OF_MANY = 5  # a column of ends names at least every so many-th listed node
_FEWEST = 10  # ids of each kind, in two numberings
_LONGEST = 1000  # characters: numpy holds every name in as much room as the longest takes
_SHOWN = 5  # names in a note
_WHOLE = re.compile(r"-?[0-9]+(\.0+)?")


def id_sql(table: Table, columns: Sequence[str], prefixes: Sequence[str] = ("", "")) -> list[str]:
    """SQL of columns of ids: text, NULL where there is none.

    One type for all, because files disagree: 17 in a database is "17" in a CSV file, and 17.0 where pandas
    had to make room for a missing one.
    """
    found, whole, blanks = [], True, texts(*BLANKS)
    for column in columns:
        cell, type_ = table.sql(column), table.types[column]
        if is_nested(type_):
            raise InputError(
                f"{table.name}: column {column!r} holds {type_}, which cannot be an id. Name another column, "
                "or "
                "write its values as text.", "unsupported", column=column,
            )  # fmt: skip
        if type_.startswith(("FLOAT", "DOUBLE", "DECIMAL")):
            number = f"nullif({cell}::DOUBLE, 'nan'::DOUBLE)"
            exact = f"isfinite({number}) AND floor({number}) = {number} AND abs({number}) < 2::DOUBLE ** 53"
            are_exact = table.one(f"bool_and({exact})")[0]
            cell = f"({f'TRY_CAST({number} AS BIGINT)' if are_exact else number})::VARCHAR"
        elif is_text(type_):
            clean = f"{cell}[1] NOT IN {blanks} AND {cell}[-1] NOT IN {blanks} AND {cell} <> ''"
            longest, is_clean, example = table.one(
                f"max(strlen({cell})), bool_and({clean}), any_value({cell})"
            )
            cell = cell if is_clean else f"nullif({trimmed(cell)}, '')"
            whole = whole and (not example or _WHOLE.fullmatch(example.strip()) is not None)
            if whole:
                whole = table.one(f"bool_and(regexp_full_match({cell}, '{_WHOLE.pattern}'))")[0] is not False
            if (longest or 0) > _LONGEST:
                raise InputError(
                    f"{table.name}: an id in {column!r} has {longest:,} characters. Ids have at most "
                    f"{_LONGEST:,}: "
                    "name another column, or shorten them.", "too-large", what="id",
                )  # fmt: skip
        else:
            cell = f"{cell}::VARCHAR"
        found.append(cell)
    if whole and any(is_text(table.types[column]) for column in columns):
        found = [rf"regexp_replace({cell}, '\.0+$', '')" for cell in found]
    return [
        f"{sql_text(prefix)} || {cell}" if prefix else cell
        for cell, prefix in zip(found, prefixes, strict=False)
    ]


@dataclass(frozen=True)
class Ends:
    """The table of edges by its roles."""

    table: Table
    source: str
    target: str
    weight: str | None = None
    prefixes: tuple[str, ...] = ("", "")  # of the ids of both ends
    notation: NumberNotation | None = None  # of the weights, where they are text
    negative: str | None = None
    ids: tuple[str, ...] = ()  # SQL of the ids of both ends

    def __post_init__(self) -> None:
        if not self.ids:
            ids = id_sql(self.table, [self.source, self.target], self.prefixes)
            object.__setattr__(self, "ids", tuple(ids))

    @property
    def number_sql(self) -> str:
        """SQL of the weights as they are written."""
        assert self.weight is not None
        return f"TRY_CAST({self.table.sql(self.weight)} AS DOUBLE)"

    def with_numbers(self) -> Ends:
        """The same with weights that are text read as numbers, once."""
        table, weight = self.table, self.weight
        if weight is None or not is_text(table.types[weight]):
            return self
        cell, number = table.sql(weight), (self.notation or NumberNotation(weight)).sql(table.sql(weight))
        table = table.replaced(f"* REPLACE ({number} AS {cell})", {**table.types, weight: "DOUBLE"})
        return replace(self, table=table)

    @property
    def weight_sql(self) -> str:
        """SQL of the weights."""
        sign = "abs" if self.negative == "absolute" else ""
        return f"TRY_CAST({sign}({self.number_sql}) AS FLOAT)"

    @property
    def has_ends(self) -> str:
        """SQL: whether a row has both ends."""
        return " AND ".join(f"{cell} IS NOT NULL" for cell in self.ids)

    @property
    def has_weight(self) -> str:
        """SQL: whether a row has a weight above 0, where there are weights."""
        if self.weight is None:
            return "true"
        return f"coalesce({self.weight_sql} > 0 AND isfinite({self.weight_sql}), false)"

    def checked(self) -> Ends:
        """The same after weights below 0 were refused, with repairs of the rows that cannot be used."""
        table = self.table
        if self.weight is not None and self.negative is None:
            below, row, value = table.one(
                f"count(*), min({table.row}), arg_min({self.number_sql}, {table.row})",
                f"WHERE {self.number_sql} < 0",
            )
            if below:
                raise InputError(
                    f"{table.name}, row {table.numbers([row])[0]}: column {self.weight!r} has weights below "
                    "0 "
                    f"({below:,}, such as {value:g}), and a weight says how strong an edge is. Take their "
                    "absolute "
                    "value, drop these edges, or rename the column to have no weights.",
                    "ambiguous", setting="negative",
                )  # fmt: skip
        rows = [row for (row,) in table.ask(table.row, f"WHERE NOT ({self.has_ends})").fetchall()]
        total = len(table)
        if rows:
            table = table.repaired(rows, "lacked one of the two nodes")
            require_rows(table, total - len(rows))
        query = f"WHERE {self.has_ends} AND NOT {self.has_weight}"
        bad = [row for (row,) in table.ask(table.row, query).fetchall()] if self.weight else []
        if bad and len(bad) == total - len(rows):
            raise InputError(
                f"{table.name}, row {table.numbers([0])[0]}: column {self.weight!r} holds no weight above 0. "
                "Name another column as weight, or leave it out.", "setting", setting="weight",
            )  # fmt: skip
        if bad:
            table = table.repaired(bad, f"had no weight above 0 in {self.weight!r}")
        return replace(self, table=table)


def find_ends(
    con: Any, edges: Any, reading: Reading, said: Any, clues: Clues, known: Sequence[tuple[Table, str]]
) -> Ends:
    """Find the edges' columns, as the user says or by usual names.

    ``known``: tables of nodes and SQL of their ids.
    """
    if said.negative not in (None, *NEGATIVE):
        raise bad_setting("negative", " or ".join(NEGATIVE), said.negative)
    table = _with_first_edge(open_table(con, edges, "edges", reading), edges, reading, known)
    names, prefixes = table.columns, (said.source_prefix or "", said.target_prefix or "")
    if len(names) < 2:
        has = f"only the column {names[0]!r}" if names else "no columns"
        sentence = f"{table.name} has {has}. It needs two, separated by commas or tabs: source and target."
        raise InputError(sentence, "missing", what="columns")
    source, target = (
        choose(table, said.source, "source", SOURCES),
        choose(table, said.target, "target", TARGETS),
    )
    if source is None and target is None:
        source, target = names[:2]
        _refuse_other_ends(table, (source, target), said.weight, known)
        if not any(prefixes):
            _refuse_two_numberings(table, source, target)
        table = table.noted(f"took {source!r} as source and {target!r} as target")
    if source is None or target is None or source == target:
        lacking = "source" if source is None else "target"
        sentence = f"{table.name}: which column is the {lacking}? Name one of {', '.join(names)}."
        raise InputError(sentence, "ambiguous", setting=lacking)
    weight = choose(table, said.weight, "weight", WEIGHTS)
    if weight in (source, target):
        if said.weight is not None:
            sentence = f"{table.name}: column {weight!r} is an end of the edges and cannot be their weight."
            raise InputError(f"{sentence} Name another.", "conflict", setting="weight")
        weight = None
    if weight is not None and said.weight is None:
        table = table.noted(f"took {weight!r} as weight")
    others = [name for name in names if name not in (source, target, weight)]
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        table = table.noted(f"ignored {_list(others[:_SHOWN])}{more}")
    notation = None
    if weight is not None:
        if is_nested(table.types[weight]) or table.types[weight].startswith(("DATE", "TIME")):
            sentence = (
                f"{table.name}: column {weight!r} holds {table.types[weight]}, which cannot be weights."
            )
            raise InputError(f"{sentence} Name another, or rename it.", "setting", setting="weight")
        if is_text(table.types[weight]):
            looks = looks_at(table, (name for name in names if name not in (source, target)))
            notation = number_notation(table, weight, looks[weight], replace(clues, looks=looks), sure=True)
    return Ends(table, source, target, weight, prefixes, notation, said.negative).with_numbers().checked()


def ends_like(con: Any, edges: Any, like: Encoding, encoding: str | None) -> Ends:
    """Edges in the columns that an earlier table had."""
    roles = {"source": like.source, "target": like.target, "weight": like.weight}
    named = frozenset(filter(None, roles.values()))
    table = open_table(con, edges, "edges", Reading(encoding, None, named, of_edges=True))
    for role, column in roles.items():
        require(table, [] if column is None else [column], role)
    return (
        Ends(table, like.source, like.target, like.weight, like.prefixes, like.weight_notation, like.negative)
        .with_numbers()
        .checked()
    )


def _with_first_edge(
    table: Table, source: Any, reading: Reading, known: Sequence[tuple[Table, str]]
) -> Table:
    """The table with its first row as data, where that looks like names and names a node of the graph."""
    names = table.columns
    usual = {*SOURCES, *TARGETS, *WEIGHTS} & {name.lower() for name in names}
    if table.names_by_looks is None or len(names) < 2 or usual:
        return table
    columns = [*((table, trimmed(table.sql(name))) for name in names[:2]), *known]
    for name in names[:2]:
        if any(one.one("1", f"WHERE {cell} = {sql_text(name)} LIMIT 1") for one, cell in columns):
            return open_table(
                table.con, source, "edges", replace(reading, header=False, why=f"{name!r} is a node")
            )
    return table


def _refuse_other_ends(
    table: Table, ends: tuple[str, str], weight: str | None, known: Sequence[tuple[Table, str]]
) -> None:
    """Raise where one of the first two columns holds no listed node, and a later column does.

    A rating or an hour may look like the ids of a few nodes; ends are ids of many.
    """
    listed = " UNION ".join(
        f"SELECT {cell} AS id FROM {one.view} WHERE {cell} IS NOT NULL" for one, cell in known
    )
    count = first(table.con.execute(f"SELECT count(*) FROM ({listed})"))[0] if known else 0

    def share(column: str) -> float:
        """The share of a column's different values that are listed; 0 where these are few."""
        if is_nested(table.types[column]):
            return 0.0
        values = f"SELECT DISTINCT {id_sql(table, [column])[0]} AS id FROM {table.view}"
        joined = f"({values}) LEFT JOIN ({listed}) k USING (id) WHERE id IS NOT NULL"
        there, values_there = first(table.con.execute(f"SELECT count(k.id), count(*) FROM {joined}"))
        return there / values_there if _OF_MANY * there >= count and there else 0.0

    strange = [name for name in ends if count and not share(name)]
    others = (
        [name for name in table.columns if name != weight and name.lower() not in WEIGHTS] if strange else []
    )
    fits = [name for name in others if share(name) >= 0.5]
    if not set(fits) <= set(ends):
        hold = f"{_list(fits)} do" if len(fits) > 1 else f"{fits[0]!r} does"
        raise InputError(
            f"{table.name}: {strange[0]!r}, one of the first two columns, holds no id of the table of nodes, "
            "and "
            f"{hold}. Name the columns of the source and the target.",
            "ambiguous", setting=("source", "target"),
        )  # fmt: skip


def _refuse_two_numberings(table: Table, source: str, target: str) -> None:
    """Raise where two differently named columns are each numbered from 0 or 1 up: users and items."""
    one, other = (re.sub(r"[^a-z]|id$", "", name.lower()) for name in (source, target))
    if one in other or other in one:
        return
    cells = [f"TRY_CAST({table.sql(name)}::VARCHAR AS BIGINT)" for name in (source, target)]
    lows = []
    for cell in cells:
        low, high, count, others = table.one(
            f"min({cell}), max({cell}), count(DISTINCT {cell}), count(*) - count({cell})"
        )
        if others or low is None or not 0 <= low <= 10 or count < _FEWEST or 2 * count <= high - low:
            return
        lows.append((low, count))
    both = " INTERSECT ".join(f"SELECT {cell} FROM {table.view}" for cell in cells)
    shared = first(table.con.execute(f"SELECT count(*) FROM ({both})"))[0]
    if 2 * shared > min(count for _, count in lows):
        raise InputError(
            f"{table.name}: {source!r} and {target!r} are each numbered from {min(lows)[0]} up, and "
            f"{shared:,} numbers "
            "are in both. If these are the same nodes, name both columns as source and target; if they are "
            "of two "
            "kinds, keep them apart with a prefix for the ids of each.",
            "ambiguous", setting=("source_prefix", "target_prefix"),
        )  # fmt: skip


def _list(names: list[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} and {last}" if others else last
