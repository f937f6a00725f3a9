"""Tables from files, databases and memory, as tables of one DuckDB connection."""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import json
import os
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.machine import free_bytes, readable
from kernode.errors import FileError, InputError, KernodeError, MissingExtraError, bad_setting, warn
from kernode.io.tables.repairs import Repair
from kernode.progress import tell
from kernode.storage import damaged, first_line, missing

TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
JSON = (".json", ".jsonl", ".ndjson")
EXCEL = (".xlsx",)
SUFFIXES = (*TEXT, *PARQUET, *ARROW, *JSON, *EXCEL)
DATABASES = ("duckdb:", "sqlite:")
_PACKED = (".gz", ".zst")
IDS = ("id", "node", "node_id", "nodeid")  # usual names of a column of ids
BLANKS = " \t\r\n\v\f\u00a0\u2009\u202f\u3000"
_DELIMITERS = (",", "\t", ";", "|")  # a header is split by whichever it has most of
_SAYS_DELIMITER = re.compile('"?sep=(.)"?')  # the first line that spreadsheets write for one another
_NUMBERED = re.compile("column [0-9]+")  # of a table without names
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_START = 2**20  # bytes of a text file in which its layout is found
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_WINDOWS = "cp1252"  # what spreadsheets write in Western Europe and America
# What charset-normalizer chooses from elsewhere: in a short text it cannot tell Windows-1252 from 1250.
_CODE_PAGES = ["cp1250", "cp1251", "cp1253", "cp1254", "cp932", "gb18030", "big5", "cp949"]
_number = count()


@dataclass(frozen=True)
class Reading:
    """What a user says about how a table is to be read; None where it is as it looks."""

    encoding: str | None = None
    header: bool | None = None
    named: Collection[str] = field(default=())  # columns that the user, or a model, knows by name
    id: str | None = None  # of these, the column of ids
    of_edges: bool = False
    why: str = "it is to be data"  # where the first row is


@contextmanager
def database() -> Iterator[Any]:
    """Open a DuckDB connection that takes half of the free memory and then spills to a temporary folder."""
    import duckdb

    free = free_bytes()
    with tempfile.TemporaryDirectory(prefix="kernode-") as folder, ExitStack() as stack:
        settings: dict[str, Any] = {
            "memory_limit": f"{max(free // 2, 2**27)}B",
            "temp_directory": folder,
            "autoinstall_known_extensions": False,
            "TimeZone": "UTC",
        }
        try:
            con = stack.enter_context(duckdb.connect(config=settings))
            # All values of a Python column, not a sample.
            con.execute("SET pandas_analyze_sample = 2147483647")
            con.execute("SET enable_progress_bar = false")
            yield con
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise FileError(
                f"the tables unfold to more than the {readable(free)} of memory that were free. Use a larger "
                "machine, or give fewer rows or columns.",
                "too-large",
            ) from error


@dataclass(frozen=True)
class Table:
    """A table of a DuckDB connection: columns c0, c1, … by their names, and what was done to it."""

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
    hidden: frozenset[str] = (
        frozenset()
    )  # columns without a name, which play no role unless they are given one

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

    def replaced(self, expressions: str, types: Mapping[str, str]) -> Table:
        """The table with other columns."""
        view = f"t{next(_number)}"
        self.con.execute(f"CREATE TABLE {view} AS SELECT {expressions} FROM {self.view}")
        return replace(self, view=view, types=types)

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

    def numbers(self, rows: Any) -> np.ndarray:
        """Row numbers as a reader of the file counts them, for positions from 0."""
        rejected = np.asarray(self.rejected, np.int64)
        before = rejected - np.arange(len(rejected)) - self.first_row  # accepted rows before each of these
        rows = np.asarray(rows, np.int64)
        return rows + self.first_row + np.searchsorted(before, rows, side="right")

    def repaired(self, rows: Any, what: str, done: str = "dropped") -> Table:
        """The table with a repair of some rows, by position."""
        return replace(
            self, repairs=(*self.repairs, *Repair.of(self.name, what, done, self.numbers(rows).tolist()))
        )

    def noted(self, *notes: str) -> Table:
        """The table with more notes."""
        return replace(self, notes=(*self.notes, *notes))


def first(result: Any) -> Any:
    """The first row of a result, all of which is fetched: an unfinished one blocks the connection."""
    return next(iter(result.fetchall()), None)


def choose(table: Table, given: str | None, role: str, usual: Sequence[str]) -> str | None:
    """Return the column for a role: the given one, or one with a usual name, or None."""
    if given is not None:
        require(table, [given], role)
        return given
    lower = {name.lower(): name for name in reversed(table.columns)}
    return next((lower[name] for name in usual if name in lower), None)


def require(table: Table, columns: Sequence[str], role: str) -> None:
    """Raise unless a table has these columns."""
    for column in columns:
        if column not in table.types:
            close = difflib.get_close_matches(column, table.columns, 1)
            hint = f"Did you mean {close[0]!r}?" if close else f"It has {', '.join(table.columns)}."
            raise InputError(
                f"{table.name}: there is no column {column!r} for the {'ids' if role == 'id' else role}. "
                f"{hint}",
                "unknown",
                what="column",
                name=column,
                setting=role,
            )


def is_table(path: str | os.PathLike[str]) -> bool:
    """Return whether a path's name is that of a table, or names a database.

    >>> is_table("edges.TSV.gz"), is_table("graph.npz"), is_table("duckdb:a.db?edges=e")
    (True, False, True)
    """
    return os.fspath(path).startswith(DATABASES) or _suffix(Path(path)) in SUFFIXES


def is_text_file(source: Any) -> bool:
    """Return whether a table is a text file."""
    return isinstance(source, str | os.PathLike) and _suffix(Path(source)) in TEXT


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def open_table(con: Any, source: Any, what: str, reading: Reading) -> Table:
    """Open a table: a path, a database's table, a data frame, an Arrow table, or a mapping of columns.

    ``what``: nodes or edges, the name of a table in memory.
    """
    import duckdb

    if isinstance(source, str) and source.startswith(DATABASES):
        return _from_database(con, source, what)
    if not isinstance(source, str | os.PathLike):
        return _from_memory(con, source, what, reading)
    path = Path(source)
    suffix = _suffix(path)
    if suffix not in SUFFIXES or path.is_dir():
        kind = "a folder" if path.is_dir() else "not a table"
        raise InputError(
            f"{path} is {kind}. Give a file whose name ends in one of {', '.join(SUFFIXES)}.",
            "wrong-file",
            path=str(path),
        )
    tell(f"reading {path.name}", 0, 1)
    try:
        str(path).encode()  # DuckDB takes a path as UTF-8
        if not path.exists():
            raise missing(path)
        if suffix in TEXT:
            return _from_text(con, path, TEXT[suffix], reading)
        if suffix in PARQUET:
            return _from_parquet(con, path)
        if suffix in JSON:
            return _from_json(con, path)
        columns = _arrow_file(path) if suffix in ARROW else _excel_file(path)
        return _from_memory(con, columns, path.name, reading)
    except duckdb.OutOfMemoryException:
        raise
    except (KernodeError, UnicodeEncodeError):  # the latter: a path that the locale cannot write
        raise
    except (duckdb.Error, ValueError, LookupError, OSError, EOFError, RecursionError, zlib.error) as error:
        raise damaged(path, f"cannot be read as a table ({first_line(error)})") from error
    finally:
        tell(f"reading {path.name}", 1, 1)


# Files that DuckDB reads as they are


def _from_parquet(con: Any, path: Path) -> Table:
    """Parquet stays in its file: DuckDB reads the columns that are asked for."""
    view = f"t{next(_number)}"
    found = con.execute("DESCRIBE SELECT * FROM read_parquet($1)", [str(path)]).fetchall()
    names, types = [row[0] for row in found], [row[1] for row in found]
    listed = ", ".join(f"{quoted(name)} AS c{at}" for at, name in enumerate(names))
    con.execute(
        f"CREATE VIEW {view} AS SELECT {listed}, file_row_number AS r "
        f"FROM read_parquet({_text(str(path))}, file_row_number = true)"
    )
    return Table(con, path.name, view, _by_name(path.name, names, types), row="r")


def _from_json(con: Any, path: Path) -> Table:
    """JSON Lines, an array of objects, an object of columns, or an object of lists by id."""
    start = _start_of(path)
    if start.lstrip()[:1] == b"{" and not _is_lines(start):
        with _opened(path) as file:
            values = json.load(file)
        lists = isinstance(values, dict) and all(isinstance(value, list) for value in values.values())
        if not lists:
            raise damaged(path, "cannot be read as a table (neither rows, columns nor lists by id)")
        same = len({len(value) for value in values.values()}) == 1
        if not (same and any(name.lower() in IDS for name in values)):
            values = {"id": list(values), "tokens": [[str(one) for one in each] for each in values.values()]}
        return _from_memory(con, values, path.name, Reading())
    view = f"t{next(_number)}"
    con.execute(
        f"CREATE TABLE {view} AS SELECT * FROM read_json($1, sample_size = -1, maximum_object_size = "
        "268435456)",
        [str(path)],
    )
    return _renamed(con, path.name, view)


def _is_lines(start: bytes) -> bool:
    """Whether a text's first line is a whole JSON object."""
    try:
        return isinstance(json.loads(start.split(b"\n", 1)[0]), dict) and b"\n" in start.strip()
    except ValueError:
        return False


def _renamed(con: Any, name: str, view: str) -> Table:
    """A table of DuckDB with columns c0, c1, …"""
    found = con.execute(f"DESCRIBE {view}").fetchall()
    for at, row in enumerate(found):
        con.execute(f"ALTER TABLE {view} RENAME {quoted(row[0])} TO c{at}")
    return Table(con, name, view, _by_name(name, [row[0] for row in found], [row[1] for row in found]))


def _by_name(table: str, names: list[str], types: list[str]) -> dict[str, str]:
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        raise InputError(
            f"{table}: two columns are called {repeated!r}. Rename one of them.", "duplicate", column=repeated
        )
    return dict(zip(names, types, strict=True))


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    """A value as SQL text."""
    return "'" + value.replace("'", "''") + "'"


def _from_database(con: Any, source: str, what: str) -> Table:
    """``duckdb:FILE?QUERY``, of DuckDB or SQLite, or ``sqlite:FILE?QUERY``; a query may be a table's name."""
    kind, _, rest = source.partition(":")
    name, _, query = rest.partition("?")
    path = Path(name)
    if not query:
        raise InputError(
            f"{source}: which table? Write {kind}:{name}?TABLE, or a query in its place.",
            "missing",
            setting=what,
        )
    if not path.is_file():
        raise missing(path)
    with path.open("rb") as file:  # DuckDB reads SQLite's files by an extension that it would download
        kind = "sqlite" if file.read(15) == b"SQLite format 3" else kind
    query = query if re.search(r"\s", query.strip()) else f"SELECT * FROM {quoted(query.strip())}"
    import sqlite3

    import duckdb

    try:
        if kind == "sqlite":
            reader = sqlite3.connect(f"file:{path.resolve().as_posix()}?mode=ro", uri=True)
            with reader:
                found = reader.execute(query)
                rows, names = found.fetchall(), [column[0] for column in found.description]
            reader.close()
            columns = {each: [row[at] for row in rows] for at, each in enumerate(names)}
            return _from_memory(con, columns, f"{path.name}:{what}", Reading())
        view = f"t{next(_number)}"
        con.execute(f"ATTACH {_text(str(path))} AS {view}_file (READ_ONLY)")
        con.execute(f"USE {view}_file")
        try:
            con.execute(f"CREATE TABLE memory.main.{view} AS {query}")
        finally:
            con.execute("USE memory.main")
            con.execute(f"DETACH {view}_file")
    except (sqlite3.Error, duckdb.Error) as error:
        raise InputError(
            f"{path.name}: the query for the {what} failed ({first_line(error)}).", "setting", setting=what
        ) from error
    return _renamed(con, f"{path.name}:{what}", view)


# Tables in memory


def _from_memory(con: Any, source: Any, what: str, reading: Reading) -> Table:
    import duckdb

    notes: tuple[str, ...] = ()
    if hasattr(source, "collect") and hasattr(source, "lazy"):  # polars' LazyFrame
        source = source.collect()
    try:
        if type(source).__module__.startswith("pandas") and hasattr(source, "columns"):
            source, notes = _with_index(source, what, reading)
            names = [str(name) for name in source.columns]
            # A copy: DuckDB does not scan columns that are views in reverse.
            scanned: Any = source.set_axis([f"c{at}" for at in range(len(names))], axis=1).copy()
        elif isinstance(source, Mapping):
            names = [str(name) for name in source]
            scanned = {f"c{at}": _as_column(values) for at, values in enumerate(source.values())}
            if len({len(values) for values in scanned.values()}) > 1:
                raise ValueError("columns have different lengths")
        elif hasattr(source, "__arrow_c_stream__"):  # polars, pyarrow, DuckDB's relations, …
            names, scanned = [], _Stream(source)
        else:
            kind = type(source).__name__
            raise bad_setting(what, "a file's path, a table, a data frame or a dictionary of columns", kind)
        view = f"t{next(_number)}"
        if not names and isinstance(scanned, dict):
            con.execute(f"CREATE TABLE {view} (none INTEGER)")
            return Table(con, what, view, {})
        con.register("scanned", scanned)
        con.execute(f"CREATE TABLE {view} AS SELECT * FROM scanned")
        con.unregister("scanned")
    except InputError:
        raise
    except duckdb.OutOfMemoryException:
        raise
    except (duckdb.Error, ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"{what}: the columns do not make a table ({first_line(error)}).", "shape", setting=what
        ) from error
    if not names:
        return replace(_renamed(con, what, view), notes=notes)
    types = [row[1] for row in con.execute(f"DESCRIBE {view}").fetchall()]
    return Table(con, what, view, _by_name(what, names, types), notes=notes)


class _Stream:
    """An object's Arrow stream and nothing else, which DuckDB scans without pyarrow."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        return self._source.__arrow_c_stream__(requested)


def _as_column(values: Any) -> np.ndarray:
    """A column as DuckDB scans it: numbers, or Python's objects."""
    array = values if isinstance(values, np.ndarray) else None
    if array is None:
        values = list(values)
        plain = all(type(value) in (int, float, bool) for value in values)
        if plain and values:
            array = np.asarray(values)
        else:
            array = np.empty(len(values), object)
            array[:] = values
    if array.ndim == 2:
        rows = np.empty(len(array), object)
        rows[:] = array.tolist()
        return rows
    return array.astype(object) if array.dtype.kind in "USV" else array


def _with_index(frame: Any, what: str, reading: Reading) -> tuple[Any, tuple[str, ...]]:
    """A data frame (pandas) with its index as columns where that holds something, and notes.

    Levels with a name are columns. An index without one is left out, unless it is text and no column has a
    usual name of ids, or the user names a column called index.
    """
    index, present = frame.index, [str(name) for name in frame.columns]
    has_ids = reading.of_edges or any(name.lower() in IDS or name == reading.id for name in present)
    is_text = not has_ids and len(index) > 0 and all(isinstance(key, str) for key in index)
    named = [str(name) for name in index.names if name is not None]
    if not named and "index" not in present and ("index" in reading.named or is_text):
        named = ["index"]
    repeated = [name for name in named if name in present]
    if repeated and all(
        np.array_equal(index.get_level_values(name).astype(str), frame[name].astype(str)) for name in named
    ):
        return frame.reset_index(drop=True), ()
    if named:
        whole = frame.reset_index()
        # Behind an edge's own columns: without usual names the first two are its ends.
        order = [*present, *named] if reading.of_edges and len(present) > 1 else [*named, *present]
        plural = "s" * (len(named) > 1)
        return whole[order], (
            f"{what}: took the data frame's index as column{plural} {', '.join(map(repr, named))}",
        )
    counts = index.dtype.kind in "iu" and np.array_equal(np.sort(index.to_numpy()), np.arange(len(index)))
    if not has_ids and index.is_unique and not counts:
        raise InputError(
            f"{what}: the data frame's index has no name. Name it (frame.index.name = 'id') if it holds ids, "
            "or drop "
            "it (frame.reset_index(drop=True)).", "ambiguous", setting="id",
        )  # fmt: skip
    in_order = type(index).__name__ == "RangeIndex"
    return frame.reset_index(drop=True), () if in_order else (left_out(what, "the data frame's index"),)


def left_out(table: str, what: str) -> str:
    """The note on a column that is left out for want of a name."""
    return f"{table}: left out {what}, which has no name"


def _arrow_file(path: Path) -> Any:
    pa = _extra("pyarrow", "arrow", "Arrow files")
    from pyarrow import ipc

    with pa.memory_map(str(path)) as source:
        try:
            columns = ipc.open_file(source).read_all()
        except pa.ArrowInvalid:  # the same table as a stream
            source.seek(0)
            columns = ipc.open_stream(source).read_all()
        # Columns of nulls are stored in no byte.
        need, free = columns.num_rows * columns.num_columns, free_bytes()
        if need > free:
            sentence = f"{path.name} needs {readable(need)} of memory or more, and {readable(free)} are free."
            raise FileError(sentence, "too-large", need=need, free=free)
        columns.validate(full=True)  # else functions follow offsets out of the memory
        return columns


def _excel_file(path: Path) -> dict[str, list[Any]]:
    """The first sheet of a workbook, whose first row has names."""
    openpyxl = _extra("openpyxl", "excel", "Excel files")
    from zipfile import BadZipFile

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError) as error:
        raise ValueError(first_line(error)) from error
    rows = [
        row for row in book.worksheets[0].iter_rows(values_only=True) if any(cell is not None for cell in row)
    ]
    book.close()
    names = (
        [str(name) if name is not None else f"column {at + 1}" for at, name in enumerate(rows[0])]
        if rows
        else []
    )
    return {name: [row[at] for row in rows[1:]] for at, name in enumerate(names)}


def _extra(module: str, extra: str, what: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"{what} need {module}. Install kernode[{extra}].", extra=extra) from error


# Text files


@dataclass(frozen=True)
class _Layout:
    """How a text file is laid out, by its first lines.

    DuckDB's sniffer is not used: it takes a first edge for names, and quotes for text where its sample has
    none.
    """

    before: int  # lines before the header: those that begin with #, and a spreadsheet's sep=
    delimiter: str
    names: tuple[str, ...]
    headless: bool  # then the first line is data, and columns are numbered
    nameless: tuple[str, ...]  # of the names, those that stand for none: the index that pandas writes
    notes: tuple[str, ...]
    guessed: bool  # the header was not named by the user

    @classmethod
    def of(cls, name: str, start: str, usual: str, reading: Reading) -> _Layout:
        """Look at the start of a file; the usual delimiter is that of its extension."""
        lines = start.split("\n")
        says = _SAYS_DELIMITER.fullmatch(lines[0].strip())
        before = 1 if says else 0
        while before < len(lines) and lines[before][:1] == "#":
            before += 1
        first, second = ([*lines[before:], "", ""])[:2]
        delimiter = says[1] if says else max(_DELIMITERS, key=lambda mark: (first.count(mark), mark == usual))
        if not first.count(delimiter) and " " in first.strip() and not says:
            delimiter = " "
        cells, below = (_cells(line, delimiter) for line in (first, second))
        where = f"{name}, row {before + 1}"
        if not any(cells):
            raise InputError(f"{where}: there is no header. Name the columns in the first row.", "missing")
        headless, why = _is_headless(where, cells, below, reading, described=before > bool(says))
        notes: tuple[str, ...] = ()
        if headless:
            notes = (
                f"{name}: row {before + 1} is data, for {why}; columns are called column 1, column 2, …",
            )
        elif why:
            notes = (f"{name}: row {before + 1} holds names, for {why}",)
        given = ["" if headless else cell for cell in cells]
        unnamed = [not cell or cell.startswith("Unnamed: ") for cell in given]
        names = [f"column {at + 1}" if unnamed[at] else cell for at, cell in enumerate(given)]
        repeated = next((one for one, times in Counter(names).items() if times > 1), None)
        if repeated is not None:
            raise InputError(
                f"{where}: two columns are called {repeated!r}. Rename one, or say that the row is data.",
                "duplicate",
                setting="header",
            )
        nameless = () if headless else tuple(one for one, lacks in zip(names, unnamed, strict=True) if lacks)
        said = reading.header is not None or set(reading.named) & set(cells)
        guessed = not (headless or said or nameless)
        return cls(before, delimiter, tuple(names), headless, nameless, notes, guessed)


def _cells(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line.strip("\r")], delimiter=delimiter), [])]


def _are_numbers(cells: list[str]) -> bool:
    """Whether cells are numbers or empty throughout, and at least one of them is a number."""
    written = [cell for cell in cells if cell]
    return bool(written) and all(_NUMBER.fullmatch(cell) for cell in written)


def _is_headless(
    where: str, cells: list[str], below: list[str], reading: Reading, *, described: bool
) -> tuple[bool, str]:
    """Whether the first row is data, and why; ``described``: comments above it, as SNAP writes them."""
    named = set(reading.named)
    if known := [cell for cell in cells if cell in named]:
        return False, f"it has {known[0]!r}, though it was to be data" if reading.header is False else ""
    if reading.header is not None:
        return not reading.header, reading.why
    numbered = [one for one in sorted(filter(_NUMBERED.fullmatch, named)) if not _is_nameless(one, cells)]
    if numbered:
        return True, f"a column is to be called {numbered[0]!r}"
    if not _are_numbers(cells) or named:
        return False, ""  # a missing column is refused later
    if not cells[0] and below and below[0]:
        return False, ""  # pandas leaves the name of its index empty
    written = [cell for cell in cells if cell]
    if reading.of_edges and written == ["0", "1"]:
        return True, "it is an edge (a header, if 0 and 1 are names)"
    if written == [str(at) for at in range(len(written))] and not described:
        raise InputError(
            f"{where}: {', '.join(written)} may be names of columns or data. Is the row a header?",
            "ambiguous",
            setting="header",
        )
    if below and not _are_numbers(below):
        raise InputError(
            f"{where}: numbers over a row that has others may be names of columns or data. "
            "Say whether the row is a header.",
            "ambiguous",
            setting="header",
        )
    return True, "it holds nothing but numbers"


def _is_nameless(numbered: str, cells: list[str]) -> bool:
    """Whether a column is called by number because its cell is empty among names."""
    at = int(numbered.removeprefix("column ")) - 1
    return at < len(cells) and not cells[at] and not _are_numbers(cells)


def _from_text(con: Any, path: Path, usual: str, reading: Reading) -> Table:
    """Every column as text: what it holds is decided when all of it has been seen."""
    start = _start_of(path)
    encoding = next((name for mark, name in _MARKS.items() if start.startswith(mark)), reading.encoding)
    if encoding is None and b"\0" in start:
        raise InputError(
            f"{path.name} has NUL bytes: it is not text, or text in UTF-16 without a mark. "
            "Save it as CSV in UTF-8, or name the encoding utf-16-le.",
            "ambiguous",
            setting="encoding",
        )
    if encoding is None or codecs.lookup(encoding).name == "utf-8":
        with suppress(UnicodeDecodeError):
            table, broken = _parsed(con, path, path, start.decode(), usual, reading)
            if not broken:
                return table
        if encoding is not None:
            raise _not_in(path, encoding)
        note = _require_western(path)
        return _decoded(con, path, _WINDOWS, usual, reading).noted(note)
    return _decoded(con, path, encoding, usual, reading)


def _parsed(con: Any, path: Path, file: Path, start: str, usual: str, reading: Reading) -> tuple[Table, bool]:
    """The table in a file of UTF-8, and whether some of its bytes are not."""
    layout = _Layout.of(path.name, start.removeprefix("\ufeff"), usual, reading)
    view, names = f"t{next(_number)}", list(layout.names)
    columns = "{" + ", ".join(f"'c{at}': 'VARCHAR'" for at in range(len(names))) + "}"
    before = layout.before + (not layout.headless)
    con.execute(
        f"CREATE TABLE {view} AS SELECT * FROM read_csv({_text(str(file))}, auto_detect = false, "
        f"delim = {_text(layout.delimiter)}, quote = '\"', escape = '\"', header = false, skip = {before}, "
        f"columns = {columns}, max_line_size = 16777216, store_rejects = true, rejects_limit = 0, "
        f"rejects_table = '{view}_rejects', rejects_scan = '{view}_scan')"
    )
    rejects = con.execute(
        f"SELECT line, any_value(error_type), any_value(csv_line) FROM {view}_rejects GROUP BY line ORDER BY "
        "line"
    ).fetchall()
    if any(kind == "INVALID ENCODING" for _, kind, _ in rejects):
        return Table(con, path.name, view, {}), True
    for line, kind, content in rejects:
        if kind in ("UNQUOTED VALUE", "LINE SIZE OVER MAXIMUM"):
            lines = content.strip().count("\n") + 1
            what = f"makes one row of {lines:,} lines" if lines > 1 else "stands within a value"
            sentence = f"{path.name}, row {line}: a quotation mark {what}. Close it, double it or remove it."
            raise InputError(sentence, "damaged-file", path=str(path))
    ((rows,),) = con.execute(f"SELECT count(*) FROM {view}").fetchall()
    is_regular = not rejects and _count_lines(file) == rows + before
    skipped, dropped = ((), ()) if is_regular else _other_rows(file, layout, before, len(names))
    repairs = Repair.of(path.name, f"did not have {len(names)} values", "dropped", dropped)
    nameless = [name for name in layout.nameless if name not in reading.named]
    has_ids = reading.of_edges or any(name.lower() in IDS or name == reading.id for name in names)
    if nameless and nameless[0] == names[0] and not has_ids:
        numbers = f"SELECT coalesce(bool_and(TRY_CAST(c0 AS DOUBLE) IS NOT NULL), true) FROM {view}"
        nameless = nameless if first(con.execute(numbers))[0] else nameless[1:]  # text there are ids
    table = Table(
        con, path.name, view, dict.fromkeys(names, "VARCHAR"),
        first_row=before + 1, rejected=skipped, repairs=repairs,
        notes=(*layout.notes, *(left_out(path.name, name) for name in nameless)), delimiter=layout.delimiter,
        names_by_looks=layout.before + 1 if layout.guessed else None,
        hidden=frozenset(nameless),
    )  # fmt: skip
    require_rows(table, rows)
    if not is_regular:
        _warn_of_swallowed_rows(table, layout.delimiter)
    return table, False


def _warn_of_swallowed_rows(table: Table, delimiter: str) -> None:
    """Warn of a cell with as many delimiters as the lines in it would have: two stray marks took rows."""
    count = lambda cell, mark: f"(length({cell}) - length(replace({cell}, {mark}, '')))"  # noqa: E731
    cells, width = [table.sql(name) for name in table.types], len(table.types)
    breaks = [count(cell, "chr(10)") for cell in cells]
    looks = " OR ".join(
        f"({lines} > 0 AND {count(cell, _text(delimiter))} = {width - 1} * {lines} AND "
        f"{count(f'string_split({cell}, chr(10))[1]', _text(delimiter))} = {width - 1 - at})"
        for at, (cell, lines) in enumerate(zip(cells, breaks, strict=True))
    )
    found = table.one(f"{table.row}, greatest({', '.join(breaks)})", f"WHERE {looks} LIMIT 1")
    if found is not None and width > 1:
        warn(
            f"{table.name}, row {table.numbers([found[0]])[0]}: a quotation mark makes one row of "
            f"{found[1] + 1:,} "
            "lines. Remove the mark or close it: these rows are not read."
        )


def _count_lines(file: Path) -> int:
    """Number of lines, also empty ones, which DuckDB skips and people count."""
    lines, last = 0, b"\n"
    with _opened(file) as opened:
        while block := opened.read(_START):
            lines, last = lines + block.count(b"\n"), block
    return lines + (not last.endswith(b"\n"))


def _other_rows(
    file: Path, layout: _Layout, skip: int, width: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of the rows that DuckDB did not take, and of those that are not empty."""
    with _opened(file) as opened:
        lines = io.TextIOWrapper(opened, "utf-8-sig", "replace", newline="")
        for _ in range(skip):
            lines.readline()
        rows = list(enumerate(csv.reader(lines, delimiter=layout.delimiter), skip + 1))
    other = [(number, cells) for number, cells in rows if len(cells) != width]
    empty = [number for number, cells in other if not any(cell.strip() for cell in cells)]
    return tuple(number for number, _ in other), tuple(
        number for number, _ in other if number not in {*empty}
    )


def require_rows(table: Table, left: int) -> None:
    """Raise where rows were dropped and none is left: then the table is not what it was taken for."""
    if table.repairs and not left:
        raise InputError(
            f"{table.repairs[0]}, and no other row is there. Check the file and its columns.", "too-few"
        )


def _decoded(con: Any, path: Path, encoding: str, usual: str, reading: Reading) -> Table:
    """The table of a text file in another encoding, by way of a temporary file in UTF-8."""
    with tempfile.TemporaryDirectory(prefix="kernode-") as folder:
        plain = Path(folder) / "table.txt"
        try:
            with _opened(path) as file, plain.open("w", encoding="utf-8", newline="") as written:
                reader = codecs.getreader(encoding)(file)
                while block := reader.read(_START):
                    written.write(block.removeprefix("\ufeff") if not written.tell() else block)
        except UnicodeError:
            raise _not_in(path, encoding) from None
        with plain.open(encoding="utf-8", newline="") as file:
            start = file.read(_START)
        return _parsed(con, path, plain, start, usual, reading)[0]


def _not_in(path: Path, encoding: str) -> InputError:
    sentence = f"{path.name} is not {encoding}. Name its encoding, such as cp1250, or save it in UTF-8."
    return InputError(sentence, "setting", setting="encoding")


def _require_western(path: Path) -> str:
    """Return a note on a text that is not UTF-8 and may be Windows-1252, as spreadsheets save; else raise."""
    from charset_normalizer import from_bytes

    with _opened(path) as file:
        raw = b"".join(line for line in file.read(2**24).splitlines(keepends=True) if not line.isascii())
    marked = raw.decode(errors="replace")
    broken = marked.count("\ufffd")
    if sum(not character.isascii() for character in marked) - broken > broken:
        raise InputError(
            f"{path.name}: some bytes are not UTF-8, which the rest of the file is. Save it again in UTF-8, "
            "or name its encoding.", "ambiguous", setting="encoding",
        )  # fmt: skip
    western = raw.decode(_WINDOWS, "replace")
    letters = [character for character in western if character.isalpha()]
    # Most letters of Western languages are ASCII.
    if "\ufffd" not in western and 2 * sum(not one.isascii() for one in letters) <= len(letters):
        word = next((one for one in re.findall(r"\w+", western) if not one.isascii()), "")
        return f"{path.name}: is not UTF-8, read as Windows-1252 ({word}); name its encoding if that is wrong"
    best = from_bytes(raw, cp_isolation=_CODE_PAGES).best()
    word = (
        "" if best is None else next((one for one in re.findall(r"\w+", str(best)) if not one.isascii()), "")
    )
    looks = "" if best is None else f"; it may be {best.encoding} ({word})"
    raise InputError(
        f"{path.name} is neither UTF-8 nor Windows-1252{looks}. Name its encoding, or save it in UTF-8.",
        "ambiguous", setting="encoding",
    )  # fmt: skip


def require_encoding(name: Any) -> None:
    """Raise unless Python knows an encoding of texts by this name."""
    try:
        b"id".decode(name)
    except UnicodeDecodeError:
        return  # it knows the encoding, in which two bytes are not text
    except (LookupError, TypeError, ValueError):
        known = "an encoding that Python knows, such as utf-8, cp1252 or shift_jis"
        raise bad_setting("encoding", known, name) from None


def _opened(path: Path) -> Any:
    """A file's bytes, decompressed."""
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path, "rb")
        case ".zst":
            return _extra("zstandard", "zstd", ".zst files").open(path, "rb")
    return path.open("rb")


def _start_of(path: Path) -> bytes:
    """The first bytes of a file, up to the end of a line."""
    with _opened(path) as file:
        start: bytes = file.read(_START)
    return start if len(start) < _START else start[: start.rfind(b"\n") + 1] or start
