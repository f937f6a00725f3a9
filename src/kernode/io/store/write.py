"""Write a graph as a store: its parts, then ``store.json``."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save
from scipy import sparse

from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io.store.header import DTYPES, FILE, Header, PartEntry
from kernode.io.store.part import pack_names
from kernode.io.store.store import Store, borders
from kernode.progress import tell
from kernode.storage import write_whole


def write_store(graph: Graph, folder: str | os.PathLike[str], parts: int) -> Store:
    """Write a graph to a new or empty folder in parts, of about as many entries and nodes each."""
    if graph.features.dtype.name not in DTYPES:
        raise InputError(
            f"the features of a store must be {', '.join(DTYPES)}. Got {graph.features.dtype}.",
            "unsupported",
            dtype=graph.features.dtype.name,
        )
    cuts = borders(np.diff(graph.adjacency.indptr), parts).tolist()
    weighted = bool((graph.adjacency.data != 1).any())
    with _new_folder(Path(folder)) as target:
        entries = []
        for number, (start, stop) in enumerate(pairwise(cuts)):
            tell("parts", number, len(cuts) - 1)
            entries.append(_write_part(graph, target, number, start, stop, weighted=weighted))
        tell("parts", 1, 1)
        Header(
            name=graph.name,
            nodes=graph.n_nodes,
            features=graph.n_features,
            sparse_features=sparse.issparse(graph.features),
            dtype=graph.features.dtype.name,
            entries=int(graph.adjacency.nnz),
            weighted=weighted,
            class_names=graph.class_names,
            named=graph.node_names is not None,
            fingerprint=graph.fingerprint,
            order="given",
            notes=graph.notes,
            encoding=None if graph.encoding is None else graph.encoding.to_json(),
            repairs=tuple(repair.short().to_json() for repair in graph.repairs),
            parts=tuple(entries),
        ).write(target)
    return Store.open(folder)


def require_free(folder: Path) -> None:
    """Raise unless a store can be written to a folder: it is new or empty."""
    if folder.exists() and not folder.is_dir():
        reason = "is a file. A store is a folder: choose another name."
    elif (folder / FILE).exists():
        reason = "is a finished store. Choose another folder, or delete this one."
    elif folder.exists() and any(folder.iterdir()):
        reason = "is not empty. Choose a new or an empty folder for the store."
    else:
        return
    raise InputError(f"{folder} {reason}", "conflict", path=str(folder))


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Make the folder of a store; an error removes it again."""
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


def _write_part(
    graph: Graph, folder: Path, number: int, start: int, stop: int, *, weighted: bool
) -> PartEntry:
    arrays = _csr_arrays("adjacency", graph.adjacency, start, stop)
    if not weighted:
        del arrays["adjacency.data"]
    if sparse.issparse(graph.features):
        arrays |= _csr_arrays("features", graph.features, start, stop)
    else:
        arrays["features"] = graph.features[start:stop]
    arrays["labels"] = graph.labels[start:stop]
    if graph.node_names is not None:
        arrays["names.offsets"], arrays["names.bytes"] = pack_names(graph.node_names[start:stop])
    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    file = f"part-{number:05}.safetensors"
    write_whole(folder / file, content)
    filled = arrays.get("features.indices")
    return PartEntry(
        file=file,
        start=start,
        stop=stop,
        entries=len(arrays["adjacency.indices"]),
        feature_entries=None if filled is None else len(filled),
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
    )


def _csr_arrays(what: str, matrix: Any, start: int, stop: int) -> dict[str, np.ndarray]:
    pointers = matrix.indptr[start : stop + 1].astype(np.int64)
    own = slice(pointers[0], pointers[-1])
    return {
        f"{what}.indptr": pointers - pointers[0],
        f"{what}.indices": matrix.indices[own].astype(np.int64),
        f"{what}.data": matrix.data[own],
    }
