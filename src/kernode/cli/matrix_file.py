"""Matrices as files, a block of rows at a time: .npz, Parquet and CSV."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import numpy as np

from kernode.cli.console import Advance
from kernode.cli.files import copy_columns
from kernode.compute.machine import readable
from kernode.errors import InputError
from kernode.storage import writing_whole

_MOST_COLUMNS = 10_000  # of a table: a Parquet footer describes each of them in every row group
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
    columns, suffix = len(matrix.columns), path.suffix.lower()
    names = {"node", *map(str.lower, matrix.columns.astype(str).tolist())}
    if suffix != ".npz" and (columns > _MOST_COLUMNS or len(names) <= columns):
        sentence = (
            f"a table has {_MOST_COLUMNS:,} columns at most, one of them called 'node', and no two whose "
            "names "
            "differ only in case. Write an .npz file."
        )
        raise InputError(sentence, "too-large", setting="out")
    need = len(matrix.rows) * columns * matrix.dtype.itemsize
    free = shutil.disk_usage(next(one for one in path.absolute().parents if one.exists())).free
    if need > free:
        sentence = f"{path} would take {readable(need)}, and {readable(free)} are free. Choose fewer nodes."
        raise InputError(sentence, "too-large", setting="only", need=need, free=free)

    def blocks() -> Iterator[np.ndarray]:
        done = 0
        for block in matrix.blocks:
            yield block
            done += len(block)
            advance(done, "rows")

    with writing_whole(path) as file:
        if suffix == ".npz":
            _write_npz(file, matrix, blocks())
        else:
            _write_table(file, matrix, blocks(), suffix)
    return path.stat().st_size


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


def _write_table(file: BinaryIO, matrix: Matrix, blocks: Iterator[np.ndarray], suffix: str) -> None:
    rows, start, columns = len(matrix.rows), 0, [str(name) for name in matrix.columns.tolist()]
    with TemporaryDirectory(prefix="kernode-", ignore_cleanup_errors=True) as folder:
        # By columns, as DuckDB reads arrays: a mapped file takes no memory.
        values = np.memmap(f"{folder}/values", matrix.dtype, "w+", shape=(rows, len(columns)), order="F")
        for block in blocks:
            values[start : start + len(block)] = block
            start += len(block)
        named = {name: np.asarray(values[:, at]) for at, name in enumerate(columns)}
        copy_columns({"node": np.fromiter(matrix.rows.tolist(), object, rows), **named}, suffix, file)
