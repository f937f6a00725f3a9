"""Tables from files (CSV, TSV, Parquet, Arrow) and from memory: columns as they stand."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.machine import free_bytes, readable
from kernode.errors import FileError, InputError, KernodeError
from kernode.io.tables.arrow import pa
from kernode.io.tables.columns import Encoding
from kernode.io.tables.table import Table, left_out_note
from kernode.io.tables.text_files import AS_IT_LOOKS, Reading, read_text, require_encoding
from kernode.progress import tell

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
_ROWS = 2**16  # of Parquet that are unfolded at a time
_NUMBER = 8  # bytes of a row's number
_FEW_ROWS = 2**10  # where a byte of the file stands for more than a row


def read_binary(path: Path, suffix: str) -> Any:
    """The columns of a file (pyarrow); what its bytes claim about lengths and text is compared with them."""
    columns = _read_parquet(path) if suffix in PARQUET else _read_arrow(path)
    _require_room(path, columns.num_rows)
    columns.validate(full=True)  # else functions follow offsets out of the memory, and text may be none
    return columns


def _require_room(path: Path, rows: int) -> None:
    """Raise where numbers of the rows alone would not fit: of a column that is all null no byte is stored."""
    free = free_bytes()
    if free is not None and _NUMBER * rows > 3 * free / 4:
        raise FileError(
            f"{path} has {rows:,} rows, more than the {readable(free)} of memory that are free can hold. "
            "Use a larger machine, or write it again."
        )


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
        _require_room(path, file.metadata.num_rows)
        free, taken, batches = free_bytes(), 0, []  # a quarter of it is left for what is made of the table
        few = file.metadata.num_rows > path.stat().st_size
        for batch in file.iter_batches(_FEW_ROWS if few else _ROWS):
            taken += batch.nbytes
            if free is not None and taken > 3 * free / 4:
                raise FileError(
                    f"{path} unfolds to more than the {readable(free)} of memory that are free. "
                    "Use a larger machine, or drop columns."
                )
            batches.append(batch)
        return pa.Table.from_batches(batches, file.schema_arrow)


def with_index(
    frame: Any, what: str, ids: Collection[str | None], *, asked: bool = False
) -> tuple[Any, tuple[str, ...]]:
    """A data frame with its index as a column where that holds something, without it elsewhere; and a note.

    An index with a name, or of texts, holds something. Numbers without a name are what shuffling, filtering
    and concatenating leave behind. They may yet be ids where no other column is: one of ``ids``; then the
    user is asked. ``asked``: whether a column called index is asked for.
    """
    index = frame.index
    plain = frame.reset_index(drop=True)
    present = [str(name) for name in frame.columns]
    has_ids = what == "edges" or any(name.lower() in ids or name in ids for name in present)
    if any(name is not None for name in index.names):
        return _with_named(frame, what, present)
    if asked and "index" not in present and index.nlevels == 1:
        plain.insert(0, "index", index.to_numpy())
        return plain, (f"{what}: took the data frame's index as column 'index'",)
    if type(index).__name__ == "RangeIndex":
        return plain, ()
    left_out = left_out_note(what, "the data frame's index")
    if has_ids or not index.is_unique or counts_rows(index):
        return plain, (left_out,)
    if index.nlevels == 1 and all(isinstance(key, str) for key in index) and "index" not in present:
        plain.insert(0, "index", index.to_numpy())
        return plain, (f"{what}: took the data frame's index, which is text, as column 'index'",)
    raise InputError(
        f"{what}: the data frame's index has no name. Name it (frame.index.name = 'id') if it holds ids, "
        "or drop it (frame.reset_index(drop=True))."
    )


def _with_named(frame: Any, what: str, present: list[str]) -> tuple[Any, tuple[str, ...]]:
    plain = frame.reset_index(drop=True)
    names = [str(name) for name in frame.index.names if name is not None]
    notes = []
    # Behind an edge's own columns: without usual names the first two are its ends.
    at = len(present) if what == "edges" and len(present) > 1 else 0
    for level, name in enumerate(frame.index.names):
        if name is None:
            continue
        values = frame.index.get_level_values(level)
        if str(name) not in present:
            plain.insert(at, name, values.to_numpy() if values.dtype == object else values.array)
            at += 1
        elif not np.array_equal(values.astype(str), plain[name].astype(str)):
            raise InputError(
                f"{what}: the data frame's index and a column are both called {name!r} and differ. "
                "Drop the index (frame.reset_index(drop=True)), or rename one of them."
            )
    new = [name for name in names if name not in present]
    if new:
        shown = ", ".join(map(repr, new))
        notes.append(f"{what}: took the data frame's index as column{'s' * (len(new) > 1)} {shown}")
    return plain, tuple(notes)


def counts_rows(index: Any) -> bool:
    """Whether an index is 0 … n − 1 in any order, without a name."""
    if index.nlevels > 1 or index.name is not None:
        return False
    return index.dtype.kind in "iu" and np.array_equal(np.sort(index.to_numpy()), np.arange(len(index)))


TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
BINARY = (*PARQUET, *ARROW)
SUFFIXES = (*TEXT, *BINARY)
_PACKED = (".gz", ".bz2", ".zst", ".lz4")
IDS = ("id", "node", "node_id", "nodeid", "key", "name")  # usual names of a column of ids


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a path's name is that of a table.

    >>> is_table("edges.csv"), is_table("edges.TSV.gz"), is_table("graph.npz")
    (True, True, False)
    """
    return _suffix(Path(path)) in SUFFIXES


def read(source: Any, what: str, reading: Reading = AS_IT_LOOKS) -> Table:
    """Read a table: a path, a pyarrow table, a pandas data frame, or a mapping of columns.

    ``what`` is the name of a table that is no file: nodes or edges.
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
            frame, notes = with_index(source, what, {*IDS, reading.id}, asked="index" in reading.named)
            columns = pa.Table.from_pandas(frame, preserve_index=False)
            if counts_rows(source.index) and "index" not in columns.column_names:
                index = pa.table({"index": source.index.to_numpy()})
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
    if suffix not in SUFFIXES:
        raise InputError(f"{path} is no table. Its name must end in one of {', '.join(SUFFIXES)}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder. Give the file in it.")
    tell(f"reading {path.name}", 0, 1)
    try:
        if suffix in TEXT:
            return read_text(path, TEXT[suffix], reading)
        columns = read_binary(path, suffix)
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist. Check the path.") from error
    except (KernodeError, UnicodeEncodeError):  # the latter: a path that the locale cannot write
        raise
    except MemoryError as error:
        raise FileError(
            f"{path} takes more memory than is free. Use a larger machine, or drop columns."
        ) from error
    except (pa.ArrowException, ValueError, LookupError) as error:
        raise FileError(
            f"{path} cannot be read as a table ({_first_line(error)}). Write it again."
        ) from error
    except OSError as error:
        raise FileError(f"{path} cannot be read ({_first_line(error)}). Check the file.") from error
    finally:
        tell(f"reading {path.name}", 1, 1)
    return Table(path.name, checked_columns(columns, path.name), np.arange(columns.num_rows))


def checked_columns(columns: Any, name: str) -> Any:
    """Columns (pyarrow) with different names, of types that all functions know."""
    names = columns.column_names
    if len(set(names)) < len(names):
        repeated = next(column for at, column in enumerate(names) if column in names[:at])
        raise InputError(f"{name}: two columns are called {repeated!r}. Rename one of them.")
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
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
