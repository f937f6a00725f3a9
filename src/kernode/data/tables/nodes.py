"""Nodes from a table: ids without gaps and repeats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernode.data.tables.choose import choose
from kernode.data.tables.files import IDS
from kernode.data.tables.ids import coded_ids, places
from kernode.data.tables.repairs import Repair
from kernode.data.tables.table import Table
from kernode.errors import InputError


@dataclass(frozen=True)
class Listed:
    """What a table of nodes lists, each node once; without such a table, nothing."""

    id: str | None
    ids: Any  # large_string, unique
    table: Table | None  # a row for each of them
    every_row: Table | None = None  # also those that repeat an id
    node: np.ndarray | None = None  # of each of these rows

    @classmethod
    def of(cls, table: Table | None, id: str | None) -> Listed:
        """Take the ids from a table; where the column is not named, by a usual name or the first."""
        import pyarrow as pa

        if table is None:
            return cls(None, pa.array([], pa.large_string()), None)
        if not table.column_names:
            raise InputError(f"{table.name} has no columns. A table of nodes needs one for their ids.")
        found = choose(table, id, "id", IDS)
        if found is None:
            found = table.column_names[0]
            table = replace(table, notes=(*table.notes, f"{table.name}: took {found!r} as id"))
        coded, written = coded_ids(table, [found])
        codes = coded[:, 0]
        missing = codes < 0
        table, codes = table.without(missing, "had no id"), codes[~missing]
        codes = places(written, written)[codes]  # one number per id, the first that stands for it
        first, node = _numbered(codes)
        repeated = np.ones(len(codes), bool)
        repeated[first] = False
        unique = table.without(repeated, "repeated an id")
        return cls(found, written.take(codes[~repeated]), unique, table, node)

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """Rows that were left out."""
        return () if self.table is None else self.table.repairs

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the table."""
        return () if self.table is None else self.table.notes


def _numbered(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each code, in order of appearance, and for each row which of these has its code."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


def aligned(table: Table, n: int) -> Table:
    """A table of the first of n nodes with rows for all of them, empty where it has none."""
    import pyarrow as pa

    rows = np.arange(n)
    beyond = rows >= len(table)
    columns = table.columns.take(pa.array(np.where(beyond, 0, rows), mask=beyond))
    return replace(table, columns=columns, rows=np.append(table.rows, np.full(n - len(table), -1)))
