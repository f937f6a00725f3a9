"""Nodes from a table: ids without gaps and repeats."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from kernode.data.tables.choose import choose
from kernode.data.tables.files import IDS
from kernode.data.tables.ids import coded_ids, places
from kernode.data.tables.near_misses import ROUNDED
from kernode.data.tables.repairs import Repair
from kernode.data.tables.table import Table
from kernode.errors import InputError

WEAK = ("key", "name")  # of the usual names


@dataclass(frozen=True)
class Listed:
    """What a table of nodes lists, each node once; without such a table, nothing."""

    id: str | None
    ids: Any  # large_string, unique
    table: Table | None  # a row for each of them
    every_row: Table | None = None  # also those that repeat an id
    node: np.ndarray | None = None  # of each of these rows
    as_read: Table | None = None  # where the column of the ids is only the first, not named so: every row
    by_weak_name: Table | None = None  # the same where it is called name or key, as other columns are, too

    @classmethod
    def of(cls, table: Table | None, id: str | None) -> Listed:
        """Take the ids from a table; where the column is not named, by a usual name or the first."""
        import pyarrow as pa

        if table is None:
            return cls(None, pa.array([], pa.large_string()), None)
        if not table.column_names:
            raise InputError(f"{table.name} has no columns. A table of nodes needs one for their ids.")
        found = choose(table, id, "id", IDS)
        as_read = table if found is None else None
        weak = id is None and found is not None and found.lower() in WEAK and found != table.column_names[0]
        by_weak_name = table if weak else None
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
        return cls(found, written.take(codes[~repeated]), unique, table, node, as_read, by_weak_name)

    def settled(self, mentioned: Any) -> Listed:
        """The same, unless the first column was taken for the ids and the edges show that it holds none.

        Then the column without a name is taken where it has all nodes that edges mention; else it is asked
        for where an id repeats.
        """
        if self.by_weak_name is not None and not (places(mentioned, self.ids) >= 0).any():
            table, first = self.by_weak_name, self.by_weak_name.column_names[0]
            noted = replace(table, notes=(*table.notes, f"{table.name}: took {first!r} as id"))
            by_first = Listed.of(noted, first)
            return by_first if (places(mentioned, by_first.ids) >= 0).any() else self
        if self.as_read is None or self.every_row is None:
            return self
        n, index = len(self.every_row), self.as_read.index
        repeats = n - len(self.ids)
        matched = int((places(mentioned, self.ids) >= 0).sum())
        if (
            index is not None
            and matched < len(mentioned)
            and (4 * repeats > n or 2 * matched < len(mentioned))
        ):
            by_index = Listed.of(self.as_read.with_index(), index.column_names[0])
            everyone = bool((places(mentioned, by_index.ids) >= 0).all())
            if everyone and len(by_index.ids) == len(self.as_read):
                return by_index
        if repeats:
            self._ask_for_id()
        return self

    def _ask_for_id(self) -> NoReturn:
        assert self.every_row is not None
        assert self.node is not None
        table, node = self.every_row, self.node
        _, first = np.unique(node, return_index=True)
        second = int(np.setdiff1d(np.arange(len(node)), first)[0])
        rows = table.rows[int(first[node[second]])], table.rows[second]
        id = self.ids[int(node[second])].as_py()
        why = f"{table.name}: {self.id!r}, the first column, repeats {id!r} (rows {rows[0]} and {rows[1]})"
        if re.match(ROUNDED, id):
            raise InputError(
                f"{why}, which a spreadsheet has rounded. Save the table again with ids as text, or pass id=."
            )
        raise InputError(
            f"{why}. Which column holds the ids? Pass id=, one of {', '.join(table.column_names)}."
        )

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
