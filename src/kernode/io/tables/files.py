"""Tables from files (CSV, TSV, Parquet, Arrow) and from memory: columns as they stand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.machine import free_bytes
from kernode.errors import InputError, KernodeError, bad_setting
from kernode.io.tables.arrow import pa
from kernode.io.tables.columns import Encoding
from kernode.io.tables.table import Table, left_out_note
from kernode.io.tables.text_files import AS_IT_LOOKS, Reading, read_text, require_encoding, require_room
from kernode.progress import tell
from kernode.storage import damaged, first_line, missing

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
_ROWS = 2**16  # of Parquet that are unfolded at a time
_ROW = 8  # bytes that a row takes at least: its number


def read_binary(path: Path, suffix: str) -> Any:
    """The columns of a file (pyarrow); lengths and text are compared with its bytes."""
    columns = _read_parquet(path) if suffix in PARQUET else _read_arrow(path)
    require_room(path, _ROW * columns.num_rows, free_bytes())
    columns.validate(full=True)  # else functions follow offsets out of the memory, and text may be none
    return columns


def _read_arrow(path: Path) -> Any:
    from pyarrow import ipc

    with pa.memory_map(str(path)) as source:
        try:
            return ipc.open_file(source).read_all()
        except pa.ArrowInvalid:  # the same table as a stream
            source.seek(0)
            return ipc.open_stream(source).read_all()


def _read_parquet(path: Path) -> Any:
    """A few bytes of Parquet can stand for any number of equal values: counted while they unfold."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        about, free, taken, batches = file.metadata, free_bytes(), 0, []
        groups = range(about.num_row_groups)
        stated = sum(about.row_group(group).total_byte_size for group in groups)
        require_room(path, max(_ROW * about.num_rows, stated), free)
        few = about.num_rows > path.stat().st_size  # a byte of the file stands for more than a row
        for batch in file.iter_batches(2**10 if few else _ROWS):
            taken += batch.nbytes
            require_room(path, taken, free)
            batches.append(batch)
        return pa.Table.from_batches(batches, file.schema_arrow)


def with_index(frame: Any, what: str, reading: Reading) -> tuple[Any, tuple[str, ...]]:
    """A data frame (pandas) with its index as columns where that holds something, and notes.

    Levels with a name are columns. An index without one is left out, unless it is text and no column has a
    usual name of ids, or the user names a column called index.
    """
    index, plain = frame.index, frame.reset_index(drop=True)
    present = [str(name) for name in frame.columns]
    levels = {str(name): level for level, name in enumerate(index.names) if name is not None}
    has_ids = what == "edges" or any(name.lower() in IDS or name == reading.id for name in present)
    is_text = not has_ids and index.nlevels == 1 and all(isinstance(key, str) for key in index)
    if not levels and "index" not in present and ("index" in reading.named or (is_text and len(index))):
        levels = {"index": 0}
    if not levels:
        if not has_ids and index.is_unique and not _counts_rows(index):
            raise InputError(
                f"{what}: the data frame's index has no name. Name it (frame.index.name = 'id') if it holds "
                "ids, or drop it (frame.reset_index(drop=True)).",
                "ambiguous",
                setting="id",
            )
        in_order = type(index).__name__ == "RangeIndex"
        return plain, () if in_order else (left_out_note(what, "the data frame's index"),)
    # Behind an edge's own columns: without usual names the first two are its ends.
    at = len(present) if what == "edges" and len(present) > 1 else 0
    new = [name for name in levels if name not in present]
    for name, level in levels.items():
        values = index.get_level_values(level)
        if name in new:
            plain.insert(at, name, values.to_numpy() if values.dtype == object else values.array)
            at += 1
        elif not np.array_equal(values.astype(str), plain[name].astype(str)):
            raise InputError(
                f"{what}: the data frame's index and a column are both called {name!r} and differ. "
                "Drop the index (frame.reset_index(drop=True)), or rename one of them.",
                "ambiguous",
                column=name,
            )
    plural = "s" * (len(new) > 1)
    taken = f"{what}: took the data frame's index as column{plural} {', '.join(map(repr, new))}"
    return plain, (taken,) if new else ()


def _counts_rows(index: Any) -> bool:
    """Whether an index without a name is 0 … n − 1 in any order: what shuffling leaves behind."""
    if index.nlevels > 1 or index.name is not None:
        return False
    return index.dtype.kind in "iu" and np.array_equal(np.sort(index.to_numpy()), np.arange(len(index)))


TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
SUFFIXES = (*TEXT, *PARQUET, *ARROW)
_PACKED = (".gz", ".bz2", ".zst", ".lz4")
IDS = ("id", "node", "node_id", "nodeid")  # usual names of a column of ids


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a path's name is that of a table.

    >>> is_table("edges.csv"), is_table("edges.TSV.gz"), is_table("graph.npz")
    (True, True, False)
    """
    return _suffix(Path(path)) in SUFFIXES


def read(source: Any, what: str, reading: Reading = AS_IT_LOOKS) -> Table:
    """Read a table: a path, a pyarrow table, a pandas data frame, or a mapping of columns.

    ``what``: nodes or edges, the name of a table in memory.
    """
    notes: tuple[str, ...] = ()
    index = None
    if isinstance(source, Table):
        return source
    if isinstance(source, str | os.PathLike):
        return _read_file(Path(source), reading)
    try:
        if isinstance(source, pa.Table):
            columns = source
        elif isinstance(source, Mapping):
            columns = pa.table({str(name): pa.array(values) for name, values in source.items()})
        elif type(source).__module__.startswith("pandas") and hasattr(source, "columns"):
            frame, notes = with_index(source, what, reading)
            columns = pa.Table.from_pandas(frame, preserve_index=False)
            if _counts_rows(source.index) and "index" not in columns.column_names:
                index = pa.table({"index": source.index.to_numpy()})
        elif hasattr(source, "__arrow_c_stream__"):  # polars, DuckDB, a stream of record batches, …
            columns = pa.table(source)
        else:
            kind = type(source).__name__
            raise bad_setting(what, "a file's path, a table, a data frame or a dictionary of columns", kind)
    except InputError:
        raise
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"{what}: the columns do not make a table ({first_line(error)}).", "shape", setting=what
        ) from error
    return Table(what, checked_columns(columns, what), np.arange(columns.num_rows), notes=notes, index=index)


def read_like(source: Any, what: str, like: Encoding, encoding: str | None = None) -> Table:
    """Read a table of nodes or edges that has the columns of an earlier one; ``encoding``: of a text file."""
    roles = (like.source, like.target, like.weight) if what == "edges" else (like.id, like.label)
    columns = (column.name for column in like.columns if what == "nodes")
    if encoding is not None:
        require_encoding(encoding)
    named = frozenset(name for name in (*roles, *columns) if name is not None)
    return read(source, what, Reading(encoding, None, named, None if what == "edges" else like.id))


def is_text_file(source: Any) -> bool:
    """Whether a table is a text file."""
    return isinstance(source, str | os.PathLike) and _suffix(Path(source)) in TEXT


def _read_file(path: Path, reading: Reading) -> Table:
    suffix = _suffix(path)
    if suffix not in SUFFIXES or path.is_dir():
        what = "a folder" if path.is_dir() else "not a table"
        raise InputError(
            f"{path} is {what}. Give a file whose name ends in one of {', '.join(SUFFIXES)}.",
            "wrong-file",
            path=str(path),
        )
    tell(f"reading {path.name}", 0, 1)
    try:
        if suffix in TEXT:
            return read_text(path, TEXT[suffix], reading)
        columns = read_binary(path, suffix)
    except FileNotFoundError as error:
        raise missing(path) from error
    except (KernodeError, UnicodeEncodeError):  # the latter: a path that the locale cannot write
        raise
    except (pa.ArrowException, ValueError, LookupError, OSError, MemoryError) as error:
        raise damaged(path, f"cannot be read as a table ({first_line(error)})") from error
    finally:
        tell(f"reading {path.name}", 1, 1)
    return Table(path.name, checked_columns(columns, path.name), np.arange(columns.num_rows))


def checked_columns(columns: Any, name: str) -> Any:
    """Columns (pyarrow) with different names, of types that all functions know."""
    names = columns.column_names
    if len(set(names)) < len(names):
        repeated = next(column for at, column in enumerate(names) if column in names[:at])
        raise InputError(
            f"{name}: two columns are called {repeated!r}. Rename one of them.", "duplicate", column=repeated
        )
    for at, field in enumerate(columns.schema):
        if pa.types.is_string_view(field.type):  # few functions know it
            columns = columns.set_column(at, field.name, columns.column(at).cast(pa.large_string()))
    return columns


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
