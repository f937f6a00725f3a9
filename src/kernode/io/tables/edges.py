"""A table of edges by its roles: two columns of ids and, perhaps, one of weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernode.errors import InputError, bad_setting
from kernode.io.tables.encoding import Encoding
from kernode.io.tables.notation import Clues, NumberNotation, looks_at, number_notation, texts, trimmed
from kernode.io.tables.source import open_table
from kernode.io.tables.table import (
    BLANKS,
    NUMBERS,
    Reading,
    Table,
    choose,
    first,
    is_nested,
    is_text,
    require_rows,
    sql_text,
)

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
            what = f"column {column!r} holds {type_}, which cannot be an id"
            fix = "Name another column, or write its values as text."
            raise table.error(f"{what}. {fix}", "unsupported", column=column)
        if type_.startswith(("FLOAT", "DOUBLE", "DECIMAL")):
            cell = table.number_text(column)
        elif is_text(type_):
            clean = f"{cell}[1] NOT IN {blanks} AND {cell}[-1] NOT IN {blanks} AND {cell} <> ''"
            seen = f"max(strlen({cell})), bool_and({clean}), any_value({cell})"
            longest, is_clean, example = table.one(seen)
            cell = cell if is_clean else f"nullif({trimmed(cell)}, '')"
            whole = whole and (not example or _WHOLE.fullmatch(example.strip()) is not None)
            if whole:
                whole = table.one(f"bool_and(regexp_full_match({cell}, '{_WHOLE.pattern}'))")[0] is not False
            if (longest or 0) > _LONGEST:
                what = f"an id in {column!r} has {longest:,} characters, and ids have at most {_LONGEST:,}"
                raise table.error(f"{what}. Name another column, or shorten them.", "too-large", what="id")
        else:
            cell = f"{cell}::VARCHAR"
        found.append(cell)
    if whole and any(is_text(table.types[column]) for column in columns):
        found = [rf"regexp_replace({cell}, '\.0+$', '')" for cell in found]
    both = zip(found, prefixes, strict=False)
    return [f"{sql_text(prefix)} || {cell}" if prefix else cell for cell, prefix in both]


@dataclass(frozen=True)
class Ends:
    """The table of edges by its roles."""

    table: Table
    source: str
    target: str
    weight: str | None
    prefixes: tuple[str, ...]  # of the ids of both ends
    notation: NumberNotation | None  # of the weights, where they are text
    negative: str | None
    ids: tuple[str, ...] = ()  # SQL of the ids of both ends
    weights: str | None = None  # SQL of the weights
    usable: str = ""  # SQL: whether a row has both ends and, where there are weights, one above 0

    def checked(self) -> Ends:
        """The same with its SQL and repairs of the rows that cannot be used; weights below 0 are refused."""
        table, weight, number, weights, has_weight = self.table, self.weight, "", None, "true"
        if weight is not None:
            cell = number = table.sql(weight)
            if is_text(table.types[weight]):  # read once
                view, number = f"t{next(NUMBERS)}", (self.notation or NumberNotation(weight)).sql(cell)
                read = f"CREATE TABLE {view} AS SELECT * REPLACE ({number} AS {cell}) FROM {table.view}"
                table.con.execute(read)
                table = replace(table, view=view, types={**table.types, weight: "DOUBLE"})
            number = f"TRY_CAST({cell} AS DOUBLE)"
            weights = f"TRY_CAST({'abs' if self.negative == 'absolute' else ''}({number}) AS FLOAT)"
            has_weight = f"coalesce({weights} > 0 AND isfinite({weights}), false)"
        if weight is not None and self.negative is None:
            seen = f"count(*), min({table.row}), arg_min({number}, {table.row})"
            below, row, value = table.one(seen, f"WHERE {number} < 0")
            if below:
                what = f"column {weight!r} has weights below 0 ({below:,}, such as {value:g})"
                fix = "Take their absolute value, drop these edges, or rename the column to have no weights."
                raise table.error(f"{what}. {fix}", "ambiguous", row=row, setting="negative")
        ids = tuple(id_sql(table, [self.source, self.target], self.prefixes))
        has_ends, total = " AND ".join(f"{cell} IS NOT NULL" for cell in ids), len(table)
        rows = [row for (row,) in table.ask(table.row, f"WHERE NOT ({has_ends})").fetchall()]
        if rows:
            table = table.repaired(rows, "lacked one of the two nodes")
            require_rows(table, total - len(rows))
        query = f"WHERE {has_ends} AND NOT {has_weight}"
        bad = [row for (row,) in table.ask(table.row, query).fetchall()] if weight else []
        if bad and len(bad) == total - len(rows):
            what = f"column {weight!r} holds no weight above 0"
            fix = "Name another column as weight, or leave it out."
            raise table.error(f"{what}. {fix}", "setting", row=0, setting="weight")
        if bad:
            table = table.repaired(bad, f"had no weight above 0 in {weight!r}")
        return replace(self, table=table, ids=ids, weights=weights, usable=f"{has_ends} AND {has_weight}")


def find_ends(con: Any, edges: Any, options: Any, clues: Clues, known: Sequence[tuple[Table, str]]) -> Ends:
    """Find the edges' columns, as the user says or by usual names.

    ``options``: the options of ``read_table``. ``known``: tables of nodes and SQL of their ids.
    """
    if options.negative not in (None, *NEGATIVE):
        raise bad_setting("negative", " or ".join(NEGATIVE), options.negative)
    named = frozenset(filter(None, (options.source, options.target, options.weight)))
    reading = Reading(options.encoding, options.header, named, of_edges=True)
    table = _with_first_edge(open_table(con, edges, "edges", reading), edges, reading, known)
    names, prefixes = table.columns, (options.source_prefix or "", options.target_prefix or "")
    if len(names) < 2:
        has = f"only the column {names[0]!r}" if names else "no columns"
        sentence = f"{table.name} has {has}. It needs two, separated by commas or tabs: source and target."
        raise InputError(sentence, "missing", what="columns")
    source = choose(table, options.source, "source", SOURCES)
    target = choose(table, options.target, "target", TARGETS)
    if source is None and target is None:
        source, target = names[:2]
        if not any(prefixes):
            _refuse_two_numberings(table, source, target)
        table = table.noted(f"took {source!r} as source and {target!r} as target")
    if source is None or target is None or source == target:
        lacking = "source" if source is None else "target"
        sentence = f"which column is the {lacking}? Name one of {', '.join(names)}."
        raise table.error(sentence, "ambiguous", setting=lacking)
    weight = choose(table, options.weight, "weight", WEIGHTS)
    if weight in (source, target):
        if options.weight is not None:
            sentence = f"column {weight!r} is an end of the edges and cannot be their weight. Name another."
            raise table.error(sentence, "conflict", setting="weight")
        weight = None
    if weight is not None and options.weight is None:
        table = table.noted(f"took {weight!r} as weight")
    others = [name for name in names if name not in (source, target, weight)]
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        table = table.noted(f"ignored {_list(others[:_SHOWN])}{more}")
    notation = None
    if weight is not None:
        type_ = table.types[weight]
        if is_nested(type_) or type_.startswith(("DATE", "TIME")):
            sentence = f"column {weight!r} holds {type_}, not weights. Name another, or rename it."
            raise table.error(sentence, "setting", setting="weight")
        if is_text(type_):
            looks = looks_at(table, (name for name in names if name not in (source, target)))
            notation = number_notation(table, weight, looks[weight], replace(clues, looks=looks), sure=True)
    return Ends(table, source, target, weight, prefixes, notation, options.negative).checked()


def ends_like(con: Any, edges: Any, like: Encoding, encoding: str | None) -> Ends:
    """Edges in the columns that an earlier table had."""
    columns = like.source, like.target, like.weight
    named = frozenset(filter(None, columns))
    table = open_table(con, edges, "edges", Reading(encoding, None, named, of_edges=True))
    for role, column in zip(("source", "target", "weight"), columns, strict=True):
        choose(table, column, role, ())
    return Ends(table, *columns, like.prefixes, like.weight_notation, like.negative).checked()


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
            again = replace(reading, header=False, why=f"{name!r} is a node")
            return open_table(table.con, source, "edges", again)
    return table


def _refuse_two_numberings(table: Table, source: str, target: str) -> None:
    """Raise where two differently named columns are each numbered from 0 or 1 up: users and items."""
    one, other = (re.sub(r"[^a-z]|id$", "", name.lower()) for name in (source, target))
    if one in other or other in one:
        return
    cells = [f"TRY_CAST({table.sql(name)}::VARCHAR AS BIGINT)" for name in (source, target)]
    counts = []
    for cell in cells:
        seen = f"min({cell}), max({cell}), count(DISTINCT {cell}), count(*) - count({cell})"
        low, high, count, others = table.one(seen)
        if others or low is None or not 0 <= low <= 10 or count < _FEWEST or 2 * count <= high - low:
            return
        counts.append(count)
    both = " INTERSECT ".join(f"SELECT {cell} FROM {table.view}" for cell in cells)
    shared = first(table.con.execute(f"SELECT count(*) FROM ({both})"))[0]
    if 2 * shared > min(counts):
        what = f"{source!r} and {target!r} are numbered alike, and {shared:,} numbers are in both"
        fix = "Name both columns if these are the same nodes, else keep them apart with a prefix for each."
        setting = ("source_prefix", "target_prefix")
        raise table.error(f"{what}. {fix}", "ambiguous", setting=setting)


def _list(names: list[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} and {last}" if others else last
