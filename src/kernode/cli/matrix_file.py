"""Matrices as files, a block of rows at a time: .npz, Parquet and CSV."""

from __future__ import annotations

import csv
import io
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from kernode.cli.console import Advance
from kernode.compute.machine import readable
from kernode.errors import InputError
from kernode.storage import writing_whole

_MOST_COLUMNS = 10_000  # of a Parquet file: its footer describes each of them in every row group
_NUMBERS = 2**22  # in a block of rows


@dataclass(frozen=True)
class Matrix:
    """A matrix whose rows are computed when they are written."""

    rows: np.ndarray  # m names or indices
    columns: np.ndarray  # p of them, or names of columns
    dtype: np.dtype
    blocks: Iterable[np.ndarray]  # each some rows × p
    name: str  # of the array in an .npz file
    labels: tuple[str, ...]  # of the arrays of the rows' names and, where those are nodes, the columns'


def rows_at_a_time(columns: int) -> int:
    """How many rows make a block of a few megabytes."""
    return max(1, _NUMBERS // max(1, columns))


def write_matrix(path: Path, matrix: Matrix, advance: Advance) -> int:
    """Write a file by its extension, whole or not at all; return its size in bytes."""
    _require_fit(path, matrix)

    def blocks() -> Iterator[np.ndarray]:
        done = 0
        for block in matrix.blocks:
            yield block
            done += len(block)
            advance(done, "rows")

    with writing_whole(path) as file:
        _WRITERS[path.suffix.lower()](file, matrix, blocks())
    return path.stat().st_size


def _require_fit(path: Path, matrix: Matrix) -> None:
    """Refuse what a disk or a Parquet file cannot hold."""
    columns, suffix = len(matrix.columns), path.suffix.lower()
    if suffix == ".parquet" and (columns > _MOST_COLUMNS or "node" in matrix.columns.astype(str)):
        raise InputError(
            f"{path} would have {columns:,} columns, and a Parquet file should have {_MOST_COLUMNS:,} at "
            "most, none of them called 'node'. Write an .npz file.",
            "too-large", setting="out",
        )  # fmt: skip
    # A number takes some 12 characters of a CSV file in 32 bits and 20 in 64.
    need = len(matrix.rows) * columns * matrix.dtype.itemsize * (3 if suffix == ".csv" else 1)
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    free = shutil.disk_usage(folder).free
    if need > free:
        raise InputError(
            f"{path} would take {readable(need)}, and {folder} has {readable(free)} free. Choose fewer "
            "nodes, or another place.",
            "too-large", setting="only", need=need, free=free,
        )  # fmt: skip


def _write_npz(file: BinaryIO, matrix: Matrix, blocks: Iterator[np.ndarray]) -> None:
    header = {
        "descr": np.lib.format.dtype_to_descr(matrix.dtype),
        "fortran_order": False,
        "shape": (len(matrix.rows), len(matrix.columns)),
    }
    with zipfile.ZipFile(file, "w") as archive:
        with archive.open(_entry(matrix.name), "w", force_zip64=True) as member:
            np.lib.format.write_array_header_1_0(member, header)
            for block in blocks:
                member.write(np.ascontiguousarray(block, dtype=matrix.dtype).data)
        for label, names in zip(matrix.labels, (matrix.rows, matrix.columns), strict=False):
            plain = names.astype(str) if names.dtype.kind not in "iuU" else names
            with archive.open(_entry(label), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, plain, allow_pickle=False)


def _entry(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(f"{name}.npy")  # without the time, so that equal files have equal bytes


def _write_parquet(file: BinaryIO, matrix: Matrix, blocks: Iterator[np.ndarray]) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = [str(name) for name in matrix.columns.tolist()]
    kind = pyarrow.from_numpy_dtype(matrix.dtype)
    names = pyarrow.array(matrix.rows.tolist())
    schema = pyarrow.schema([("node", names.type), *((name, kind) for name in columns)])
    start = 0
    with parquet.ParquetWriter(file, schema) as writer:
        for block in blocks:
            values = [pyarrow.array(np.ascontiguousarray(column)) for column in block.T]
            rows = names.slice(start, len(block))
            writer.write_table(pyarrow.table([rows, *values], schema=schema))
            start += len(block)


def _write_csv(file: BinaryIO, matrix: Matrix, blocks: Iterator[np.ndarray]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["node", *matrix.columns.tolist()])
    names = iter(matrix.rows.tolist())
    for block in blocks:
        for row in block:
            # numpy's shortest text that reads back as the same float32 or float64
            writer.writerow([next(names), *(str(value) for value in row)])
    text.detach()  # the file is its owner's to close


_WRITERS: dict[str, Callable[[BinaryIO, Matrix, Iterator[np.ndarray]], None]] = {
    ".npz": _write_npz,
    ".parquet": _write_parquet,
    ".csv": _write_csv,
}
