"""One part of a store: some consecutive rows of a graph in a .safetensors file with a SHA-256."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.compute.chunks import chunks, row_chunks
from kernode.errors import FileError
from kernode.io.archive import checked_csr
from kernode.io.store.header import DTYPES, Header, PartEntry
from kernode.progress import tell
from kernode.storage import writing_whole


def pack_names(names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets (one more than names) and bytes.

    >>> pack_names(np.array(["ann", "jörg"]))[0]
    array([0, 3, 8])
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names.tolist()]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(encoded), np.uint8)


def unpack_names(path: Path, offsets: np.ndarray, content: np.ndarray) -> np.ndarray:
    """The names again, as text."""
    steps = np.diff(np.concatenate([[0], offsets, [len(content)]]))
    if offsets[0] or steps.min() < 0 or steps[-1]:
        raise FileError(f"{path}: names.offsets do not rise from 0 to the number of bytes. Shard again.")
    whole, at = content.tobytes(), offsets.tolist()
    try:
        return np.array(
            [whole[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(at)], str
        )
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: the names of its nodes are no UTF-8. Shard again.") from error


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


@dataclass(frozen=True, eq=False)
class Part:
    """Nodes ``start … stop − 1`` of a graph of n nodes and f features.

    - ``adjacency``: (stop − start) × n, each row's columns in ascending order.
    - ``features``: (stop − start) × f, dense or sparse as the graph's are.
    - ``labels``: −1 where the class is not known. ``names``: None where nodes have none.
    """

    start: int
    stop: int
    adjacency: sparse.csr_array
    features: np.ndarray | sparse.csr_array
    labels: np.ndarray
    names: np.ndarray | None

    def __repr__(self) -> str:
        return f"Part(nodes {self.start:,} to {self.stop - 1:,}, {self.adjacency.nnz:,} entries)"


def read_part(header: Header, entry: PartEntry, file: OpenPart) -> Part:
    """All of an open part, its values checked."""
    rows = entry.stop - entry.start
    weights = file.read("adjacency.data") if header.weighted else np.ones(entry.entries, np.float32)
    adjacency = _csr(file, "adjacency", weights, (rows, header.nodes))
    if (adjacency.data <= 0).any():
        raise FileError(f"{file.path}: a weight is not above 0. Shard again.")
    features = (
        _csr(file, "features", file.read("features.data"), (rows, header.features))
        if header.sparse_features
        else file.read("features")
    )
    values: np.ndarray = features.data if header.sparse_features else features  # type: ignore[assignment]
    if not all(np.isfinite(values[some]).all() for some in row_chunks(values)):  # a mask of all is not held
        raise FileError(f"{file.path}: a feature is not a finite number. Shard again.")
    names = read_names(file) if header.named else None
    return Part(entry.start, entry.stop, adjacency, features, read_labels(header, file), names)


def read_labels(header: Header, file: OpenPart) -> np.ndarray:
    """The classes of a part's nodes."""
    labels = file.read("labels")
    if labels.min() < -1 or labels.max() >= len(header.class_names):
        raise FileError(f"{file.path}: a label is no class of the store. Shard again.")
    return labels


def read_names(file: OpenPart) -> np.ndarray:
    """The names of a part's nodes."""
    return unpack_names(file.path, file.read("names.offsets"), file.read("names.bytes"))


def joined(parts: Sequence[Part]) -> Part:
    """Consecutive parts as one."""
    if len(parts) == 1:
        return parts[0]
    features = [part.features for part in parts]
    names = [part.names for part in parts if part.names is not None]
    return Part(
        parts[0].start,
        parts[-1].stop,
        _stacked([part.adjacency for part in parts]),
        _stacked(features) if sparse.issparse(features[0]) else np.concatenate(features),
        np.concatenate([part.labels for part in parts]),
        np.concatenate(names) if names else None,
    )


def _stacked(matrices: Sequence[sparse.csr_array]) -> sparse.csr_array:
    return sparse.csr_array(sparse.vstack(matrices, format="csr"))


def _csr(file: OpenPart, what: str, values: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """A matrix with finite values and, in each row, ascending columns."""
    matrix = checked_csr(
        file.path, what, values, file.read(f"{what}.indices"), file.read(f"{what}.indptr"), shape
    )
    if not np.isfinite(matrix.data).all() or not matrix.has_canonical_format:
        raise FileError(f"{file.path}: the columns or values of {what} are out of order. Shard again.")
    return matrix


def fingerprint(folder: Path, header: Header) -> str:
    """What :attr:`kernode.Graph.fingerprint` gives for the graph; ``header``'s own is not looked at."""
    digest = hashlib.sha256()
    n = header.nodes
    matrices: list[tuple[tuple[int, int], list[str]]] = [((n, n), _tensors("adjacency"))]
    features = _tensors("features") if header.sparse_features else ["features"]
    matrices.append(((n, header.features), features))
    total, done = len(header.parts) * sum(len(names) for _, names in matrices), 0
    for shape, names in matrices:
        digest.update(repr(shape).encode())
        for name in names:
            for block in _blocks(folder, header, name, done, total):
                digest.update(block.tobytes())
            done += len(header.parts)
    return digest.hexdigest()


def _tensors(matrix: str) -> list[str]:
    return [f"{matrix}.{array}" for array in ("indptr", "indices", "data")]


def _blocks(folder: Path, header: Header, name: str, done: int, total: int) -> Iterator[np.ndarray]:
    """One array of the whole matrix, in the type that a fingerprint is taken of."""
    if name.endswith("indptr"):
        yield np.zeros(1, np.int64)
    offset = 0
    for number, part in enumerate(header.parts):
        tell("fingerprint", done + number, total)
        with opened(folder, header, part) as file:
            if name.endswith("indptr"):
                pointers = file.read(name)
                yield pointers[1:] + offset
                offset += int(pointers[-1])
            else:
                yield from _values(file, part, name, header)


def _values(file: OpenPart, part: PartEntry, name: str, header: Header) -> Iterator[np.ndarray]:
    if name == "adjacency.data" and not header.weighted:
        for start in range(0, part.entries, 2**20):
            yield np.ones(min(2**20, part.entries - start))
        return
    canonical = np.int64 if name.endswith("indices") else np.float64
    for block in file.blocks(name):
        yield block.astype(canonical, copy=False)
