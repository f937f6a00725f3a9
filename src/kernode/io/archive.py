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
    """Build a CSR matrix from its parts, or say that the file is damaged.

    >>> parts = np.ones(1), np.array([7]), np.array([0, 1])
    >>> checked_csr(Path("x.npz"), "adj", *parts, shape=(1, 3))
    Traceback (most recent call last):
    kernode.errors.FileError: x.npz holds 'adj', which is not a valid CSR matrix (...). Write or copy...
    """
    try:
        rows, columns = (int(size) for size in shape)
        _require_kind("indices", indices, "iu")
        _require_kind("indptr", indptr, "iu")
        _require_kind("values", values, "fiub")
        _require_pointers(indptr, len(indices))
        parts = (values, _signed(indices), _signed(indptr))
        matrix = sparse.csr_array(parts, shape=(rows, columns))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise damaged(path, f"holds '{what}', which is not a valid CSR matrix ({reason})") from error
    return matrix


def _require_kind(part: str, array: np.ndarray, kinds: str) -> None:
    if array.ndim != 1 or array.dtype.kind not in kinds:
        raise ValueError(f"{part} are {array.dtype} of shape {array.shape}")


def _signed(integers: np.ndarray) -> np.ndarray:
    """As scipy takes them: an unsigned one beyond 2⁶³ turns negative, and is found."""
    return integers if integers.dtype in (np.int32, np.int64) else integers.astype(np.int64)


def _require_pointers(indptr: np.ndarray, entries: int) -> None:
    # scipy looks at the pointers only if the last one is above 0, and would follow [0, 500, 0] out of
    # its memory. As int64 a pointer beyond 2⁶³ turns negative, and is caught here too.
    steps = np.diff(np.append(np.append(0, indptr.astype(np.int64)), entries))
    if indptr[:1].any() or steps.min() < 0 or steps[-1]:
        raise ValueError("indptr must rise from 0 to the number of entries")


# What zipfile and numpy raise on bytes that are not what they claim to be. MemoryError: an array
# whose header promises more than there is.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, OSError, RuntimeError),
    *(MemoryError, OverflowError),
)

_PIECE = 2**22  # bytes that are read at a time
_DEFLATED_MOST = 1032  # bytes that one byte of DEFLATE can stand for

MAP_FROM = 64 * 2**20  # bytes of an array, stored as it is, that is left in the file and mapped

_LOCAL_HEADER = struct.Struct("<26xHH")  # of a zip entry: how long the name and the extra field after it are
_ZIP64 = struct.Struct("<HHQQ")  # the extra field that zipfile adds: number, length, two sizes
_PADDING = struct.Struct("<HHH")  # an extra field as zipalign writes it: number, length, alignment
_ALIGNMENT = 64  # bytes, as numpy aligns the content of an .npy file
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class Archive:
    """The arrays of one open NPZ file, read on access; a large one is mapped, read-only."""

    def __init__(self, path: Path, zipped: zipfile.ZipFile) -> None:
        self.path = path
        self._zipped = zipped
        self.names = tuple(name.removesuffix(".npy") for name in zipped.namelist() if name.endswith(".npy"))

    def read(self, name: str) -> np.ndarray:
        """Read or map one array; Python objects are refused unopened."""
        try:
            entry = self._zipped.getinfo(f"{name}.npy")
            _require_possible(entry)
            if entry.file_size > MAP_FROM and entry.compress_type == zipfile.ZIP_STORED:
                return self._map(entry)
            with self._zipped.open(entry) as content:
                shape, _, dtype = _read_header(content, entry.file_size)
                self._require_room(name, math.prod(shape) * dtype.itemsize)
            with self._zipped.open(entry) as content:
                array = np.lib.format.read_array(content, allow_pickle=False)
                _compare_crc(content)
            return array
        except FileError:
            raise
        except _DAMAGED as error:
            what = f"holds the array '{name}', which is damaged or holds Python objects, never unpickled"
            raise damaged(self.path, what, "Write it again with plain arrays") from error

    def _require_room(self, name: str, size: int) -> None:
        """Raise where an array that was compressed unfolds to more than there is memory."""
        if size > MAP_FROM and size > (free := free_bytes()):
            raise FileError(
                f"{self.path}: the array '{name}' takes {readable(size)} of memory, and {readable(free)} are "
                "free. Write it uncompressed, so that it can stay in the file, or use a larger machine.",
                "too-large",
                need=size,
                free=free,
            )

    def _map(self, entry: zipfile.ZipInfo) -> np.ndarray:
        with self._zipped.open(entry) as content:
            shape, fortran, dtype = _read_header(content, entry.file_size)
            start = content.tell()
            _compare_crc(content)
        with self.path.open("rb") as file:
            file.seek(entry.header_offset)
            name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        offset = entry.header_offset + _LOCAL_HEADER.size + name + extra + start
        return np.memmap(self.path, dtype, "r", offset, shape, order="F" if fortran else "C")


def _require_possible(entry: zipfile.ZipInfo) -> None:
    """Raise where an entry says that it unfolds to more than its bytes can: then it is a bomb, or damaged."""
    most = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: _DEFLATED_MOST}.get(entry.compress_type)
    if most is None:
        raise ValueError("it is compressed in a way that numpy does not write")
    if entry.file_size > most * entry.compress_size:
        raise ValueError("it cannot unfold to what it promises")


def _read_header(content: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of an array in so many bytes, before memory is taken for what they promise."""
    read_header = _HEADERS.get(np.lib.format.read_magic(content))
    if read_header is None:
        raise ValueError("it is in a version of the format that only tables of named columns need")
    shape, fortran, dtype = read_header(content)
    # Of a type without bytes any number fits, and each costs memory as soon as it is looked at.
    if dtype.hasobject or not dtype.itemsize or min(shape, default=0) < 0:
        raise ValueError("it holds Python objects, or nothing")
    if content.tell() + math.prod(shape) * dtype.itemsize > size or max(shape, default=0) > size:
        raise ValueError("it holds less than its header promises")
    return shape, fortran, dtype


def _compare_crc(content: IO[bytes]) -> None:
    while content.read(_PIECE):  # to its end, where zipfile compares the CRC-32
        pass


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an NPZ file for reading."""
    if path.is_dir():
        raise InputError(f"{path} is a folder. Give the name of a file.", "wrong-file", path=str(path))
    try:
        zipped = zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise missing(path) from error
    except _DAMAGED as error:
        raise damaged(path, "is not an NPZ file, or it is cut short") from error
    with zipped:
        if sum(entry.compress_size for entry in zipped.infolist()) > path.stat().st_size:
            raise damaged(path, "is damaged: the arrays in it overlap")
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
            zip64 = array.nbytes > 2**30
            if array.nbytes > MAP_FROM:
                header = _LOCAL_HEADER.size + len(entry.filename) + zip64 * _ZIP64.size
                entry.extra = _padding(file.tell() + header)
            with zipped.open(entry, "w", force_zip64=zip64) as content:
                np.lib.format.write_array(content, array, allow_pickle=False)


def _padding(at: int) -> bytes:
    """An extra field so long that what would have begun ``at`` begins at a multiple of the alignment."""
    length = -(at + _PADDING.size) % _ALIGNMENT
    return _PADDING.pack(0xD935, 2 + length, _ALIGNMENT) + bytes(length)
