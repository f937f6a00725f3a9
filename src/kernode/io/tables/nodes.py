"""Nodes from a table, joined with those that edges mention."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from kernode.errors import InputError, warn
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.edges import Edges
from kernode.io.tables.files import IDS
from kernode.io.tables.table import Repair, Table, choose, coded_ids, places

ROUNDED = r"^-?[0-9]([.,][0-9]+)?[eE]\+[0-9]{1,3}$"  # what a spreadsheet makes of a long number


def _folded(ids: Any) -> Any:
    """Ids without what often differs between two tables: case, blanks, leading zeros, a decimal point."""
    ids = pc.utf8_lower(pc.utf8_normalize(ids, "NFKC"))
    ids = pc.replace_substring_regex(ids, r"[\s\x{00A0}]+", "")
    return pc.replace_substring_regex(ids, r"^0*([0-9]+)(?:[.,]0+)?$", r"\1")


def _written_otherwise(ids: Any, known: Any) -> tuple[int, str, str] | None:
    """How many ids are among known ones but for how they are written, and two that show it: N0 and n0."""
    at = places(_folded(ids), _folded(known))
    near = np.flatnonzero(at >= 0)
    if not len(near):
        return None
    return len(near), ids[int(near[0])].as_py(), known[int(at[near[0]])].as_py()


@dataclass(frozen=True)
class Listed:
    """What a table of nodes lists, each node once; without such a table, nothing."""

    id: str | None
    ids: Any  # large_string, unique
    table: Table | None  # a row for each of them
    every_row: Table | None = None  # also those that repeat an id
    node: np.ndarray | None = None  # of each of these rows
    as_read: Table | None = None  # where the column of the ids is only the first, not named so: every row

    @classmethod
    def of(cls, table: Table | None, id: str | None) -> Listed:
        """Take the ids from a table; where the column is not named, by a usual name or the first."""
        if table is None:
            return cls(None, pa.array([], pa.large_string()), None)
        if not table.column_names:
            raise InputError(
                f"{table.name} has no columns. A table of nodes needs one for their ids.",
                "missing",
                setting="id",
            )
        found = choose(table, id, "id", IDS)
        as_read = table if found is None else None
        if found is None:
            found = table.column_names[0]
            table = replace(table, notes=(*table.notes, f"{table.name}: took {found!r} as id"))
        coded, written = coded_ids(table, [found])
        codes = coded[:, 0]
        missing = codes < 0
        table, codes = table.without(missing, "had no id"), codes[~missing]
        codes = places(written, written)[codes]  # one number per id, the first that stands for it
        first, node = _numbered(codes)
        repeated = np.ones(len(codes), bool)
        repeated[first] = False
        unique = table.without(repeated, "repeated an id")
        return cls(found, written.take(codes[~repeated]), unique, table, node, as_read)

    def settled(self, mentioned: Any) -> Listed:
        """The same, unless the first column was taken for the ids and the edges show that it holds none.

        Then the column without a name is taken where it has all nodes that edges mention; else a
        repeated id is refused.
        """
        if self.as_read is None or self.every_row is None:
            return self
        n, index = len(self.every_row), self.as_read.index
        repeats = n - len(self.ids)
        matched = int((places(mentioned, self.ids) >= 0).sum())
        if (
            index is not None
            and matched < len(mentioned)
            and (4 * repeats > n or 2 * matched < len(mentioned))
        ):
            by_index = Listed.of(self.as_read.with_index(), index.column_names[0])
            everyone = bool((places(mentioned, by_index.ids) >= 0).all())
            if everyone and len(by_index.ids) == len(self.as_read):
                return by_index
        if repeats:
            self._ask_for_id()
        return self

    def _ask_for_id(self) -> NoReturn:
        assert self.every_row is not None
        assert self.node is not None
        table, node = self.every_row, self.node
        _, first = np.unique(node, return_index=True)
        second = int(np.setdiff1d(np.arange(len(node)), first)[0])
        rows = table.rows[int(first[node[second]])], table.rows[second]
        id = self.ids[int(node[second])].as_py()
        raise InputError(
            f"{table.name}: {self.id!r}, the first column, repeats {id!r} (rows {rows[0]} and {rows[1]}). "
            f"Which column holds the ids? Name one of {', '.join(table.column_names)}.",
            "ambiguous",
            setting="id",
        )

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """Rows that were left out."""
        return () if self.table is None else self.table.repairs

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the table."""
        return () if self.table is None else self.table.notes


def _numbered(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each code, in order of appearance, and for each row which of these has its code."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


def aligned(table: Table, n: int) -> Table:
    """A table of the first of n nodes with rows for all of them, empty where it has none."""
    rows = np.arange(n)
    beyond = rows >= len(table)
    columns = table.columns.take(pa.array(np.where(beyond, 0, rows), mask=beyond))
    return replace(table, columns=columns, rows=np.append(table.rows, np.full(n - len(table), -1)))


def all_ids(listed: Listed, added: Any, edges: Edges, *, none_is_listed: bool) -> Any:
    """Ids of all nodes, those of the table of nodes first; doubtful ones are warned of or refused.

    ``added``: ids that only edges mention. ``none_is_listed``: whether edges mention no other.
    """
    if listed.table is not None:
        if len(listed.ids) and none_is_listed and len(added):
            _refuse_strangers(listed, edges, added)
        _warn_of_near_misses(listed, added)
    ids = pa.concat_arrays([listed.ids, added])
    if not len(ids):
        why = "; ".join(str(repair) for repair in (*listed.repairs, *edges.repairs))
        raise InputError(f"the tables hold no edge and no node. {why or 'Check the files'}.", "too-few")
    _warn_of_rounded(ids)
    return ids


def notes_on_joined(listed: Listed, added: Any, edges: Edges, degrees: np.ndarray) -> tuple[str, ...]:
    """What was done to both tables; ``degrees``: entries of each node's row of the adjacency."""
    said = said_added(added) if listed.table is not None else ()  # without, edges mention all of them
    return (*_no_edge(degrees, edges), *listed.notes, *edges.notes, *said)


def _refuse_strangers(listed: Listed, edges: Edges, mentioned: Any) -> NoReturn:
    """Raise for tables that have no node in common."""
    assert listed.table is not None
    why = (
        f"no node of {edges.source!r} and {edges.target!r}, such as {mentioned[0].as_py()!r}, is listed in "
        f"column {listed.id!r} of {listed.table.name}, which has ids such as {listed.ids[0].as_py()!r}"
    )
    near = _written_otherwise(mentioned, listed.ids)
    hint = "Name the columns of the ids, the source and the target."
    if near is not None:
        hint = f"{near[1]!r} and {near[2]!r} differ only in how they are written. Write ids alike."
    raise InputError(f"{why}. {hint}", "conflict", setting=("id", "source", "target"))


def _warn_of_near_misses(listed: Listed, added: Any) -> None:
    """Warn where nodes that only edges mention are listed, but written in another way."""
    near = _written_otherwise(added, listed.ids)
    if near is None:
        return
    assert listed.table is not None
    count, one, other = near
    warn(
        f"{count:,} of {len(added):,} node{'s' * (len(added) > 1)} that only edges mention "
        f"{'differs' if count == 1 else 'differ'} from listed ones only in how they are written, such as "
        f"{one!r} and {other!r} in column {listed.id!r} of {listed.table.name}. Write ids alike in both."
    )


def _warn_of_rounded(ids: Any) -> None:
    """Warn of ids that a spreadsheet took for numbers and rounded: several nodes may have become one."""
    rounded = ids.filter(pc.match_substring_regex(ids, ROUNDED))
    if len(rounded):
        plural = f"{len(rounded):,} ids are numbers" if len(rounded) > 1 else "1 id is a number"
        warn(
            f"{plural} that a spreadsheet has rounded, such as {rounded[0].as_py()!r}: different nodes may "
            "have become one. Save the tables again with ids as text."
        )


def _no_edge(degrees: np.ndarray, edges: Edges) -> tuple[str, ...]:
    """Say that there is no edge, and why."""
    if degrees.any():
        return ()
    loops = f"{len(edges.ends):,} joined a node to itself" if len(edges.ends) else ""
    why = "; ".join(filter(None, (*map(str, edges.repairs), loops))) or "none is listed"
    sentence = f"the graph has no edge: {why}; only features can tell nodes apart"
    warn(f"{sentence}.")
    return (sentence,)


def said_added(ids: Any) -> tuple[str, ...]:
    """A note on nodes that are only in the edges."""
    count = len(ids)
    if not count:
        return ()
    shown = ", ".join(ids[:5].to_pylist()) + (", …" if count > 5 else "")
    plural = "s" if count > 1 else ""
    return (f"added {count:,} node{plural} that only edges mention, without features: {shown}",)
