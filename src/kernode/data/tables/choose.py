"""Which column plays a role: the one that was named, or one that has a usual name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from kernode.data.tables.table import Table
from kernode.errors import InputError


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
            raise InputError(f"{table.header}: there is no column {column!r} for {role}=. {hint}")
