"""Tables from Parquet and Arrow files: every value checked, and no more unfolded than there is memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernode.compute.machine import free_bytes, readable
from kernode.errors import FileError

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
    import pyarrow as pa
    from pyarrow import ipc

    with pa.memory_map(str(path)) as source:
        try:
            return ipc.open_file(source).read_all()
        except pa.ArrowInvalid:  # the same table as a stream
            source.seek(0)
            return ipc.open_stream(source).read_all()


def _read_parquet(path: Path) -> Any:
    """A few bytes of Parquet can stand for any number of equal values: counted while they unfold."""
    import pyarrow as pa
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
