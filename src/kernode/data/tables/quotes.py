"""Stray quotation marks, which make one cell of many rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernode.errors import InputError, warn

_CURE = "Remove the mark or close it, or save the table again."


def refuse_open_quote(name: str, content: bytes, delimiter: str) -> None:
    """Raise where a quotation mark is still open at the end of a text."""
    between = re.escape(delimiter.encode())
    # A mark means something only where a cell begins; two of them within stand for one.
    quoted = re.compile(rb"(?:^|(?<=[\n\r])|(?<=" + between + rb'))"(?:[^"]|"")*+("?)')
    newline = b"\n" if b"\n" in content else b"\r"
    within = 0  # line breaks that are part of a value
    for cell in quoted.finditer(content):
        if not cell[1]:
            row = 1 + content.count(newline, 0, cell.start()) - within
            raise InputError(f"{name}, row {row}: a quotation mark opens and is never closed. {_CURE}")
        within += cell[0].count(newline)


def warn_of_swallowed(name: str, columns: Any, rows: np.ndarray, delimiter: str) -> None:
    """Warn where a cell holds what looks like rows of its table: two stray marks and what lies between."""
    n = columns.num_columns
    found = [
        (int(rows[row]), lines - 1)
        for at in range(n)
        for row, value in _with_line_breaks(columns.column(at))
        if (lines := _looks_like_rows(value, at, n, delimiter))
    ]
    if found:
        row, breaks = min(found)
        more = f" (and {len(found) - 1:,} more such cells)" if len(found) > 1 else ""
        warn(
            f"{name}, row {row}: a cell between quotation marks holds {breaks:,} line break"
            f"{'s' * (breaks > 1)} and looks like rows of the table{more}. "
            "Remove the marks if they are stray: these rows are not read."
        )


def warn_of_dropped(name: str, dropped: dict[int, str]) -> None:
    """Warn where a row that has too few or too many values, given by number, goes over several lines."""
    for row, text in sorted(dropped.items()):
        lines = len(text.strip().splitlines())
        if lines > 1:
            warn(
                f"{name}, row {row}: a quotation mark makes one row of {lines:,} lines, which is dropped. "
                f"{_CURE}"
            )
            return


def _with_line_breaks(column: Any) -> Iterator[tuple[int, str]]:
    import pyarrow.compute as pc

    rows = np.flatnonzero(pc.match_substring(column, "\n").fill_null(False).to_numpy())
    return zip(rows.tolist(), column.take(rows).to_pylist(), strict=True)


def _looks_like_rows(value: str, at: int, n: int, delimiter: str) -> int:
    """How many lines a cell of column ``at`` of n has, if they end a row, are rows and begin one; else 0."""
    first, *between, last = (line.count(delimiter) for line in value.split("\n"))
    whole = sum(count == n - 1 for count in between)
    fits = first == n - 1 - at and last == at and 2 * whole >= len(between) and n > 1
    return len(between) + 2 if fits else 0
