"""One part of a store: the rows of some consecutive nodes in a .safetensors file with a SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.compute.chunks import row_chunks
from kernode.errors import FileError
from kernode.io.archive import checked_csr
from kernode.io.store.header import Header, PartEntry
from kernode.storage import damaged

# Parts whose SHA-256 this process compared: path, SHA-256, time of change, size.
_verified: set[tuple[str, str, int, int]] = set()


def pack_names(names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets (one more than names) and bytes.

    >>> pack_names(np.array(["ann", "jörg"]))[0]
    array([0, 3, 8])
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names.tolist()]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(encoded), np.uint8)


@contextmanager
def opened(folder: Path, part: PartEntry) -> Iterator[OpenPart]:
    """Open a part after its SHA-256 was compared, once in a process."""
    from safetensors import SafetensorError, safe_open

    path = folder / part.file
    try:
        about = path.stat()
        known = (str(path.resolve()), part.sha256, about.st_mtime_ns, about.st_size)
        if known not in _verified:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != part.sha256:
                    raise damaged(path, "is damaged: its checksum does not match")
            _verified.add(known)
        with safe_open(path, framework="numpy") as tensors:
            yield OpenPart(path, tensors, part.stop - part.start)
    except SafetensorError as error:
        raise damaged(path, f"is not the part of a store ({str(error).rstrip('.')})") from error
    except FileError:
        raise
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror})") from error


@dataclass(frozen=True)
class OpenPart:
    """The open file of a part; tensors are read on access and their values checked."""

    path: Path
    tensors: Any  # what safetensors.safe_open gives
    rows: int

    def labels(self, header: Header) -> np.ndarray:
        """The classes of its nodes."""
        labels = self._read("labels", (self.rows,), "i")
        if labels.min() < -1 or labels.max() >= len(header.class_names):
            raise damaged(self.path, "holds a label that is not a class of the store")
        return labels

    def names(self) -> np.ndarray:
        """The names of its nodes."""
        offsets = self._read("names.offsets", (self.rows + 1,), "i").tolist()
        content = self.tensors.get_tensor("names.bytes").tobytes()
        try:
            names = [
                content[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(offsets)
            ]
        except UnicodeDecodeError as error:
            raise damaged(self.path, "holds names that are not UTF-8") from error
        return np.array(names, str)

    def read(self, header: Header, entry: PartEntry) -> Part:
        """The whole part."""
        weights = (
            self.tensors.get_tensor("adjacency.data")
            if header.weighted
            else np.ones(entry.entries, np.float32)
        )
        adjacency = self._csr("adjacency", weights, header.nodes)
        if (adjacency.data <= 0).any():
            raise damaged(self.path, "holds a weight that is not above 0")
        features: Any
        if header.sparse_features:
            features = self._csr("features", self.tensors.get_tensor("features.data"), header.features)
        else:
            features = self._read("features", (self.rows, header.features), "f")
            if not all(np.isfinite(features[some]).all() for some in row_chunks(features)):
                raise damaged(self.path, "holds a feature that is not a finite number")
        names = self.names() if header.named else None
        return Part(entry.start, entry.stop, adjacency, features, self.labels(header), names)

    def _read(self, name: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
        """A tensor, whose shape is compared before it is loaded."""
        found = tuple(self.tensors.get_slice(name).get_shape())
        array = self.tensors.get_tensor(name) if found == shape else None
        if array is None or array.dtype.kind != kind:
            raise damaged(self.path, f"holds {name} of shape {found} where {shape} is expected")
        return array

    def _csr(self, what: str, values: np.ndarray, width: int) -> sparse.csr_array:
        """A matrix with finite values and, in each row, ascending columns."""
        indices, indptr = (self.tensors.get_tensor(f"{what}.{array}") for array in ("indices", "indptr"))
        matrix = checked_csr(self.path, what, values, indices, indptr, (self.rows, width))
        if not np.isfinite(matrix.data).all() or not matrix.has_canonical_format:
            raise damaged(self.path, f"holds columns or values of {what} that are out of order")
        return matrix


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
