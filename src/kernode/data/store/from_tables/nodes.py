"""Nodes from a Parquet table: ids and classes at once, features a column or some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.compute.chunks import chunks
from kernode.data.store.from_tables.parquet import ParquetTable
from kernode.data.store.from_tables.roles import NotBoundedError, Roles
from kernode.data.tables.columns import Column, Encoding
from kernode.data.tables.columns.encoding import is_mostly_zero, learn_columns
from kernode.data.tables.labels import Labels, NoClassesError, read_labels
from kernode.data.tables.nodes import Listed
from kernode.data.tables.repairs import Repair
from kernode.data.tables.to_graph import unreadable
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
        import pyarrow as pa

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
        raise NotBoundedError(f"{str(error).rstrip('.')}. Pass label=, or rename the column.") from error


def _unreadable(listed: Listed, column: Column, values: Any) -> tuple[Repair, ...]:
    """Values of one column that are not of its kind."""
    assert listed.table is not None
    alone = Encoding((column,), None, None, "", "", None, None)
    return unreadable(alone, replace(listed.table, columns=values), values, later=False)
