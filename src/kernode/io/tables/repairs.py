"""Rows of tables that were dropped or changed, by number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

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
