"""NPZ files as named arrays and checked sparse matrices; nothing is ever unpickled."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from kernode.compute.machine import free_bytes, readable
from kernode.errors import FileError, InputError
from kernode.storage import damaged, missing, writing_whole


def checked_csr(
    path: Path, what: str, values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any
) -> sparse.csr_array:
    """Build a CSR matrix, with 32-bit indices where they fit, or say that the file is damaged.

    >>> parts = np.ones(1), np.array([7]), np.array([0, 1])
    >>> checked_csr(Path("x.npz"), "adj", *parts, shape=(1, 3))
    Traceback (most recent call last):
    kernode.errors.FileError: x.npz holds 'adj', which is not a valid CSR matrix (...). Write or copy...
    """
    try:
        rows, columns = (int(size) for size in shape)
        for part, array in {"indices": indices, "indptr": indptr, "values": values}.items():
            if array.ndim != 1 or array.dtype.kind not in ("fiub" if part == "values" else "iu"):
                raise ValueError(f"{part} are {array.dtype} of shape {array.shape}")
        # scipy checks pointers only if the last one is above 0, and would follow [0, 500, 0] out of its
        # memory. As int64 a pointer beyond 2⁶³ turns negative, and is caught too.
        steps = np.diff(indptr.astype(np.int64), prepend=0, append=len(indices))
        if indptr[:1].any() or steps.min() < 0 or steps[-1]:
            raise ValueError("indptr must rise from 0 to the number of entries")
        if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
            raise ValueError(f"indices must be from 0 to {columns - 1}")
        index = np.int32 if max(columns, len(indices)) < 2**31 else np.int64
        parts = (values, indices.astype(index, copy=False), indptr.astype(index, copy=False))
        matrix = sparse.csr_array(parts, shape=(rows, columns))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise damaged(path, f"holds '{what}', which is not a valid CSR matrix ({reason})") from error
    return matrix


# What zipfile and numpy raise on bytes that are not what they claim to be.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, OSError, RuntimeError),
    *(OverflowError, NotImplementedError),
)


class Archive:
    """The arrays of one open NPZ file, read on access."""

    def __init__(self, path: Path, zipped: zipfile.ZipFile) -> None:
        self.path = path
        self._zipped = zipped
        self.names = tuple(name.removesuffix(".npy") for name in zipped.namelist() if name.endswith(".npy"))

    def read(self, name: str) -> np.ndarray:
        """Read one array; Python objects are refused unopened."""
        try:
            entry = self._zipped.getinfo(f"{name}.npy")
            with self._zipped.open(entry) as content:
                read_header(content, entry.file_size)
                content.seek(0)
                return np.lib.format.read_array(content, allow_pickle=False)
        except _DAMAGED as error:
            what = f"holds the array '{name}', which is damaged or holds Python objects, never unpickled"
            raise damaged(self.path, what, "Write it again with plain arrays") from error


def read_header(content: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of an array in so many bytes, before memory is taken for what they promise."""
    if np.lib.format.read_magic(content) != (1, 0):
        raise ValueError("it is in a version of the format that only tables of named columns need")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(content)
    # Of a type without bytes any number fits, and each costs memory as soon as it is looked at.
    if dtype.hasobject or not dtype.itemsize or min(shape, default=0) < 0:
        raise ValueError("it holds Python objects, or nothing")
    if content.tell() + math.prod(shape) * dtype.itemsize != size or max(shape, default=0) > size:
        raise ValueError("it does not hold what its header promises")
    return shape, fortran, dtype


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an NPZ file for reading; one that unfolds to more than the free memory is refused."""
    if path.is_dir():
        raise InputError(f"{path} is a folder. Give the name of a file.", "wrong-file", path=str(path))
    try:
        zipped = zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise missing(path) from error
    except _DAMAGED as error:
        raise damaged(path, "is not an NPZ file, or it is cut short") from error
    with zipped:
        size, free = sum(entry.file_size for entry in zipped.infolist()), free_bytes()
        if size > free:
            sentence = f"{path}: its arrays take {readable(size)} of memory, and {readable(free)} are free. "
            sentence += "On a larger machine make it a store, whose arrays stay on disk: kernode data shard."
            raise FileError(sentence, "too-large", need=size, free=free)
        yield Archive(path, zipped)


def write_archive(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as an NPZ file, whole or not at all.

    Not ``np.savez``: the zip entries it makes differ between operating systems.
    """
    with writing_whole(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as zipped:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # Unix, wherever it is written
            entry.external_attr = 0o644 << 16
            with zipped.open(entry, "w", force_zip64=array.nbytes > 2**30) as content:
                np.lib.format.write_array(content, array, allow_pickle=False)
