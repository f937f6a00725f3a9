"""NPZ files as named arrays: the same arrays give the same bytes, and nothing is ever unpickled."""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from kernode.errors import FileError
from kernode.storage import writing_whole

# What zipfile and numpy raise on bytes that are not what they claim to be. MemoryError: an array
# whose header promises more than there is.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, OSError, RuntimeError),
    *(MemoryError, OverflowError),
)

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
    """The arrays of one open NPZ file, each read when it is asked for; a large one is mapped, read-only."""

    def __init__(self, path: Path, zipped: zipfile.ZipFile) -> None:
        self.path = path
        self._zipped = zipped
        self.names = tuple(name.removesuffix(".npy") for name in zipped.namelist() if name.endswith(".npy"))

    def read(self, name: str) -> np.ndarray:
        """Read or map one array; Python objects are refused unopened."""
        try:
            entry = self._zipped.getinfo(f"{name}.npy")
            if entry.file_size > MAP_FROM and entry.compress_type == zipfile.ZIP_STORED:
                return self._map(entry)
            content = io.BytesIO(self._zipped.read(entry))  # compares the CRC-32 first
            _read_header(content, content.getbuffer().nbytes)
            content.seek(0)
            return np.lib.format.read_array(content, allow_pickle=False)
        except _DAMAGED as error:
            raise FileError(
                f"{self.path}: the array '{name}' is damaged or holds Python objects, which are never "
                "unpickled. Write the file again with plain arrays."
            ) from error

    def _map(self, entry: zipfile.ZipInfo) -> np.ndarray:
        with self._zipped.open(entry) as content:
            shape, fortran, dtype = _read_header(content, entry.file_size)
            start = content.tell()
            while content.read(2**22):  # to its end, where zipfile compares the CRC-32
                pass
        with self.path.open("rb") as file:
            file.seek(entry.header_offset)
            name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        offset = entry.header_offset + _LOCAL_HEADER.size + name + extra + start
        return np.memmap(self.path, dtype, "r", offset, shape, order="F" if fortran else "C")


def _read_header(content: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of an array in so many bytes, before memory is taken for what they promise."""
    read_header = _HEADERS.get(np.lib.format.read_magic(content))
    if read_header is None:
        raise ValueError("it is in a version of the format that only tables of named columns need")
    shape, fortran, dtype = read_header(content)
    if dtype.hasobject or content.tell() + math.prod(shape) * dtype.itemsize > size:
        raise ValueError("it holds Python objects, or less than its header promises")
    return shape, fortran, dtype


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an NPZ file for reading."""
    try:
        zipped = zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist. Check the path.") from error
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror or error}). Check the path.") from error
    except _DAMAGED as error:
        raise FileError(f"{path} is not an NPZ file, or it is cut short. Write or copy it again.") from error
    with zipped:
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
