"""Edges from a table: pairs of ids, with weights, without the rows that join nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.data.tables.choose import choose
from kernode.data.tables.columns.values import numbers
from kernode.data.tables.files import Table
from kernode.data.tables.ids import coded_ids
from kernode.data.tables.repairs import Repair
from kernode.errors import InputError

_SOURCES = ("source", "src", "from", "u", "head", "node1", "id1", "citing", "follower", "fromnodeid")
_TARGETS = ("target", "dst", "to", "v", "tail", "node2", "id2", "cited", "followee", "tonodeid")
_WEIGHTS = ("weight", "weights", "w")


@dataclass(frozen=True)
class Edges:
    """m pairs of ids and, where there are any, m weights."""

    source: str
    target: str
    weight: str | None
    ends: np.ndarray  # m × 2, numbers of ids
    ids: Any  # large_string: the id that each number stands for
    weights: np.ndarray | None  # m
    repairs: tuple[Repair, ...]
    notes: tuple[str, ...]


def read_edges(
    table: Table, source: str | None, target: str | None, weight: str | None, *, guess: bool = True
) -> Edges:
    """Take ends and weights from a table; where columns are not named, by usual names or the first two.

    ``guess``: whether a column called weight is taken for one without being named.
    """
    source, target, notes = _ends(table, source, target)
    weight = choose(table, weight, "weight", _WEIGHTS if guess else ())
    ends, ids = coded_ids(table, [source, target])
    lacking = (ends[:, 0] < 0) | (ends[:, 1] < 0)
    if lacking.any():
        table, ends = table.without(lacking, "lacked one of the two nodes"), ends[~lacking]
    if weight is None:
        return Edges(source, target, None, ends, ids, None, table.repairs, notes)
    try:
        with np.errstate(over="ignore"):
            weights = numbers(table[weight])[0].astype(np.float32)
    except (ValueError, NotImplementedError, TypeError) as error:  # pyarrow's are among them
        raise InputError(
            f"{table.header}: column {weight!r} holds {table[weight].type}, which are no weights. "
            "Name another column as weight, or rename it."
        ) from error
    bad = ~(np.isfinite(weights) & (weights > 0))
    if bad.all() and len(bad):
        raise InputError(
            f"{table.name}, row {table.rows[0]}: column {weight!r} holds no weight above 0. "
            "Name another column as weight, or leave it out."
        )
    table = table.without(bad, f"had no weight above 0 in {weight!r}")
    return Edges(source, target, weight, ends[~bad], ids, weights[~bad], table.repairs, notes)


def _ends(table: Table, source: str | None, target: str | None) -> tuple[str, str, tuple[str, ...]]:
    names = table.column_names
    if len(names) < 2:
        has = f"only the column {names[0]!r}" if names else "no columns"
        raise InputError(
            f"{table.name} has {has}. It needs two, separated by commas or tabs: source and target."
        )
    found = choose(table, source, "source", _SOURCES), choose(table, target, "target", _TARGETS)
    notes = table.notes
    if found[0] is None and found[1] is None:
        found = names[0], names[1]
        notes = (*notes, f"{table.name}: took {names[0]!r} as source and {names[1]!r} as target")
    one, other = found
    if one is None or other is None or one == other:
        missing = "source" if one is None else "target"
        raise InputError(
            f"{table.header}: which column is the {missing}? Pass {missing}=, one of {', '.join(names)}."
        )
    return one, other, notes
