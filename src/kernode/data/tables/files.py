"""Tables from files (CSV, TSV, Parquet, Arrow) and from memory: columns as they stand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kernode.data.tables.binary_files import ARROW, PARQUET, read_binary
from kernode.data.tables.columns import Encoding
from kernode.data.tables.decoding import require_encoding
from kernode.data.tables.frames import counts_rows, with_index
from kernode.data.tables.table import Table
from kernode.data.tables.text_files import AS_IT_LOOKS, Reading, read_text
from kernode.errors import FileError, InputError, KernodeError
from kernode.progress import tell

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
    import pyarrow as pa

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
    import pyarrow as pa

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
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
