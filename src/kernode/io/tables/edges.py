"""Edges from a table: pairs of ids, with weights, without the rows that join nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.columns import Encoding
from kernode.io.tables.columns.find_notation import Clues, find_notation
from kernode.io.tables.columns.notation import Notation, NumberNotation, rewritten
from kernode.io.tables.columns.values import numbers
from kernode.io.tables.table import Repair, Table, choose, coded_ids, places

_ENDS = (  # usual names of an edge's two columns
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("head", "tail"),
    ("node1", "node2"),
    ("id1", "id2"),
    ("citing", "cited"),
    ("follower", "followee"),
    ("fromnodeid", "tonodeid"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("payer", "payee"),
    ("caller", "callee"),
    ("von", "nach"),
)
SOURCES, TARGETS = zip(*_ENDS, strict=True)
_SHOWN = 5  # columns in a note
WEIGHTS = ("weight", "weights", "w")
_OF_MANY = 5  # a column of ends names at least every so many-th listed node


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
    notation: NumberNotation | None = None  # of the weights, where it is not as programs write


def read_edges(
    table: Table,
    source: str | None,
    target: str | None,
    weight: str | None,
    *,
    written: Clues | NumberNotation | None,
    listed: Any = None,
    guess: bool = True,
) -> Edges:
    """Take ends and weights from a table; where columns are not named, by usual names or the first two.

    ``written``: how weights are written, or clues to it. ``listed``: ids of a table of nodes.
    ``guess``: whether a column called weight is taken for one without being named.
    """
    table = _with_first_edge(table, listed)
    source, target, notes = find_ends(table, source, target, weight, listed)
    if guess:
        weight, noted = find_weight(table, weight)
        notes = (*notes, *noted, *ignored_note(table, (source, target, weight)))
    else:
        weight = choose(table, weight, "weight", ())
    ends, ids = coded_ids(table, [source, target])
    lacking = (ends[:, 0] < 0) | (ends[:, 1] < 0)
    if lacking.any():
        table, ends = table.without(lacking, "lacked one of the two nodes"), ends[~lacking]
    if weight is None:
        return Edges(source, target, None, ends, ids, None, table.repairs, notes)
    notation: Notation | None
    if isinstance(written, Clues):
        others = {name: table[name] for name in table.column_names if name not in (source, target)}
        written = replace(written, table=table.name, delimiter=table.delimiter, others=others)
        notation = find_notation(weight, table[weight], "number", written)
    else:
        notation = written
    table = replace(table, columns=rewritten(table.columns, [notation] if notation else []))
    try:
        with np.errstate(over="ignore"):
            weights = numbers(table[weight])[0].astype(np.float32)
    except (ValueError, NotImplementedError, TypeError) as error:  # pyarrow's are among them
        raise InputError(
            f"{table.name}: column {weight!r} holds {table[weight].type}, which cannot be weights. "
            "Name another column as weight, or rename it.",
            "setting",
            setting="weight",
        ) from error
    bad = ~(np.isfinite(weights) & (weights > 0))
    if bad.all() and len(bad):
        raise InputError(
            f"{table.name}, row {table.rows[0]}: column {weight!r} holds no weight above 0. "
            "Name another column as weight, or leave it out.",
            "setting",
            setting="weight",
        )
    table = table.without(bad, f"had no weight above 0 in {weight!r}")
    kept = notation if isinstance(notation, NumberNotation) and not notation.is_plain else None
    return Edges(source, target, weight, ends[~bad], ids, weights[~bad], table.repairs, notes, kept)


def read_edges_like(table: Table, like: Encoding) -> Edges:
    """Take ends and weights from the columns that an earlier table had."""
    return read_edges(table, like.source, like.target, like.weight, written=like.weights_written, guess=False)


def _with_first_edge(table: Table, listed: Any) -> Table:
    """The table with its first row as data, where that looks like names and names a node of the graph."""
    names = table.column_names
    usual = {*SOURCES, *TARGETS, *WEIGHTS}
    if table.names_by_looks is None or len(names) < 2 or usual & {name.lower() for name in names}:
        return table
    below = [pc.unique(pc.utf8_trim_whitespace(table[name].combine_chunks())) for name in names[:2]]
    for name in names[:2]:
        if any(pc.is_in(pa.scalar(name, pa.large_string()), ids).as_py() for ids in (*below, listed) if ids):
            return table.with_names_as_data(f"{name!r} is a node")
    return table


def find_ends(
    table: Table, source: str | None, target: str | None, weight: str | None, listed: Any
) -> tuple[str, str, tuple[str, ...]]:
    """The columns of the two ends, and notes."""
    names = table.column_names
    if len(names) < 2:
        has = f"only the column {names[0]!r}" if names else "no columns"
        raise InputError(
            f"{table.name} has {has}. It needs two, separated by commas or tabs: source and target.",
            "missing",
            what="columns",
        )
    found = choose(table, source, "source", SOURCES), choose(table, target, "target", TARGETS)
    notes = table.notes
    if found[0] is None and found[1] is None:
        found = names[0], names[1]
        _refuse_other_ends(table, found, weight, listed)
        notes = (*notes, f"{table.name}: took {names[0]!r} as source and {names[1]!r} as target")
    one, other = found
    if one is None or other is None or one == other:
        missing = "source" if one is None else "target"
        raise InputError(
            f"{table.name}: which column is the {missing}? Name one of {', '.join(names)}.",
            "ambiguous",
            setting=missing,
        )
    return one, other, notes


def _refuse_other_ends(table: Table, ends: tuple[str, str], weight: str | None, listed: Any) -> None:
    """Raise where one of the first two columns holds no listed node, and a later column does.

    A rating or an hour may look like the ids of a few nodes; ends are ids of many.
    """
    if listed is None or not len(listed):
        return
    strange = [name for name in ends if not _listed_share(table, name, listed)]
    if not strange:
        return
    no_ends = {weight, *WEIGHTS}
    fits = [
        name
        for name in table.column_names
        if name not in no_ends and name.lower() not in no_ends and _listed_share(table, name, listed) >= 0.5
    ]
    if set(fits) <= set(ends):
        return
    hold = f"{_list(fits)} do" if len(fits) > 1 else f"{fits[0]!r} does"
    raise InputError(
        f"{table.name}: {strange[0]!r}, one of the first two columns, holds no id of the table of nodes, "
        f"and {hold}. Name the columns of the source and the target.",
        "ambiguous",
        setting=("source", "target"),
    )


def _listed_share(table: Table, column: str, listed: Any) -> float:
    """The share of a column's different values that are ids of listed nodes; 0 where these are few."""
    try:
        codes, ids = coded_ids(table, [column])
    except InputError:  # it cannot be an id
        return 0.0
    there = places(ids.take(np.unique(codes[codes >= 0])), listed) >= 0
    return float(there.mean()) if _OF_MANY * there.sum() >= len(listed) else 0.0


def find_weight(table: Table, given: str | None) -> tuple[str | None, tuple[str, ...]]:
    """The column of the weights, if there is one, and a note where it was guessed."""
    found = choose(table, given, "weight", WEIGHTS)
    guessed = given is None and found is not None
    return found, (f"{table.name}: took {found!r} as weight",) if guessed else ()


def ignored_note(table: Table, taken: tuple[str | None, ...]) -> tuple[str, ...]:
    """A note on columns that play no role."""
    others = [name for name in table.column_names if name not in taken]
    if not others:
        return ()
    shown = _list(others[:_SHOWN]) + (f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else "")
    return (f"{table.name}: ignored {shown}",)


def _list(names: list[str]) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} and {last}" if first else last
