"""NPZ files as named arrays: the same arrays give the same bytes, and nothing is ever unpickled."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kernode.data.atomic import write_whole
from kernode.errors import FileError

# What zipfile and numpy raise on bytes that are not what they claim to be. MemoryError: an array
# whose header promises more than there is.
_DAMAGED = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, RuntimeError, MemoryError)


class Archive:
    """The arrays of one open NPZ file, each read when it is asked for."""

    def __init__(self, path: Path, zipped: zipfile.ZipFile) -> None:
        self.path = path
        self._zipped = zipped
        self.names = tuple(name.removesuffix(".npy") for name in zipped.namelist() if name.endswith(".npy"))

    def read(self, name: str) -> np.ndarray:
        """Read one array; Python objects are refused unopened."""
        try:
            content = self._zipped.read(f"{name}.npy")  # compares the CRC-32, before the header is believed
            return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        except _DAMAGED as error:
            raise FileError(
                f"{self.path}: the array '{name}' is damaged or holds Python objects, which are never "
                "unpickled. Write the file again with plain arrays."
            ) from error


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an NPZ file for reading."""
    try:
        zipped = zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist. Check the path.") from error
    except zipfile.BadZipFile as error:
        raise FileError(f"{path} is not an NPZ file, or it is cut short. Write or copy it again.") from error
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror or error}). Check the path.") from error
    with zipped:
        yield Archive(path, zipped)


def write_archive(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as an NPZ file, whole or not at all.

    Not ``np.savez``: the zip entries it makes differ between operating systems.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as zipped:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # Unix, wherever it is written
            entry.external_attr = 0o644 << 16
            with zipped.open(entry, "w", force_zip64=array.nbytes > 2**30) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    write_whole(path, content.getvalue())
