"""Which kind a column is, where the user does not say."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.data.tables.columns.kinds import Category, Column, Date, Flag, Number, Text, Vector
from kernode.data.tables.columns.values import MOSTLY, days, flags, numbers, texts
from kernode.errors import InputError

_FEW_VALUES = 50  # a column with so few is a category, however long they are
_SHORT = 3.0  # words: longer values are text, where there are many different ones


def guess_kind(name: str, values: Any) -> type[Column]:
    """The kind of a column, by its type in the table and, for text, by what is written there."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_boolean(kind):
        return Flag
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Number
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Date
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return Vector
    if pa.types.is_dictionary(kind):
        return Category
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return _kind_of_text(values)
    raise InputError(
        f"column {name!r} holds {kind}, which cannot become a feature. Leave it out: features=[…]."
    )


def _kind_of_text(values: Any) -> type[Column]:
    import pyarrow.compute as pc

    written = texts(values)
    there = len(written) - written.null_count
    if there == 0:
        return Category
    if np.count_nonzero(~np.isnan(numbers(written)[0])) >= MOSTLY * there:
        return Number
    if np.count_nonzero(~np.isnan(flags(written))) == there:
        return Flag
    if np.count_nonzero(~np.isnan(days(written)[0])) >= MOSTLY * there:
        return Date
    distinct = len(pc.unique(written.drop_null()))
    if distinct <= min(_FEW_VALUES, there // 2):
        return Category
    words = pc.mean(pc.add(pc.count_substring_regex(written, r"\s+"), 1)).as_py()
    return Category if distinct <= there / 10 and words <= _SHORT else Text
