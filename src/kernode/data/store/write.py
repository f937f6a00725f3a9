"""A store from a graph in memory, and what every way of writing one shares: parts, then ``store.json``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from kernode.data.store.borders import borders
from kernode.data.store.header import DTYPES, ORDERS, Header, PartEntry
from kernode.data.store.journal import Journal
from kernode.data.store.names import pack_names
from kernode.data.store.order import metis_order
from kernode.data.store.part_file import Stream, write_part
from kernode.data.store.store import Store
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.progress import tell


def write_store(graph: Graph, folder: str | os.PathLike[str], parts: int, order: str = "given") -> Store:
    """Write a graph to a folder in parts, of about as many entries and nodes each.

    - ``order``: "given", or "metis" to renumber the nodes so that few edges join different parts. Nodes
      without names then keep their positions as names.

    Interrupted, the same call goes on where it stopped; a folder of something else is refused.
    """
    if order not in ORDERS:
        raise InputError(f"order must be one of {', '.join(ORDERS)}. Got {order!r}.")
    cuts = borders(np.diff(graph.adjacency.indptr), parts)
    if order == "metis":
        graph, cuts = metis_order(graph, len(cuts) - 1)
    source = _OfGraph(graph)
    about = {"source": source.identity(), "parts": len(cuts) - 1, "order": order}
    with Journal.begin(Path(folder), about) as journal:
        written = write_parts(source, journal, cuts)
        finished = replace(source.header(), order=order, parts=written, entries=int(graph.adjacency.nnz))
        finished.write(journal.folder)
        journal.end()
    return Store.open(folder)


class Rows(Protocol):
    """What parts are written of, wherever it is kept."""

    def tensors(self, start: int, stop: int) -> dict[str, Stream]:
        """What a part of these rows holds."""


def write_parts(source: Rows, journal: Journal, cuts: Sequence[int] | np.ndarray) -> tuple[PartEntry, ...]:
    """Write the parts between these borders that the journal does not have yet."""
    spans = [(int(start), int(stop)) for start, stop in pairwise(cuts)]
    entries = []
    for number, (start, stop) in enumerate(spans):
        tell("parts", number, len(spans))
        known = journal.part(number)
        if known is None or (known.start, known.stop) != (start, stop):
            file = f"part-{number:05}.safetensors"
            tensors = source.tensors(start, stop)
            digest, size = write_part(journal.folder / file, tensors)
            filled = tensors.get("features.indices")
            known = PartEntry(
                file=file,
                start=start,
                stop=stop,
                entries=tensors["adjacency.indices"].shape[0],
                feature_entries=None if filled is None else filled.shape[0],
                sha256=digest,
                bytes=size,
            )
            journal.add(number, known)
        entries.append(known)
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
            entries=0,
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

    def identity(self) -> dict[str, Any]:
        """What tells this graph from another, beside its order: plain values."""
        graph, header = self.graph, asdict(self.header())
        digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
        digest.update(graph.labels.tobytes())
        if graph.node_names is not None:
            digest.update(graph.node_names.tobytes())
        return {"name": graph.name, "fingerprint": graph.fingerprint, "sha256": digest.hexdigest()}

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
