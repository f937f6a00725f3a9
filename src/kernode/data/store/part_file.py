"""One part as a .safetensors file: written as a stream, and read after its SHA-256 was compared."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.chunks import chunks
from kernode.data.store.header import DTYPES, Header, PartEntry
from kernode.errors import FileError
from kernode.storage import writing_whole

_BYTES = 2**22  # that are hashed, written or read at a time
_NAMES = {np.dtype(kind): name for kind, name in (*DTYPES.items(), ("int64", "I64"), ("uint8", "U8"))}

_verified: set[tuple[str, str, int, int]] = (
    set()
)  # parts that this process compared: path, SHA-256, time, size


@dataclass(frozen=True)
class Stream:
    """A tensor that is written block by block, so that nobody need hold it."""

    dtype: np.dtype
    shape: tuple[int, ...]
    blocks: Iterable[np.ndarray]

    @classmethod
    def of(cls, array: np.ndarray) -> Stream:
        """An array that is at hand."""
        return cls(array.dtype, array.shape, [array])

    @property
    def bytes(self) -> int:
        """On the disk."""
        return math.prod(self.shape) * self.dtype.itemsize


def write_part(path: Path, tensors: dict[str, Stream]) -> tuple[str, int]:
    """Write tensors to one file, whole or not at all; gives its SHA-256 and its bytes."""
    # Wide numbers first: then each begins at a multiple of its own size.
    ordered = dict(sorted(tensors.items(), key=lambda named: (-named[1].dtype.itemsize, named[0])))
    described, at = {}, 0
    for name, tensor in ordered.items():
        stop = at + tensor.bytes
        described[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, stop],
        }
        at = stop
    text = json.dumps(described, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256()
    with writing_whole(path) as file:
        written = 0
        for piece in _pieces(text, ordered.values()):
            digest.update(piece)
            written += file.write(piece)
    assert written == 8 + len(text) + at, "blocks must hold what their shapes say"
    return digest.hexdigest(), written


def _pieces(header: bytes, tensors: Iterable[Stream]) -> Iterator[bytes]:
    yield len(header).to_bytes(8, "little")
    yield header
    for tensor in tensors:
        for block in tensor.blocks:
            for part in chunks(len(block), max(1, _BYTES * len(block) // max(1, block.nbytes))):
                yield np.ascontiguousarray(block[part], tensor.dtype).tobytes()


def sha256_of(path: Path) -> str:
    """Of a file's content, a few megabytes at a time."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BYTES):
            digest.update(block)
    return digest.hexdigest()


def require_as_written(path: Path, part: PartEntry) -> None:
    """Raise unless a part's file is the one that was written; compared once in a process."""
    try:
        about = path.stat()
        known = (str(path.resolve()), part.sha256, about.st_mtime_ns, about.st_size)
        if known in _verified:
            return
        found = sha256_of(path) if about.st_size == part.bytes else None
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror}). Restore it or shard again.") from error
    if found != part.sha256:
        raise FileError(f"{path} is damaged: its checksum does not match. Restore it or shard again.")
    _verified.add(known)


class OpenPart:
    """The tensors of an open part, each read when it is asked for."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path, self._file = path, file

    def read(self, name: str) -> np.ndarray:
        """A whole tensor."""
        return self._file.get_tensor(name)

    def blocks(self, name: str) -> Iterator[np.ndarray]:
        """A tensor a few megabytes at a time."""
        tensor = self._file.get_slice(name)
        rows, *width = tensor.get_shape()
        for block in chunks(rows, max(1, _BYTES // (8 * math.prod(width)))):
            yield tensor[block.start : block.stop]


@contextmanager
def opened(folder: Path, header: Header, part: PartEntry) -> Iterator[OpenPart]:
    """Open a part that is as it was written, and whose tensors are as large as the store says."""
    from safetensors import SafetensorError, safe_open

    path = folder / part.file
    require_as_written(path, part)
    try:
        with safe_open(path, framework="numpy") as file:
            _check_tensors(path, file, header, part)
            yield OpenPart(path, file)
    except SafetensorError as error:
        raise FileError(
            f"{path} is no .safetensors file ({str(error).rstrip('.')}). Restore it or shard again."
        ) from error


def _check_tensors(path: Path, file: Any, header: Header, part: PartEntry) -> None:
    expected = _expected(header, part)
    names = set(file.keys())
    if names != set(expected):
        odd = sorted(names ^ set(expected))[0]
        raise FileError(f"{path}: the tensor {odd!r} is missing or out of place. Shard again.")
    for name, (dtype, shape) in expected.items():
        tensor = file.get_slice(name)
        found = tensor.get_dtype(), tuple(tensor.get_shape())
        wanted = shape if shape is not None else found[1][:1]
        if found != (dtype, wanted):
            raise FileError(f"{path}: {name} is {found[0]} of shape {found[1]}, not {wanted}. Shard again.")


def _expected(header: Header, part: PartEntry) -> dict[str, tuple[str, tuple[int, ...] | None]]:
    """Type and shape of every tensor of a part; None for one of any length."""
    rows, number = part.stop - part.start, DTYPES[header.dtype]
    tensors: dict[str, tuple[str, tuple[int, ...] | None]] = {
        "adjacency.indptr": ("I64", (rows + 1,)),
        "adjacency.indices": ("I64", (part.entries,)),
        "labels": ("I64", (rows,)),
    }
    if header.weighted:
        tensors["adjacency.data"] = ("F32", (part.entries,))
    if part.feature_entries is None:
        tensors["features"] = (number, (rows, header.features))
    else:
        tensors["features.indptr"] = ("I64", (rows + 1,))
        tensors["features.indices"] = ("I64", (part.feature_entries,))
        tensors["features.data"] = (number, (part.feature_entries,))
    if header.named:
        tensors |= {"names.offsets": ("I64", (rows + 1,)), "names.bytes": ("U8", None)}
    return tensors
