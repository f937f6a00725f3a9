"""A table in a DuckDB connection, its repairs, and helpers that all readers share."""

from __future__ import annotations

import difflib
import gzip
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from kernode.errors import InputError, MissingExtraError

BLANKS = " \t\r\n\v\f\u00a0\u2009\u202f\u3000"
IDS = ("id", "node", "node_id", "nodeid")  # usual names of a column of ids
START = 2**20  # bytes of a text file in which its layout is found
NUMBERS = count()  # of tables, for their names
_SHOWN = 20  # rows in a sentence; all of them stand in ``rows``
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
NUMERIC = (*_WHOLE, *(f"U{one}" for one in _WHOLE), "FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True)
class Repair:
    """One kind of repair in one table.

    Rows are numbered as the table's reader sees them: in a text file the header is row 1, as in a
    spreadsheet; in Parquet, Arrow and tables in memory the first row is 0, as in pandas.

    >>> print(Repair("nodes.csv", "had no id", "dropped", (17, 230)))
    nodes.csv: dropped 2 rows that had no id (rows 17, 230)
    """

    table: str
    what: str  # what was wrong with the rows
    done: str  # what was done to them: dropped, taken as missing, …
    rows: tuple[int, ...] = field(repr=False)
    left_out: int = 0  # rows that are counted and not named any more: a model's file names the first thousand

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.rows) + self.left_out

    def short(self, most: int = 1000) -> Repair:
        """The same with no more rows than that by number, the others counted."""
        return replace(self, rows=self.rows[:most], left_out=self.count - len(self.rows[:most]))

    @classmethod
    def of(cls, table: str, what: str, done: str, rows: Iterable[Any]) -> tuple[Repair, ...]:
        """A repair of some rows; empty where there are none."""
        numbers = tuple(sorted(int(row) for row in rows))
        return (cls(table, what, done, numbers),) if numbers else ()

    def __str__(self) -> str:
        count, more = self.count, ", …" if self.count > _SHOWN else ""
        shown = ", ".join(str(row) for row in self.rows[:_SHOWN])
        plural = "s" if count > 1 else ""
        return f"{self.table}: {self.done} {count:,} row{plural} that {self.what} (row{plural} {shown}{more})"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "table": self.table,
            "what": self.what,
            "done": self.done,
            "count": self.count,
            "rows": list(self.rows),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Repair:
        """The repair that :meth:`to_json` wrote."""
        rows = tuple(values["rows"])
        return cls(values["table"], values["what"], values["done"], rows, values["count"] - len(rows))


@dataclass(frozen=True)
class Reading:
    """Options for reading a table; what is None is inferred."""

    encoding: str | None = None
    header: bool | None = None
    named: Collection[str] = field(default=())  # columns that the user, or a model, knows by name
    id: str | None = None  # of these, the column of ids
    of_edges: bool = False
    why: str = "it is to be data"  # where the first row is


@dataclass(frozen=True)
class Table:
    """A table in a DuckDB connection: columns c0, c1, … by name, with repairs and notes."""

    con: Any
    name: str  # what sentences call it: a file's name, "nodes" or "edges"
    view: str  # its name in DuckDB
    types: Mapping[str, str]  # DuckDB's type of each column, by name
    row: str = "rowid"  # SQL of the row's number from 0
    first_row: int = 0  # number of the first row: in text files the header is row 1
    rejected: tuple[int, ...] = ()  # numbers of rows that were dropped on reading, ascending
    repairs: tuple[Repair, ...] = ()
    notes: tuple[str, ...] = ()
    delimiter: str | None = None
    names_by_looks: int | None = None  # row of the header, where only its looks say that it is one
    hidden: frozenset[str] = frozenset()  # columns without a name, which have a role only by request

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in the table's order."""
        return [name for name in self.types if name not in self.hidden]

    def sql(self, column: str) -> str:
        """The column's identifier in DuckDB."""
        return f"c{list(self.types).index(column)}"

    def ask(self, expressions: str, rest: str = "") -> Any:
        """Run ``SELECT expressions FROM this table``."""
        return self.con.execute(f"SELECT {expressions} FROM {self.view} {rest}")

    def one(self, expressions: str, rest: str = "") -> Any:
        """The first row of ``SELECT expressions FROM this table``; None where there is none."""
        return first(self.ask(expressions, rest))

    def __len__(self) -> int:
        return int(self.one("count(*)")[0])

    def values(self, expression: str) -> np.ndarray:
        """Values of an expression in row order: NaN or None where it is NULL."""
        (found,) = self.ask(f"{expression} AS x", f"ORDER BY {self.row}").fetchnumpy().values()
        if not isinstance(found, np.ma.MaskedArray):
            return np.asarray(found)
        if found.dtype.kind == "f":
            return np.asarray(found.filled(np.nan))
        values = found.data.astype(object)
        values[np.ma.getmaskarray(found)] = None
        return values

    def number_text(self, column: str) -> str:
        """SQL: the numbers of a column as text, as integers where all of them are whole."""
        number = f"CASE WHEN isfinite({self.sql(column)}::DOUBLE) THEN {self.sql(column)}::DOUBLE END"
        whole = self.one(f"bool_and(floor({number}) = {number} AND abs({number}) < 2::DOUBLE ** 53)")[0]
        return f"({number}){'::BIGINT' if whole else ''}::VARCHAR"

    def numbers(self, rows: Any) -> np.ndarray:
        """Row numbers as a reader of the file counts them, for positions from 0."""
        rejected = np.asarray(self.rejected, np.int64)
        before = rejected - np.arange(len(rejected)) - self.first_row  # accepted rows before each of these
        rows = np.asarray(rows, np.int64)
        return rows + self.first_row + np.searchsorted(before, rows, side="right")

    def repaired(self, rows: Any, what: str, done: str = "dropped") -> Table:
        """The table with a repair of some rows, by position."""
        return replace(self, repairs=(*self.repairs, *Repair.of(self.name, what, done, self.numbers(rows))))

    def noted(self, *notes: str) -> Table:
        """The table with more notes, each after the table's name."""
        return replace(self, notes=(*self.notes, *(f"{self.name}: {note}" for note in notes)))

    def error(self, sentence: str, code: str, *, row: Any = None, **fields: Any) -> InputError:
        """The error about this table, or about one of its rows by position."""
        where = self.name if row is None else f"{self.name}, row {self.numbers(row)}"
        return InputError(f"{where}: {sentence}", code, **fields)


def first(result: Any) -> Any:
    """The first row of a result, all of which is fetched: an unfinished one blocks the connection."""
    return next(iter(result.fetchall()), None)


def choose(table: Table, given: str | None, role: str, usual: Sequence[str]) -> str | None:
    """Return the column for a role: the given one, or one with a usual name, or None."""
    if given is not None:
        return require(table, given, role)
    lower = {name.lower(): name for name in reversed(table.columns)}
    return next((lower[name] for name in usual if name in lower), None)


def require(table: Table, column: str, role: str) -> str:
    """The column, or raise unless the table has it."""
    if column in table.types:
        return column
    close = difflib.get_close_matches(column, table.columns, 1)
    hint = f"Did you mean {close[0]!r}?" if close else f"It has {', '.join(table.columns)}."
    sentence = f"there is no column {column!r} for the {'ids' if role == 'id' else role}. {hint}"
    raise table.error(sentence, "unknown", what="column", name=column, setting=role)


def require_rows(table: Table, left: int) -> None:
    """Raise where rows were dropped and none is left: then the table is not what it was taken for."""
    if table.repairs and not left:
        sentence = f"{table.repairs[0]}, and no other row is there. Check the file and its columns."
        raise InputError(sentence, "too-few")


def unique_names(where: str, names: Sequence[str], **fields: Any) -> Sequence[str]:
    """The names of a table's columns, none of them twice."""
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        sentence = f"{where}: two columns are called {repeated!r}. Rename one of them."
        raise InputError(sentence, "duplicate", column=repeated, **fields)
    return names


def is_text(type_: str) -> bool:
    """Whether a type of DuckDB is text."""
    return type_ in ("VARCHAR", '"NULL"')


def is_list(type_: str) -> bool:
    """Whether a type of DuckDB is a list."""
    return type_.endswith("]")


def is_nested(type_: str) -> bool:
    """Whether a type of DuckDB is neither a number, nor text, nor a time."""
    return is_list(type_) or type_.startswith(("STRUCT", "MAP", "BLOB", "UNION", "JSON"))


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(value: str) -> str:
    """A value as SQL text."""
    return "'" + value.replace("'", "''") + "'"


def import_extra(module: str, extra: str, what: str) -> Any:
    """Import a package, or say which extra brings it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"{what} need {module}. Install kernode[{extra}].", extra=extra) from error


def open_bytes(path: Path) -> Any:
    """A file's bytes, decompressed."""
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path, "rb")
        case ".zst":
            return import_extra("zstandard", "zstd", ".zst files").open(path, "rb")
    return path.open("rb")


def start_of(path: Path) -> bytes:
    """The first bytes of a file, up to the end of a line."""
    with open_bytes(path) as file:
        start: bytes = file.read(START)
    return start if len(start) < START else start[: start.rfind(b"\n") + 1] or start
