"""A store from a graph in memory, and what every way of writing one shares: parts, then ``store.json``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io.store.header import DTYPES, FILE, Header, PartEntry
from kernode.io.store.part import Stream, pack_names, write_part
from kernode.io.store.store import Store, borders
from kernode.progress import tell


def write_store(graph: Graph, folder: str | os.PathLike[str], parts: int) -> Store:
    """Write a graph to a new or empty folder in parts, of about as many entries and nodes each."""
    cuts = borders(np.diff(graph.adjacency.indptr), parts)
    source = _OfGraph(graph)
    with new_folder(Path(folder)) as target:
        written = write_parts(source, target, cuts)
        replace(source.header(), parts=written).write(target)
    return Store.open(folder)


def require_free(folder: Path) -> None:
    """Raise unless a store can be written to a folder: it is new or empty."""
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"{folder} is a file. A store is a folder: choose another name.", "conflict", path=str(folder)
        )
    if (folder / FILE).exists():
        raise InputError(
            f"{folder} is a finished store. Choose another folder, or delete this one.",
            "conflict",
            path=str(folder),
        )
    if folder.exists() and any(folder.iterdir()):
        raise InputError(
            f"{folder} is not empty. Choose a new or an empty folder for the store.",
            "conflict",
            path=str(folder),
        )


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Make the folder of a store; whatever goes wrong removes it again."""
    require_free(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(
            f"{folder} cannot be written ({reason}). Choose another place.", path=str(folder)
        ) from error
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


class Rows(Protocol):
    """What parts are written of, wherever it is kept."""

    def tensors(self, start: int, stop: int) -> dict[str, Stream]:
        """What a part of these rows holds."""


def write_parts(source: Rows, folder: Path, cuts: Sequence[int] | np.ndarray) -> tuple[PartEntry, ...]:
    """Write the parts between these borders."""
    spans = [(int(start), int(stop)) for start, stop in pairwise(cuts)]
    entries = []
    for number, (start, stop) in enumerate(spans):
        tell("parts", number, len(spans))
        file = f"part-{number:05}.safetensors"
        tensors = source.tensors(start, stop)
        digest, size = write_part(folder / file, tensors)
        filled = tensors.get("features.indices")
        entries.append(
            PartEntry(
                file=file,
                start=start,
                stop=stop,
                entries=tensors["adjacency.indices"].shape[0],
                feature_entries=None if filled is None else filled.shape[0],
                sha256=digest,
                bytes=size,
            )
        )
    tell("parts", len(spans), len(spans))
    return tuple(entries)


class _OfGraph:
    """A graph in memory."""

    def __init__(self, graph: Graph) -> None:
        if graph.features.dtype.name not in DTYPES:
            raise InputError(
                f"features must be {', '.join(DTYPES)} for a store. Got {graph.features.dtype}: convert them."
            )
        self.graph = graph
        self.weighted = bool((graph.adjacency.data != 1).any())

    def header(self) -> Header:
        """All but the parts."""
        graph = self.graph
        return Header(
            name=graph.name,
            nodes=graph.n_nodes,
            features=graph.n_features,
            sparse_features=sparse.issparse(graph.features),
            dtype=graph.features.dtype.name,
            entries=int(graph.adjacency.nnz),
            weighted=self.weighted,
            class_names=graph.class_names,
            named=graph.node_names is not None,
            fingerprint=graph.fingerprint,
            order="given",
            notes=graph.notes,
            encoding=None if graph.encoding is None else graph.encoding.to_json(),
            repairs=tuple(repair.short().to_json() for repair in graph.repairs),
            parts=(),
        )

    def tensors(self, start: int, stop: int) -> dict[str, Stream]:
        """As :class:`Rows` says."""
        graph = self.graph
        arrays = _csr_arrays("adjacency", graph.adjacency, start, stop)
        if not self.weighted:
            del arrays["adjacency.data"]
        if sparse.issparse(graph.features):
            arrays |= _csr_arrays("features", graph.features, start, stop)
        else:
            arrays["features"] = graph.features[start:stop]
        arrays["labels"] = graph.labels[start:stop]
        if graph.node_names is not None:
            arrays["names.offsets"], arrays["names.bytes"] = pack_names(graph.node_names[start:stop])
        return {name: Stream.of(array) for name, array in arrays.items()}


def _csr_arrays(what: str, matrix: Any, start: int, stop: int) -> dict[str, np.ndarray]:
    pointers = matrix.indptr[start : stop + 1].astype(np.int64)
    own = slice(pointers[0], pointers[-1])
    return {
        f"{what}.indptr": pointers - pointers[0],
        f"{what}.indices": matrix.indices[own].astype(np.int64),
        f"{what}.data": matrix.data[own],
    }
