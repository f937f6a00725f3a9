"""The fingerprint of a whole graph from its parts, a few megabytes at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kernode.data.store.header import Header, PartEntry
from kernode.data.store.part_file import OpenPart, opened
from kernode.progress import tell


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
