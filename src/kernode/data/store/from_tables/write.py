"""A store from two Parquet tables, the same as that of the graph that they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.chunks import chunks
from kernode.data.store.borders import borders, require_parts
from kernode.data.store.fingerprint import fingerprint
from kernode.data.store.from_tables.edges import SortedEdges
from kernode.data.store.from_tables.nodes import ListedNodes
from kernode.data.store.from_tables.roles import Roles
from kernode.data.store.header import Header
from kernode.data.store.journal import Journal
from kernode.data.store.part_file import Stream
from kernode.data.store.store import Store
from kernode.data.store.write import write_parts
from kernode.data.tables.joined import notes_on_joined
from kernode.data.tables.to_graph import name_of

_ENTRIES = 2**19  # that are copied at a time


def shard_tables(roles: Roles, folder: str | os.PathLike[str], parts: int) -> Store:
    """Write a store of Parquet tables without ever holding their graph.

    Memory is needed for the ids of the nodes, one of their columns at a time, and a few million edges.
    The store equals that of ``read_table`` for the same tables. Interrupted, the same call goes on.
    """
    require_parts(parts)
    nodes = ListedNodes.of(roles)  # before the folder is made: what stands in the way is seen here
    about = {"source": roles.identity, "parts": parts, "order": "given"}
    with Journal.begin(Path(folder), about) as journal:
        edges = SortedEdges.of(roles, nodes.listed, journal.work)
        source = _OfTables(nodes, edges, np.concatenate([[0], np.cumsum(edges.entries)]))
        written = write_parts(source, journal, borders(edges.entries, parts))
        header = replace(source.header(roles), parts=written)
        replace(header, fingerprint=fingerprint(journal.folder, header)).write(journal.folder)
        journal.end()
    return Store.open(folder)


@dataclass(frozen=True)
class _OfTables:
    """What parts are written of: nodes in a Parquet file, and edges sorted in files."""

    nodes: ListedNodes
    edges: SortedEdges
    pointers: np.ndarray  # n + 1: where rows begin

    def header(self, roles: Roles) -> Header:
        """All but the parts and the fingerprint."""
        nodes, edges, n = self.nodes, self.edges, len(self.edges.ids)
        repairs = (*nodes.listed.repairs, *edges.ends.repairs, *nodes.labels.repairs, *nodes.repairs)
        notes = (
            *edges.notes,
            *notes_on_joined(nodes.listed, edges.added, edges.ends, edges.entries),
            *roles.label_notes,
            *nodes.labels.notes,
            *map(str, repairs),
            *nodes.encoding.describe(),
        )
        return Header(
            name=name_of(roles.edges.path, "edges"),
            nodes=n,
            features=nodes.width,
            sparse_features=nodes.is_sparse(n),
            dtype="float32",
            entries=int(self.pointers[-1]),
            weighted=edges.weights is not None,
            class_names=nodes.labels.names,
            named=True,
            fingerprint="",
            order="given",
            notes=notes,
            encoding=nodes.encoding.to_json(),
            repairs=tuple(repair.short().to_json() for repair in repairs),
            parts=(),
        )

    def tensors(self, start: int, stop: int) -> dict[str, Stream]:
        """What a part of these rows holds, streamed from files."""
        nodes, edges = self.nodes, self.edges
        own = self.pointers[start : stop + 1]
        first, last = int(own[0]), int(own[-1])
        tensors = {
            "adjacency.indptr": Stream.of(own - own[0]),
            "adjacency.indices": _from_file(edges.indices, np.dtype(np.int64), first, last),
            "labels": Stream.of(self._labels(start, stop)),
        }
        if edges.weights is not None:
            tensors["adjacency.data"] = _from_file(edges.weights, np.dtype(np.float32), first, last)
        if nodes.is_sparse(len(edges.ids)):
            x = nodes.sparse_features(start, stop)
            tensors["features.indptr"] = Stream.of(x.indptr.astype(np.int64))
            tensors["features.indices"] = Stream.of(x.indices.astype(np.int64))
            tensors["features.data"] = Stream.of(x.data)
        else:
            shape = (stop - start, nodes.width)
            tensors["features"] = Stream(np.dtype(np.float32), shape, nodes.features(start, stop))
        return tensors | _names(edges.ids.slice(start, stop - start))

    def _labels(self, start: int, stop: int) -> np.ndarray:
        known = self.nodes.labels.numbers[start:stop]
        return np.append(known, np.full(stop - start - len(known), -1))


def _names(ids: Any) -> dict[str, Stream]:
    """Names of a part's nodes as tensors: pyarrow keeps text as offsets and bytes, too."""
    _, offsets, content = ids.buffers()
    at = np.frombuffer(offsets, np.int64, len(ids) + 1, 8 * ids.offset)
    text = np.frombuffer(content, np.uint8)[at[0] : at[-1]]
    return {"names.offsets": Stream.of(at - at[0]), "names.bytes": Stream.of(text)}


def _from_file(path: Path, dtype: np.dtype, first: int, last: int) -> Stream:
    def blocks() -> Iterator[np.ndarray]:
        with path.open("rb") as file:
            file.seek(first * dtype.itemsize)
            for some in chunks(last - first, _ENTRIES):
                yield np.fromfile(file, dtype, some.stop - some.start)

    return Stream(dtype, (last - first,), blocks())
