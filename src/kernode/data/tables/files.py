"""Tables from files (CSV, TSV, Parquet, Arrow) and from memory: columns as they stand, bad rows named."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernode.data.tables.columns.values import numbers
from kernode.data.tables.repairs import Repair
from kernode.errors import FileError, InputError
from kernode.progress import tell

TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
BINARY = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
SUFFIXES = (*TEXT, *BINARY)
_PACKED = (".gz", ".bz2", ".zst", ".lz4")
_DELIMITERS = (",", "\t", ";", "|")  # a header is split by whichever of these it has most of


@dataclass(frozen=True)
class Table:
    """A table with a name for sentences, the number of each of its rows, and what was done to it so far."""

    name: str
    columns: Any  # a pyarrow table
    rows: np.ndarray  # the number of every row, as its owner counts
    repairs: tuple[Repair, ...] = ()
    written: bool = False  # as text, with a header in row 1
    notes: tuple[str, ...] = ()  # what was done to columns

    def __getitem__(self, column: str) -> Any:
        return self.columns[column]

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    @property
    def header(self) -> str:
        """Where the names of its columns stand."""
        return f"{self.name}, row 1" if self.written else self.name

    @property
    def column_names(self) -> list[str]:
        """In the table's order."""
        return list(self.columns.column_names)

    def without(self, bad: np.ndarray, what: str) -> Table:
        """The same table without some rows (booleans), which are named."""
        if not bad.any():
            return self
        dropped = Repair.of(self.name, what, "dropped", self.rows[bad])
        kept = np.flatnonzero(~bad)
        return replace(
            self,
            columns=self.columns.take(kept),
            rows=self.rows[kept],
            repairs=(*self.repairs, *dropped),
        )


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a path's name is that of a table.

    >>> is_table("edges.csv"), is_table("edges.TSV.gz"), is_table("graph.npz")
    (True, True, False)
    """
    return _suffix(Path(path)) in SUFFIXES


def read(source: Any, what: str) -> Table:
    """Read a table: a path, a pyarrow table, a pandas data frame, or a mapping of columns.

    ``what`` is the name of a table that is no file.
    """
    import pyarrow as pa

    if isinstance(source, Table):
        return source
    if isinstance(source, str | os.PathLike):
        return _read_file(Path(source))
    try:
        if isinstance(source, pa.Table):
            columns = source
        elif isinstance(source, Mapping):
            columns = pa.table({str(name): pa.array(values) for name, values in source.items()})
        elif type(source).__module__.startswith("pandas") and hasattr(source, "columns"):
            columns = pa.Table.from_pandas(_with_index(source, what), preserve_index=False)
        elif hasattr(source, "__arrow_c_stream__"):  # polars, DuckDB, a stream of record batches, …
            columns = pa.table(source)
        else:
            raise InputError(
                f"{what} must be a file's path, a pyarrow table, a data frame or a dictionary of columns. "
                f"Got {type(source).__name__}."
            )
    except InputError:
        raise
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{what}: the columns do not make a table ({_first_line(error)}).") from error
    return Table(what, _checked(columns, what), np.arange(columns.num_rows))


def _with_index(frame: Any, what: str) -> Any:
    """A data frame whose index, where it has a name, is a column."""
    if any(name is not None for name in frame.index.names):
        return frame.reset_index()
    if type(frame.index).__name__ != "RangeIndex":
        raise InputError(
            f"{what}: the data frame's index has no name. Name it (frame.index.name = 'id') if it holds ids, "
            "or drop it (frame.reset_index(drop=True))."
        )
    return frame


def _read_file(path: Path) -> Table:
    import pyarrow as pa

    suffix = _suffix(path)
    if suffix not in SUFFIXES:
        raise InputError(f"{path} is no table. Its name must end in one of {', '.join(SUFFIXES)}.")
    if path.is_dir():
        raise FileError(f"{path} is a folder. Give the file in it.")
    tell(f"reading {path.name}", 0, 1)
    try:
        if suffix in TEXT:
            return _read_text(path, TEXT[suffix])
        columns = _read_binary(path, suffix)
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist. Check the path.") from error
    except pa.ArrowInvalid as error:
        raise FileError(
            f"{path} cannot be read as a table ({_first_line(error)}). Write it again."
        ) from error
    except OSError as error:
        raise FileError(f"{path} cannot be read ({_first_line(error)}). Check the file.") from error
    finally:
        tell(f"reading {path.name}", 1, 1)
    return Table(path.name, _checked(columns, path.name), np.arange(columns.num_rows))


def _read_binary(path: Path, suffix: str) -> Any:
    if suffix in (".parquet", ".pq"):
        from pyarrow import parquet

        return parquet.read_table(path)
    import pyarrow as pa
    from pyarrow import ipc

    with pa.memory_map(str(path)) as source:
        try:
            return ipc.open_file(source).read_all()
        except pa.ArrowInvalid:  # the same table as a stream
            source.seek(0)
            return ipc.open_stream(source).read_all()


@dataclass(frozen=True)
class _Layout:
    """How a text file is laid out, by its first lines."""

    comments: int  # lines that begin with # before all else
    delimiter: str
    names: tuple[str, ...]
    headless: bool  # then the first line is data, and columns are numbered
    nameless: tuple[str, ...]  # of the names, those that stand for none: the index that pandas writes

    @property
    def first_row(self) -> int:
        """The number of the first row of data."""
        return self.comments + (1 if self.headless else 2)

    @classmethod
    def of(cls, path: Path, usual: str) -> _Layout:
        """Look at a file; the usual delimiter is that of its extension."""
        comments, first, second = _first_lines(path)
        delimiter = max(_DELIMITERS, key=lambda mark: (first.count(mark), mark == usual))
        if not first.count(delimiter) and " " in first.strip():
            delimiter = " "
        cells, below = _cells(first, delimiter), _cells(second, delimiter)
        if not any(cell.strip() for cell in cells):
            raise InputError(f"{path.name}, row 1: there is no header. Name the columns in the first row.")
        headless = _is_data(cells) and (not below or _is_data(below))
        given = ["" if headless else cell.strip() for cell in cells]
        missing = [not name or name.startswith("Unnamed: ") for name in given]
        names = [f"column {at + 1}" if lacks else given[at] for at, lacks in enumerate(missing)]
        repeated = next((name for at, name in enumerate(names) if name in names[:at]), None)
        if repeated is not None:
            raise InputError(f"{path.name}, row 1: two columns are called {repeated!r}. Rename one of them.")
        nameless = [] if headless else [names[at] for at, lacks in enumerate(missing) if lacks]
        return cls(comments, delimiter, tuple(names), headless, tuple(nameless))


def _read_text(path: Path, usual: str) -> Table:
    """Every column as text: what it is, is decided when all of it has been seen."""
    layout = _Layout.of(path, usual)
    columns, dropped = _parsed(path, layout)
    rows = np.arange(columns.num_rows + len(dropped)) + layout.first_row
    rows = np.delete(rows, dropped - layout.first_row)
    repairs = Repair.of(path.name, f"did not have {len(layout.names)} values", "dropped", dropped)
    notes = tuple(f"{path.name}: left out {name}, which has no name" for name in layout.nameless)
    columns = columns.drop_columns(list(layout.nameless))
    return _decoded(_without_empty(Table(path.name, columns, rows, repairs, written=True, notes=notes)))


def _parsed(path: Path, layout: _Layout) -> tuple[Any, np.ndarray]:
    """Columns of bytes, and the numbers of rows that have too few or too many values."""
    import pyarrow as pa
    from pyarrow import csv

    bad: list[int | None] = []

    def skip(row: Any) -> str:
        bad.append(row.number)
        return "skip"

    def read_csv(*, in_parallel: bool) -> Any:
        bad.clear()
        return csv.read_csv(
            path,
            read_options=csv.ReadOptions(
                column_names=layout.names, skip_rows=layout.first_row - 1, use_threads=in_parallel
            ),
            parse_options=csv.ParseOptions(
                delimiter=layout.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=skip,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(layout.names, pa.binary()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    try:
        columns = read_csv(in_parallel=True)
        if bad:  # only one thread knows the rows' numbers
            columns = read_csv(in_parallel=False)
    except pa.ArrowInvalid as error:
        if "Empty CSV" not in str(error) and "Could not skip" not in str(error):
            raise
        columns = pa.table({name: pa.array([], pa.binary()) for name in layout.names})
    return columns, np.array(bad, np.int64)


def _decoded(table: Table) -> Table:
    """Bytes as text; what is not UTF-8 gets a mark in its place, and its row is named."""
    import pyarrow as pa

    columns, broken = {}, np.zeros(len(table), bool)
    for name in table.column_names:
        values = table[name]
        try:
            columns[name] = values.cast(pa.large_string())
        except pa.ArrowInvalid:
            raw = values.to_pylist()
            text = [None if cell is None else cell.decode(errors="replace") for cell in raw]
            broken |= [cell is not None and "\ufffd" in cell for cell in text]
            columns[name] = pa.chunked_array([pa.array(text, pa.large_string())])
    repaired = Repair.of(table.name, "had some outside UTF-8", "replaced bytes in", table.rows[broken])
    return replace(table, columns=pa.table(columns), repairs=(*table.repairs, *repaired))


def _without_empty(table: Table) -> Table:
    """Without rows that hold nothing at all: empty lines."""
    columns = table.columns.columns
    if any(column.null_count == 0 for column in columns):
        return table
    empty = np.logical_and.reduce([column.is_null().to_numpy() for column in columns])
    kept = np.flatnonzero(~empty)
    return replace(table, columns=table.columns.take(kept), rows=table.rows[kept])


def _first_lines(path: Path) -> tuple[int, str, str]:
    """How many lines of comment (#) a text file begins with, and the two lines after them."""
    import pyarrow as pa

    with pa.input_stream(str(path)) as stream:
        start = stream.read(2**16)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start:
        raise FileError(f"{path} is not a text file in UTF-8. Save it as CSV in UTF-8.")
    text = start.decode(errors="replace").removeprefix("\ufeff")
    lines = io.StringIO(text, newline=None).read().split("\n")
    comments = next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
    first, second, *_ = [*lines[comments:], "", ""]
    return comments, first, second


def _cells(line: str, delimiter: str) -> list[str]:
    """The values of a line; none of an empty one."""
    import csv

    return next(csv.reader([line], delimiter=delimiter), [])


def _is_data(cells: list[str]) -> bool:
    """Whether a first row is numbers throughout, and so no header."""
    import pyarrow as pa

    return bool(cells) and not np.isnan(numbers(pa.array(cells, pa.large_string()))[0]).any()


def _checked(columns: Any, name: str) -> Any:
    names = columns.column_names
    if len(set(names)) < len(names):
        repeated = next(column for at, column in enumerate(names) if column in names[:at])
        raise InputError(f"{name}: two columns are called {repeated!r}. Rename one of them.")
    import pyarrow as pa

    for at, field in enumerate(columns.schema):
        if pa.types.is_string_view(field.type):  # few functions know it
            columns = columns.set_column(at, field.name, columns.column(at).cast(pa.large_string()))
    return columns


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
