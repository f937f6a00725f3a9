"""What is said of a first table's columns that may not be what they were taken for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernode.data.tables.columns.kinds import Category, Column, Text
from kernode.data.tables.columns.notation import WrittenNumbers, is_text
from kernode.data.tables.columns.values import EXCEL_ERRORS
from kernode.errors import warn

_FEW = 3  # numbers: fewer stand among words by chance


def not_numbers(column: Column, values: Any) -> str | None:
    """What to say of a column that was guessed to be text or a category, where half of it are numbers."""
    if not isinstance(column, Text | Category) or not is_text(values):
        return None
    look = WrittenNumbers.of(values)
    good = look.fits(".") | look.fits(",")
    count = int(np.count_nonzero(good))
    others = np.asarray(look.text.is_valid().to_numpy(zero_copy_only=False), bool) & ~good
    if count < _FEW or 2 * count < look.there or not others.any():
        return None
    said = (
        f"{column.name}: {count:,} of {look.there:,} values are numbers, the others such as "
        f"{look.example(others)!r} are not: taken as {'text' if isinstance(column, Text) else 'a category'}; "
        f"say {column.name}:number to take those as missing"
    )
    if isinstance(column, Text):
        warn(f"{said}.")
    return said


def failed_formulas(columns: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Notes on what Excel wrote in place of a value, which is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    notes = []
    for name in names:
        if not is_text(columns[name]):
            continue
        written = pc.utf8_trim_whitespace(columns[name])
        errors = pa.array((*EXCEL_ERRORS, "#n/a", "n.a."), written.type)
        failed = written.filter(pc.is_in(pc.utf8_lower(written), value_set=errors))
        if len(failed):
            shown = ", ".join(map(repr, pc.unique(failed).to_pylist()))
            notes.append(f"{name}: took {shown} as missing ({len(failed):,} row{'s' * (len(failed) > 1)})")
    return tuple(notes)
