"""A store from two Parquet tables, the same as that of the graph that they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.compute.chunks import chunks
from kernode.io.store.header import Header
from kernode.io.store.part import Stream, fingerprint
from kernode.io.store.store import Store, borders, require_parts
from kernode.io.store.table_edges import SortedEdges
from kernode.io.store.table_roles import NotBoundedError, ParquetTable, Roles
from kernode.io.store.write import new_folder, write_parts
from kernode.io.tables.arrow import pa
from kernode.io.tables.columns import Column, Encoding
from kernode.io.tables.columns.encoding import is_mostly_zero, learn_columns
from kernode.io.tables.labels import Labels, NoClassesError, read_labels
from kernode.io.tables.nodes import Listed, notes_on_joined
from kernode.io.tables.table import Repair
from kernode.io.tables.to_graph import name_of, unreadable
from kernode.progress import tell

_CELLS = 2**20  # numbers of X that are made at a time


@dataclass(frozen=True, eq=False)
class ListedNodes:
    """What a table of nodes lists, and what its columns become; X itself is made when parts are written."""

    table: ParquetTable
    listed: Listed  # with ids and classes only
    labels: Labels  # of the listed nodes
    encoding: Encoding
    repairs: tuple[Repair, ...]  # of values that could not be read
    entries: int  # of the columns' features that are not 0, of listed nodes

    @classmethod
    def of(cls, roles: Roles) -> ListedNodes:
        """Read ids and classes, then learn from one column after another."""
        few = [roles.id, *([roles.label] if roles.label else [])]
        listed = Listed.of(roles.nodes.read(few), roles.id)
        labels = _labels(listed, roles)
        rows = _rows(listed)
        columns: list[Column] = []
        left_out: list[str] = []
        repairs: list[Repair] = []
        entries = 0
        for done, (name, kind) in enumerate(roles.features.items()):
            tell("columns", done, len(roles.features))
            values = roles.nodes.read([name]).columns
            values = values if len(rows) == values.num_rows else values.take(rows)
            learned, reasons = learn_columns(values, {name: kind}, values)
            left_out += reasons
            for column in learned:
                columns.append(column)
                entries += int(np.count_nonzero(column.encode(values[name])))
                repairs += _unreadable(listed, column, values)
        if not columns:
            raise NotBoundedError(
                f"{roles.nodes.name}: no column says anything ({'; '.join(left_out) or 'it has no row'}), "
                "and positions in the graph need all of it. Give nodes a column of numbers."
            )
        encoding = Encoding(
            tuple(columns),
            None,
            roles.id,
            roles.source,
            roles.target,
            roles.weight,
            roles.label,
            labels.names,
            tuple(left_out),
            unknown=labels.unknown,
        )
        return cls(roles.nodes, listed, labels, encoding, tuple(repairs), entries)

    @property
    def width(self) -> int:
        """Columns of X."""
        return len(self.encoding.feature_names)

    def is_sparse(self, n: int) -> bool:
        """Whether X of n nodes is kept sparse, by the rule of tables in memory."""
        of_added = sum(getattr(column, "marks_missing", False) for column in self.encoding.columns)
        entries = n + self.entries + of_added * (n - len(self.listed.ids))
        return is_mostly_zero(entries, n, self.width)

    def features(self, start: int, stop: int) -> Iterator[np.ndarray]:
        """X of nodes ``start … stop − 1``, a few rows at a time; all is missing of who is not listed."""
        names = [column.name for column in self.encoding.columns]
        size = max(1, _CELLS // self.width)
        rows = _rows(self.listed)[start:stop]
        for table in self.table.at(rows, names, size):
            yield self._encoded(table)
        types = self.table.types
        for some in chunks(stop - start - len(rows), size):
            count = some.stop - some.start
            yield self._encoded(pa.table({name: pa.nulls(count, types[name]) for name in names}))

    def sparse_features(self, start: int, stop: int) -> sparse.csr_array:
        """The same as one matrix without its zeros."""
        blocks = [sparse.csr_array(block) for block in self.features(start, stop)]
        matrix = sparse.csr_array(sparse.vstack(blocks, format="csr"))
        matrix.sum_duplicates()
        return matrix

    def _encoded(self, table: Any) -> np.ndarray:
        columns = [column.encode(table[column.name]) for column in self.encoding.columns]
        constant = np.ones((table.num_rows, 1), np.float32)
        return np.hstack([constant, *(column.astype(np.float32) for column in columns)])


def _rows(listed: Listed) -> np.ndarray:
    """The row of every listed node in its table."""
    assert listed.table is not None
    return listed.table.rows


def _labels(listed: Listed, roles: Roles) -> Labels:
    n = len(listed.ids)
    if roles.label is None:
        return Labels(np.full(n, -1), ())
    try:
        return read_labels(listed, roles.label, n, roles.unknown)
    except NoClassesError as error:
        if roles.label_is_named:
            raise
        raise NotBoundedError(
            f"{str(error).rstrip('.')}. Name the column of the label, or rename this one.",
            "missing",
            setting="label",
        ) from error


def _unreadable(listed: Listed, column: Column, values: Any) -> tuple[Repair, ...]:
    """Values of one column that are not of its kind."""
    assert listed.table is not None
    alone = Encoding((column,), None, None, "", "", None, None)
    return unreadable(alone, replace(listed.table, columns=values), values, later=False)


_ENTRIES = 2**19  # that are copied at a time


def shard_tables(roles: Roles, folder: str | os.PathLike[str], parts: int) -> Store:
    """Write a store of Parquet tables without ever holding their graph.

    Memory is needed for the ids of the nodes, one of their columns at a time, and a few million edges.
    The store equals that of ``read_table`` for the same tables.
    """
    require_parts(parts)
    nodes = ListedNodes.of(roles)  # before the folder is made: what stands in the way is seen here
    with new_folder(Path(folder)) as target:
        work = target / "work"
        work.mkdir()
        edges = SortedEdges.of(roles, nodes.listed, work)
        source = _OfTables(nodes, edges, np.concatenate([[0], np.cumsum(edges.entries)]))
        written = write_parts(source, target, borders(edges.entries, parts))
        header = replace(source.header(roles), parts=written)
        shutil.rmtree(work)
        replace(header, fingerprint=fingerprint(target, header)).write(target)
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
