"""Some consecutive rows of a graph: all that is known about these nodes, with columns for all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernode.compute.chunks import row_chunks
from kernode.data.csr import checked_csr
from kernode.data.store.header import Header, PartEntry
from kernode.data.store.names import unpack_names
from kernode.data.store.part_file import OpenPart
from kernode.errors import FileError


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
