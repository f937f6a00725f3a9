"""Data frames of pandas as columns: by row order, and with the index only where it says something."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from kernode.data.tables.table import left_out_note
from kernode.errors import InputError


def with_index(
    frame: Any, what: str, ids: Collection[str | None], *, asked: bool = False
) -> tuple[Any, tuple[str, ...]]:
    """A data frame with its index as a column where that holds something, without it elsewhere; and a note.

    An index with a name, or of texts, holds something. Numbers without a name are what shuffling, filtering
    and concatenating leave behind. They may yet be ids where no other column is: one of ``ids``; then the
    user is asked. ``asked``: whether a column called index is asked for.
    """
    index = frame.index
    plain = frame.reset_index(drop=True)
    present = [str(name) for name in frame.columns]
    has_ids = what == "edges" or any(name.lower() in ids or name in ids for name in present)
    if any(name is not None for name in index.names):
        return _with_named(frame, what, present)
    if asked and "index" not in present and index.nlevels == 1:
        plain.insert(0, "index", index.to_numpy())
        return plain, (f"{what}: took the data frame's index as column 'index'",)
    if type(index).__name__ == "RangeIndex":
        return plain, ()
    left_out = left_out_note(what, "the data frame's index")
    if has_ids or not index.is_unique or counts_rows(index):
        return plain, (left_out,)
    if index.nlevels == 1 and all(isinstance(key, str) for key in index) and "index" not in present:
        plain.insert(0, "index", index.to_numpy())
        return plain, (f"{what}: took the data frame's index, which is text, as column 'index'",)
    raise InputError(
        f"{what}: the data frame's index has no name. Name it (frame.index.name = 'id') if it holds ids, "
        "or drop it (frame.reset_index(drop=True))."
    )


def _with_named(frame: Any, what: str, present: list[str]) -> tuple[Any, tuple[str, ...]]:
    plain = frame.reset_index(drop=True)
    names = [str(name) for name in frame.index.names if name is not None]
    notes = []
    # Behind an edge's own columns: without usual names the first two are its ends.
    at = len(present) if what == "edges" and len(present) > 1 else 0
    for level, name in enumerate(frame.index.names):
        if name is None:
            continue
        values = frame.index.get_level_values(level)
        if str(name) not in present:
            plain.insert(at, name, values.to_numpy() if values.dtype == object else values.array)
            at += 1
        elif not np.array_equal(values.astype(str), plain[name].astype(str)):
            raise InputError(
                f"{what}: the data frame's index and a column are both called {name!r} and differ. "
                "Drop the index (frame.reset_index(drop=True)), or rename one of them."
            )
    new = [name for name in names if name not in present]
    if new:
        shown = ", ".join(map(repr, new))
        notes.append(f"{what}: took the data frame's index as column{'s' * (len(new) > 1)} {shown}")
    return plain, tuple(notes)


def counts_rows(index: Any) -> bool:
    """Whether an index is 0 … n − 1 in any order, without a name."""
    if index.nlevels > 1 or index.name is not None:
        return False
    return index.dtype.kind in "iu" and np.array_equal(np.sort(index.to_numpy()), np.arange(len(index)))
