"""Tables that come after the first, whose columns must be written as its were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kernode.data.tables.columns.notation import Notation, is_text
from kernode.errors import InputError


def require_notation(table: str, columns: Any, notations: Iterable[Notation]) -> None:
    """Raise where a column (of a pyarrow table) shows that it is written in another way than the first."""
    for notation in notations:
        values = columns[notation.column]
        other = notation.other(values) if is_text(values) else None
        if other:
            raise InputError(
                f"{table}: column {notation.column!r} has {other}, and was read with {notation.usual} from "
                "the first table. Write it as there."
            )
