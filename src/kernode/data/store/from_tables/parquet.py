"""A Parquet file that is never read whole: a column, or some rows, at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kernode.data.tables.files import checked_columns
from kernode.data.tables.table import Table
from kernode.errors import FileError

_HEAD = 1000  # rows that tell what a column looks like
_BUFFER = 2**20  # bytes: a column of a row group may be larger than the memory


class ParquetTable:
    """A file by its path, and what its footer says."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.path, self.name = path, path.name
        with self._readable():
            self._file = parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        self.rows: int = self._file.metadata.num_rows

    @property
    def types(self) -> dict[str, Any]:
        """Of every column."""
        return {field.name: field.type for field in self.head.columns.schema}

    @property
    def identity(self) -> list[Any]:
        """What changes when the file does."""
        about = self.path.stat()
        return [str(self.path.resolve()), about.st_size, about.st_mtime_ns]

    @cached_property
    def head(self) -> Table:
        """The first rows, with all columns."""
        import pyarrow as pa

        with self._readable():
            first = next(self._file.iter_batches(_HEAD, use_threads=False), None)
            schema = self._file.schema_arrow
        columns = schema.empty_table() if first is None else pa.Table.from_batches([first])
        return self._table(columns, np.arange(columns.num_rows))

    def read(self, columns: Sequence[str]) -> Table:
        """Some columns of all rows, in the file's order."""
        with self._readable():
            ordered = [name for name in self.head.column_names if name in columns]
            return self._table(
                self._file.read(ordered, use_threads=False).select(ordered), np.arange(self.rows)
            )

    def batches(self, columns: Sequence[str], size: int) -> Iterator[Table]:
        """Some columns, ``size`` rows at a time at most."""
        at = 0
        for batch in self._batches(columns, size, None):
            yield self._table(batch, np.arange(at, at + len(batch)))
            at += len(batch)

    def at(self, rows: np.ndarray, columns: Sequence[str], size: int) -> Iterator[Any]:
        """Some columns of these rows, ascending, as pyarrow tables of ``size`` rows at most."""
        if not len(rows):
            return
        groups = np.array(
            [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        )
        starts = np.concatenate([[0], np.cumsum(groups)])
        wanted = [
            group for group in range(len(groups)) if starts[group + 1] > rows[0] and starts[group] <= rows[-1]
        ]
        at = int(starts[wanted[0]])
        for batch in self._batches(columns, size, wanted):
            first, last = np.searchsorted(rows, (at, at + len(batch)))
            if last > first:
                yield batch.take(rows[first:last] - at)
            at += len(batch)

    def _batches(self, columns: Sequence[str], size: int, groups: list[int] | None) -> Iterator[Any]:
        import pyarrow as pa

        with self._readable():
            for batch in self._file.iter_batches(
                size, row_groups=groups, columns=list(columns), use_threads=False
            ):
                yield pa.Table.from_batches([batch])

    def _table(self, columns: Any, rows: np.ndarray) -> Table:
        return Table(self.name, checked_columns(columns, self.name), rows)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except FileNotFoundError as error:
            raise FileError(f"{self.path} does not exist. Check the path.") from error
        except (pa.ArrowException, OSError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise FileError(f"{self.path} cannot be read as a table ({reason}). Write it again.") from error
