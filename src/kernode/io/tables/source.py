"""Tables from files, databases and memory, as tables of one DuckDB connection."""

from __future__ import annotations

import csv
import json
import os
import re
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.machine import free_bytes, readable
from kernode.errors import FileError, InputError, KernodeError, bad_setting
from kernode.io.tables.table import (
    IDS,
    NUMBERS,
    Reading,
    Table,
    import_extra,
    open_bytes,
    quoted,
    sql_text,
    start_of,
    unique_names,
)
from kernode.io.tables.text_files import open_text
from kernode.progress import report_progress
from kernode.storage import damaged, first_line, missing

TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
PARQUET = (".parquet", ".pq")
JSON = (".json", ".jsonl", ".ndjson")
EXCEL = (".xlsx",)
SUFFIXES = (*TEXT, *PARQUET, *JSON, *EXCEL)
DATABASES = ("duckdb:", "sqlite:")
_PACKED = (".gz", ".zst")
_BROKEN = (zlib.error, csv.Error)


def too_large(what: str, need: int, free: int) -> FileError:
    """The error for tables that do not fit in memory."""
    memory = f"{what} need {readable(need)} of memory or more, and {readable(free)} are free"
    sentence = f"{memory}. Use a larger machine, or give fewer rows or columns."
    return FileError(sentence, "too-large", need=need, free=free)


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
            raise too_large("the tables", free, free) from error
        except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException):
            raise
        except duckdb.Error as error:  # of Parquet, which is read when it is asked for
            sentence = f"a table cannot be read ({first_line(error)}). Write or copy it again."
            raise FileError(sentence, "damaged-file") from error


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
        sentence = f"{path} is {kind}. Give a file whose name ends in one of {', '.join(SUFFIXES)}."
        raise InputError(sentence, "wrong-file", path=str(path))
    report_progress(f"reading {path.name}", 0, 1)
    try:
        str(path).encode()  # DuckDB takes a path as UTF-8
        if not path.exists():
            raise missing(path)
        if suffix in TEXT:
            return open_text(con, path, TEXT[suffix], reading)
        if suffix in PARQUET:
            return _from_parquet(con, path)
        if suffix in JSON:
            return _from_json(con, path)
        return _from_memory(con, _excel_file(path), path.name, reading)
    except (KernodeError, UnicodeEncodeError, duckdb.OutOfMemoryException):
        raise  # UnicodeEncodeError: a path that the locale cannot write
    except (duckdb.Error, ValueError, LookupError, OSError, EOFError, RecursionError, *_BROKEN) as error:
        raise damaged(path, f"cannot be read as a table ({first_line(error)})") from error
    finally:
        report_progress(f"reading {path.name}", 1, 1)


# Files that DuckDB reads as they are


def _from_parquet(con: Any, path: Path) -> Table:
    """Parquet stays in its file: DuckDB reads the columns that are asked for."""
    view, file = f"t{next(NUMBERS)}", f"read_parquet({sql_text(str(path))}, file_row_number = true)"
    types = {row[0]: row[1] for row in con.execute(f"DESCRIBE SELECT * FROM {file}").fetchall()[:-1]}
    listed = ", ".join(f"{quoted(name)} AS c{at}" for at, name in enumerate(types))
    con.execute(f"CREATE VIEW {view} AS SELECT {listed}, file_row_number AS r FROM {file}")
    return Table(con, path.name, view, types, row="r")


def _from_json(con: Any, path: Path) -> Table:
    """JSON Lines, an array of objects, an object of columns, or an object of lists by id."""
    start = start_of(path)
    if start.lstrip()[:1] == b"{" and not _is_lines(start):
        with open_bytes(path) as file:
            values = json.load(file)
        lists = isinstance(values, dict) and all(isinstance(value, list) for value in values.values())
        if not lists:
            raise damaged(path, "cannot be read as a table (neither rows, columns nor lists by id)")
        same = len({len(value) for value in values.values()}) == 1
        if not (same and any(name.lower() in IDS for name in values)):
            values = {"id": list(values), "tokens": [[str(one) for one in each] for each in values.values()]}
        return _from_memory(con, values, path.name, Reading())
    view = f"t{next(NUMBERS)}"
    read = "read_json($1, sample_size = -1, maximum_object_size = 268435456)"
    con.execute(f"CREATE TABLE {view} AS SELECT * FROM {read}", [str(path)])
    return _renamed(con, path.name, view)


def _is_lines(start: bytes) -> bool:
    """Whether a text's first line is a whole JSON object."""
    with suppress(ValueError):
        return isinstance(json.loads(start.split(b"\n", 1)[0]), dict) and b"\n" in start.strip()
    return False


def _renamed(con: Any, name: str, view: str) -> Table:
    """A table of DuckDB with columns c0, c1, …"""
    types = {row[0]: row[1] for row in con.execute(f"DESCRIBE {view}").fetchall()}
    for at, column in enumerate(types):
        con.execute(f"ALTER TABLE {view} RENAME {quoted(column)} TO c{at}")
    return Table(con, name, view, types)


def _from_database(con: Any, source: str, what: str) -> Table:
    """``duckdb:FILE?QUERY``, of DuckDB or SQLite, or ``sqlite:FILE?QUERY``; a query may be a table's name."""
    kind, _, rest = source.partition(":")
    name, _, query = rest.partition("?")
    path = Path(name)
    if not query:
        sentence = f"{source}: which table? Write {kind}:{name}?TABLE, or a query in its place."
        raise InputError(sentence, "missing", setting=what)
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
            columns = {each: [row[at] for row in rows] for at, each in enumerate(unique_names(what, names))}
            return _from_memory(con, columns, f"{path.name}:{what}", Reading())
        view = f"t{next(NUMBERS)}"
        con.execute(f"ATTACH {sql_text(str(path))} AS {view}_file (READ_ONLY)")
        con.execute(f"USE {view}_file")
        try:
            con.execute(f"CREATE TABLE memory.main.{view} AS {query}")
        finally:
            con.execute("USE memory.main")
            con.execute(f"DETACH {view}_file")
    except (sqlite3.Error, duckdb.Error) as error:
        sentence = f"{path.name}: the query for the {what} failed ({first_line(error)})."
        raise InputError(sentence, "setting", setting=what) from error
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
        view = f"t{next(NUMBERS)}"
        if not names and isinstance(scanned, dict):
            con.execute(f"CREATE TABLE {view} (none INTEGER)")
            return Table(con, what, view, {})
        con.register("scanned", scanned)
        con.execute(f"CREATE TABLE {view} AS SELECT * FROM scanned")
        con.unregister("scanned")
    except (InputError, duckdb.OutOfMemoryException):
        raise
    except (duckdb.Error, ValueError, TypeError, OverflowError) as error:
        sentence = f"{what}: the columns do not make a table ({first_line(error)})."
        raise InputError(sentence, "shape", setting=what) from error
    if not names:
        return _renamed(con, what, view)
    types = [row[1] for row in con.execute(f"DESCRIBE {view}").fetchall()]
    return Table(con, what, view, dict(zip(unique_names(what, names), types, strict=True))).noted(*notes)


class _Stream:
    """An object's Arrow stream and nothing else, which DuckDB scans without pyarrow."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        return self._source.__arrow_c_stream__(requested)


def _as_column(values: Any) -> np.ndarray:
    """A column as DuckDB scans it: numbers, or Python's objects."""
    if not isinstance(values, np.ndarray):
        values = list(values)
        if values and all(type(value) in (int, float, bool) for value in values):
            return np.asarray(values)
    elif values.ndim == 1:
        return values.astype(object) if values.dtype.kind in "USV" else values
    rows = np.empty(len(values), object)
    rows[:] = values.tolist() if isinstance(values, np.ndarray) else values
    return rows


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
    if named and set(named) <= set(present):
        levels = {one: index.get_level_values(one).astype(str) for one in named}
        if all(np.array_equal(level, frame[one].astype(str)) for one, level in levels.items()):
            return frame.reset_index(drop=True), ()
    if named:
        # Behind an edge's own columns: without usual names the first two are its ends.
        order = [*present, *named] if reading.of_edges and len(present) > 1 else [*named, *present]
        which = f"column{'s' * (len(named) > 1)} {', '.join(map(repr, named))}"
        return frame.reset_index()[order], (f"took the data frame's index as {which}",)
    counts = index.dtype.kind in "iu" and np.array_equal(np.sort(index.to_numpy()), np.arange(len(index)))
    if not has_ids and index.is_unique and not counts:
        fix = "Name it (frame.index.name = 'id') if it holds ids, or drop it (reset_index(drop=True))."
        sentence = f"{what}: the data frame's index has no name. {fix}"
        raise InputError(sentence, "ambiguous", setting="id")
    in_order = type(index).__name__ == "RangeIndex"
    note = "left out the data frame's index, which has no name"
    return frame.reset_index(drop=True), () if in_order else (note,)


def _excel_file(path: Path) -> dict[str, list[Any]]:
    """The first sheet of a workbook, whose first row has names."""
    openpyxl = import_extra("openpyxl", "excel", "Excel files")
    from zipfile import BadZipFile

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError) as error:
        raise ValueError(first_line(error)) from error
    cells = book.worksheets[0].iter_rows(values_only=True)
    header, *rows = [row for row in cells if any(cell is not None for cell in row)] or [()]
    book.close()
    names = [f"column {at + 1}" if name is None else str(name) for at, name in enumerate(header)]
    return {name: [row[at] for row in rows] for at, name in enumerate(unique_names(path.name, names))}
