"""A table as it was read: its columns, the numbers of its rows, and what was done to it so far."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph.graph import Origin
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.columns import Encoding
from kernode.io.tables.columns.values import are_whole, without_point_zero

_SHOWN = 20  # rows in a sentence; all of them stand in ``rows``


@dataclass(frozen=True)
class Repair:
    """One kind of repair in one table.

    Rows are numbered as the table's reader sees them: in a text file the header is row 1, as in a
    spreadsheet; in Parquet, Arrow and tables in memory the first row is 0, as in pandas.

    >>> print(Repair("nodes.csv", "had no id", "dropped", (17, 230)))
    nodes.csv: dropped 2 rows that had no id (rows 17, 230)
    """

    table: str
    what: str  # what was wrong with the rows
    done: str  # what was done to them: dropped, taken as missing, …
    rows: tuple[int, ...] = field(repr=False)
    left_out: int = 0  # rows that are counted and not named any more: a model's file names the first thousand

    @property
    def count(self) -> int:
        """How many rows."""
        return len(self.rows) + self.left_out

    def short(self, most: int = 1000) -> Repair:
        """The same with no more rows than that by number, the others counted."""
        return replace(self, rows=self.rows[:most], left_out=self.count - len(self.rows[:most]))

    @classmethod
    def of(cls, table: str, what: str, done: str, rows: Iterable[Any]) -> tuple[Repair, ...]:
        """A repair of these rows, or none where there are no such rows."""
        numbers = tuple(sorted(int(row) for row in rows))
        return (cls(table, what, done, numbers),) if numbers else ()

    def __str__(self) -> str:
        count, more = self.count, ", …" if self.count > _SHOWN else ""
        shown = ", ".join(str(row) for row in self.rows[:_SHOWN])
        plural = "s" if count > 1 else ""
        return f"{self.table}: {self.done} {count:,} row{plural} that {self.what} (row{plural} {shown}{more})"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "table": self.table,
            "what": self.what,
            "done": self.done,
            "count": self.count,
            "rows": list(self.rows),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Repair:
        """What :meth:`to_json` described."""
        rows = tuple(values["rows"])
        return cls(values["table"], values["what"], values["done"], rows, values["count"] - len(rows))


@dataclass(frozen=True)
class Table:
    """A table with a name for sentences, the number of each of its rows, and what was done to it so far."""

    name: str
    columns: Any  # a pyarrow table
    rows: np.ndarray  # the number of every row, as its owner counts
    repairs: tuple[Repair, ...] = ()
    notes: tuple[str, ...] = ()  # what was done to columns
    delimiter: str | None = None  # of a text file
    names_by_looks: int | None = None  # row number of a guessed header
    index: Any = None  # a column of its own that was left out for want of a name, as a table: perhaps ids

    def __getitem__(self, column: str) -> Any:
        return self.columns[column]

    def __len__(self) -> int:
        return int(self.columns.num_rows)

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
        what = name if self.delimiter else "the data frame's index"
        notes = [note for note in self.notes if note != left_out_note(self.name, what)]
        notes.append(f"{self.name}: took {what}, which has no name, as id: it has the nodes of the edges")
        return replace(self, columns=columns, notes=tuple(notes), index=None)

    def with_names_as_data(self, why: str) -> Table:
        """The same table with its row of names as the first row of data."""
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
        raise InputError(
            f"{dropped[0]}, and no other row is there. Check the file and its columns.", "too-few"
        )


def data_note(table: str, row: int, why: str) -> str:
    """What is said where the first row is taken for data."""
    return f"{table}: row {row} is data, for {why}; columns are called column 1, column 2, …"


def left_out_note(table: str, what: str) -> str:
    """What is said where a column is left out for want of a name."""
    return f"{table}: left out {what}, which has no name"


_ROLES = {"id": "ids"}


def choose(table: Table, given: str | None, role: str, usual: Sequence[str]) -> str | None:
    """The column for a role, or None where none was named and none is called so."""
    names = table.column_names
    if given is not None:
        require(table, [given], role)
        return given
    lower = {name.lower(): name for name in reversed(names)}
    return next((lower[name] for name in usual if name in lower), None)


def require(table: Table, columns: Sequence[str], role: str) -> None:
    """Raise unless a table has these columns."""
    names = table.column_names
    for column in columns:
        if column not in names:
            close = difflib.get_close_matches(column, names, 1)
            hint = f"Did you mean {close[0]!r}?" if close else f"It has {', '.join(names)}."
            raise InputError(
                f"{table.name}: there is no column {column!r} for the {_ROLES.get(role, role)}. {hint}",
                "unknown",
                what="column",
                name=column,
                setting=role,
            )


_LONGEST = 1000  # characters: numpy holds every name in as much room as the longest takes


def coded_ids(table: Table, columns: list[str]) -> tuple[np.ndarray, Any]:
    """Columns of ids as numbers, and the id that each number stands for.

    Gives rows × columns, −1 where there is no id, and a large_string array. Two numbers may stand for one
    id, where only blanks around it differ, or 2 and 2.0. Every cell is looked at once: ten million edges
    name few nodes.
    """
    chunks = [chunk for column in columns for chunk in _plain_ids(table, column).chunks]
    # One array first: of many chunks pyarrow would unify the dictionaries, which takes minutes.
    coded = pa.concat_arrays([pa.array([], pa.large_string()), *chunks]).dictionary_encode()
    ids, codes = coded.dictionary, coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).copy()
    ids = pc.utf8_trim_whitespace(ids)
    if are_whole(ids):
        ids = without_point_zero(ids)
    empty = pc.equal(ids, "").to_numpy(zero_copy_only=False)
    if empty.any():
        codes[np.append(empty, False)[codes]] = -1
    longest = pc.max(pc.utf8_length(ids)).as_py() or 0
    if longest > _LONGEST:
        raise InputError(
            f"{table.name}: an id in {' or '.join(columns)} has {longest:,} characters. "
            f"Ids have at most {_LONGEST:,}: name another column, or shorten them.",
            "too-large",
            what="id",
        )
    return codes.reshape(len(columns), -1).T, ids


def _plain_ids(table: Table, column: str) -> Any:
    """A column of ids as text, null where there is none: large_string.

    One type for all, because files disagree: 17 in a database is "17" in a CSV file, and 17.0 where pandas
    had to make room for a missing one.
    """
    values = table[column]
    try:
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_floating(values.type):
            values = values.cast(pa.float64())
            whole = pc.and_(pc.is_finite(values), pc.equal(pc.floor(values), values))
            exact = pc.and_(whole, pc.less(pc.abs(values), 2.0**53)).fill_null(False)
            if pc.all(pc.or_(exact, pc.is_null(values, nan_is_null=True))).as_py() is not False:
                values = pc.if_else(exact, values, pa.scalar(None, values.type)).cast(pa.int64())
        return values.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{table.name}: column {column!r} holds {values.type}, which cannot be an id. "
            "Name another column, or write its values as text.",
            "unsupported",
            column=column,
        ) from error


def places(ids: Any, known: Any) -> np.ndarray:
    """Where each id stands among known ones, −1 where it does not: int64."""
    at = pc.index_in(ids, value_set=known).fill_null(-1)
    return at.to_numpy(zero_copy_only=False).astype(np.int64)


@dataclass(frozen=True)
class TableOrigin(Origin):
    """What the columns became, to be repeated on other tables, and the rows that were dropped or changed."""

    encoding: Encoding
    repairs: tuple[Repair, ...] = ()

    def placed(self, features: Any, adjacency: sparse.csr_array, names: np.ndarray | None) -> Any:
        """Positions of nodes belong to the edges they were computed from."""
        return features if names is None else self.encoding.placed(features, adjacency, names)
