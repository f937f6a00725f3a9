"""Values of a table's column (pyarrow) as numpy numbers or as text, and which of them could not be read."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.io.tables.arrow import pa, pc

MOSTLY = 0.9  # of the values of a column of numbers are numbers; the others are mistakes
PLAIN_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = r"^-?[0-9]+(\.0+)?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?$"
_LARGEST = 1e150  # the square of a larger number is infinite, and so would be the deviation
_YES, _NO = ("true", "yes", "t", "y", "1"), ("false", "no", "f", "n", "0")
# What Excel writes where a formula fails.
EXCEL_ERRORS = ("#div/0!", "#ref!", "#value!", "#num!", "#name?", "#null!", "#spill!", "#calc!")
# Missing values as pandas and R write and read them.
MISSING = ("na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "<na>", "-nan", "?", "-", "", *EXCEL_ERRORS)


def texts(values: Any) -> Any:
    """Text without blanks around it, null where there is none: a large_string array."""
    values = one_array(values)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values.cast(pa.large_string())
    trimmed = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(MISSING, pa.large_string()))
    return pc.if_else(missing, pa.scalar(None, pa.large_string()), trimmed)


def are_whole(distinct: Any) -> bool:
    """Whether texts are whole numbers throughout, also written 2.0 as pandas does in columns with gaps."""
    return len(distinct) > 0 and bool(pc.all(pc.match_substring_regex(distinct, _WHOLE)).as_py())


def without_point_zero(written: Any) -> Any:
    """Whole numbers as integers are written."""
    return pc.replace_substring_regex(written, r"\.0+$", "")


def categories(values: Any) -> Any:
    """Text by which values are alike however a file writes them."""
    return alike(texts(values))


def alike(written: Any) -> Any:
    """Texts in one way of writing: 2 for 2.0 and true for True, where all of them are such."""
    distinct = pc.unique(written.drop_null())
    if are_whole(distinct):
        return without_point_zero(written)
    if len(distinct) and set(pc.utf8_lower(distinct).to_pylist()) <= {"true", "false"}:
        return pc.utf8_lower(written)
    return written


def numbers(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values as float64, NaN where there is none, and a mask of values that are not numbers, or immense."""
    values = one_array(values)
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
        text = texts(values)
        good = pc.match_substring_regex(text, PLAIN_NUMBER).fill_null(False)
        x = _floats(pc.if_else(good, text, pa.scalar(None, pa.large_string())).cast(pa.float64()))
    else:
        text, x = values, _floats(values.cast(pa.float64(), safe=False))
        x = x.copy()
    x[~(np.abs(x) <= _LARGEST)] = np.nan
    there = _booleans(text.is_valid())
    if pa.types.is_floating(kind):  # NaN is what pandas writes for a missing number
        there &= ~_booleans(pc.is_nan(values).fill_null(True))
    return x, there & np.isnan(x)


def days(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Dates as days since 1970, NaN where there is none, and which of them are there but are no date."""
    values = one_array(values)
    kind = values.type
    if pa.types.is_temporal(kind):
        dates, text = values, values
    else:
        text = texts(values)
        good = pc.match_substring_regex(text, _DATE).fill_null(False)
        date = pc.utf8_slice_codeunits(text, 0, 10)
        date = pc.if_else(good, date, pa.scalar(None, pa.large_string()))
        dates = pc.strptime(date, format="%Y-%m-%d", unit="s", error_is_null=True)
        day = pc.utf8_slice_codeunits(date, 8, 10).cast(pa.int64())
        dates = pc.if_else(pc.equal(pc.day(dates), day), dates, pa.scalar(None, dates.type))  # 31 February
    seconds = dates.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
    x = np.floor(_floats(seconds.cast(pa.float64())) / 86400)
    return x, _booleans(text.is_valid()) & np.isnan(x)


def unreadable_flags(values: Any) -> np.ndarray:
    """Which values are there but neither yes nor no: booleans."""
    return _booleans(texts(values).is_valid()) & np.isnan(flags(values))


def flags(values: Any) -> np.ndarray:
    """1 for yes, 0 for no, NaN for anything else."""
    values = one_array(values)
    if pa.types.is_boolean(values.type):
        return _floats(values.cast(pa.float64()))
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        x = _floats(values.cast(pa.float64(), safe=False))
        return np.where((x == 0) | (x == 1), x, np.nan)
    lower = pc.utf8_lower(texts(values))
    yes, no = (
        _booleans(pc.is_in(lower, value_set=pa.array(words, pa.large_string()))) for words in (_YES, _NO)
    )
    return np.where(yes, 1.0, np.where(no, 0.0, np.nan))


def vectors(name: str, values: Any, width: int | None = None) -> np.ndarray:
    """Lists of numbers as n × width, rows of NaN where there is none; all must have one length."""
    values = one_array(values)
    if values.null_count == len(values):
        return np.full((len(values), width or 0), np.nan)
    n, lengths = len(values), pc.list_value_length(values)
    widths = pc.unique(lengths.drop_null()).to_pylist()
    width = widths[0] if width is None and widths else width
    if any(other != width for other in widths):
        at = pc.index(pc.not_equal(lengths, width).fill_null(False), True).as_py()
        raise InputError(
            f"column {name!r}, value {at} from 0: {lengths[at].as_py()} numbers where others have {width}. "
            "Give all lists one length, or leave the column out of features.",
            "shape",
            column=name,
        )
    if not width:
        raise InputError(
            f"column {name!r}: its lists are empty. Leave it out of features.", "too-few", column=name
        )
    x = np.full((n, width or 0), np.nan)
    there = _booleans(values.is_valid())
    flat = pc.list_flatten(values.drop_null()) if there.any() else pa.array([], pa.float64())
    x[there] = _floats(flat.cast(pa.float64(), safe=False)).reshape(-1, width or 0)
    return np.where((np.abs(x) <= _LARGEST).all(axis=1, keepdims=True), x, np.nan)


def one_array(values: Any) -> Any:
    """A column in one piece; twice, for some versions of pyarrow give chunks once more."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _floats(values: Any) -> np.ndarray:
    return values.to_numpy(zero_copy_only=False).astype(np.float64)


def _booleans(values: Any) -> np.ndarray:
    return values.to_numpy(zero_copy_only=False).astype(bool)
