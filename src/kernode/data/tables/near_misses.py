"""Ids that differ between two tables only in how they are written: N0 and n0, 007 and 7, 1,000 and 1000."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from kernode.data.tables.ids import places

ROUNDED = r"^-?[0-9]([.,][0-9]+)?[eE]\+[0-9]+$"  # what a spreadsheet makes of a long number


@dataclass(frozen=True)
class NearMisses:
    """How many ids of one table would be in the other but for how they are written, and two that show it."""

    count: int
    one: str
    other: str
    difference: str

    @classmethod
    def of(cls, ids: Any, known: Any) -> NearMisses | None:
        """Of ids that are not among known ones; None where none comes near."""
        if not len(ids) or not len(known):
            return None
        near = np.full(len(ids), -1)
        first: tuple[int, str] | None = None
        for difference, fold in _FOLDS:
            at = places(fold(ids), fold(known))
            new = np.flatnonzero((at >= 0) & (near < 0))
            near[new] = at[new]
            if first is None and len(new):
                first = int(new[0]), difference
        if first is None:
            return None
        example, difference = first
        count = int((near >= 0).sum())
        return cls(count, ids[example].as_py(), known[int(near[example])].as_py(), difference)


def _case(ids: Any) -> Any:
    import pyarrow.compute as pc

    return pc.utf8_lower(ids)


def _zeros(ids: Any) -> Any:
    import pyarrow.compute as pc

    return pc.replace_substring_regex(ids, r"^0+([0-9]+)$", r"\1")


def _form(ids: Any) -> Any:
    import pyarrow.compute as pc

    return pc.utf8_normalize(ids, "NFKC")


def _blanks(ids: Any) -> Any:
    import pyarrow.compute as pc

    return pc.replace_substring_regex(ids, r"[\s\x{00A0}]+", "")


def _number(ids: Any) -> Any:
    """Whole numbers in plain digits: without marks between thousands, decimals of nought, exponents."""
    import pyarrow as pa
    import pyarrow.compute as pc

    thousands = pc.match_substring_regex(ids, r"^-?[0-9]{1,3}([,.' ][0-9]{3})+$")
    ids = pc.if_else(thousands, pc.replace_substring_regex(ids, "[,.' ]", ""), ids)
    ids = pc.replace_substring_regex(ids, r"^(-?[0-9]+)[.,]0+$", r"\1")
    rounded = pc.match_substring_regex(ids, ROUNDED)
    if not pc.any(rounded).as_py():
        return ids
    texts = [
        f"{Decimal(text.replace(',', '.')):.0f}" if is_one and len(text) < 30 else text
        for text, is_one in zip(ids.to_pylist(), rounded.to_pylist(), strict=True)
    ]
    return pa.array(texts, pa.large_string())


def _all(ids: Any) -> Any:
    return _zeros(_number(_blanks(_case(_form(ids)))))


_FOLDS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("upper and lower case", _case),
    ("leading zeros", _zeros),
    ("the form of Unicode characters", _form),
    ("blanks", _blanks),
    ("how numbers are written", _number),
    ("how they are written", _all),
)
