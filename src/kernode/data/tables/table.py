"""A table as it was read: its columns, the numbers of its rows, and what was done to it so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernode.data.tables.repairs import Repair
from kernode.errors import InputError


@dataclass(frozen=True)
class Table:
    """A table with a name for sentences, the number of each of its rows, and what was done to it so far."""

    name: str
    columns: Any  # a pyarrow table
    rows: np.ndarray  # the number of every row, as its owner counts
    repairs: tuple[Repair, ...] = ()
    written: bool = False  # as text, with a header in row 1
    notes: tuple[str, ...] = ()  # what was done to columns
    delimiter: str | None = None  # of a text file
    names_by_looks: int | None = None  # that row's number, where nobody said that it holds names
    index: Any = None  # a column of its own that was left out for want of a name, as a table: perhaps ids

    def __getitem__(self, column: str) -> Any:
        return self.columns[column]

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    @property
    def header(self) -> str:
        """Where the names of its columns stand."""
        return f"{self.name}, row 1" if self.written else self.name

    @property
    def column_names(self) -> list[str]:
        """In the table's order."""
        return list(self.columns.column_names)

    def without(self, bad: np.ndarray, what: str) -> Table:
        """The same table without some rows (booleans), which are named."""
        if not bad.any():
            return self
        dropped = Repair.of(self.name, what, "dropped", self.rows[bad])
        kept = np.flatnonzero(~bad)
        require_rows(len(kept), dropped)
        return replace(self.take(kept), repairs=(*self.repairs, *dropped))

    def take(self, kept: np.ndarray) -> Table:
        """The same table with only these of its rows, by position."""
        index = None if self.index is None else self.index.take(kept)
        return replace(self, columns=self.columns.take(kept), rows=self.rows[kept], index=index)

    def with_index(self) -> Table:
        """The same table with the column that had no name in front, as its ids."""
        name = self.index.column_names[0]
        columns = self.columns.add_column(0, name, self.index.column(0))
        what = name if self.written else "the data frame's index"
        notes = [note for note in self.notes if note != left_out_note(self.name, what)]
        notes.append(f"{self.name}: took {what}, which has no name, as id: it has the nodes of the edges")
        return replace(self, columns=columns, notes=tuple(notes), index=None)

    def with_names_as_data(self, why: str) -> Table:
        """The same table with its row of names as the first row of data."""
        import pyarrow as pa

        names = self.column_names
        numbered = [f"column {at + 1}" for at in range(len(names))]
        first = pa.table(
            {new: pa.array([old], pa.large_string()) for new, old in zip(numbered, names, strict=True)}
        )
        row = 1 if self.names_by_looks is None else self.names_by_looks
        return replace(
            self,
            columns=pa.concat_tables([first, self.columns.rename_columns(numbered)]),
            rows=np.append(row, self.rows),
            notes=(*self.notes, data_note(self.name, row, why)),
            names_by_looks=None,
        )


def require_rows(left: int, dropped: tuple[Repair, ...]) -> None:
    """Raise where rows were dropped and none is left: then the table is not what it was taken for."""
    if dropped and not left:
        raise InputError(f"{dropped[0]}, and no other row is there. Check the file and its columns.")


def data_note(table: str, row: int, why: str) -> str:
    """What is said where the first row is taken for data."""
    return f"{table}: row {row} is data, for {why}; columns are called column 1, column 2, …"


def left_out_note(table: str, what: str) -> str:
    """What is said where a column is left out for want of a name."""
    return f"{table}: left out {what}, which has no name"
