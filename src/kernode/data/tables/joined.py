"""Two tables that are joined by ids: nodes that only one of them has, and what is said of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from kernode.data.tables.near_misses import ROUNDED, NearMisses
from kernode.data.tables.nodes import Listed
from kernode.data.tables.repairs import Repair
from kernode.errors import InputError, warn


@dataclass(frozen=True)
class Ends:
    """A table of edges, as far as sentences go."""

    source: str
    target: str
    kept: int  # rows that were not dropped
    repairs: tuple[Repair, ...]
    notes: tuple[str, ...]


def all_ids(listed: Listed, added: Any, ends: Ends, *, none_is_listed: bool) -> Any:
    """Ids of all nodes, those of the table of nodes first; doubtful ones are warned of or refused.

    ``added``: ids that only edges mention. ``none_is_listed``: whether edges mention no other.
    """
    import pyarrow as pa

    if listed.table is not None and len(listed.ids) and none_is_listed and len(added):
        _refuse_strangers(listed, ends, added)
    if listed.table is not None:
        _warn_of_near_misses(listed, added)
    ids = pa.concat_arrays([listed.ids, added])
    if not len(ids):
        why = "; ".join(str(repair) for repair in (*listed.repairs, *ends.repairs))
        raise InputError(f"the tables hold no edge and no node. {why or 'Check the files'}.")
    _warn_of_rounded(ids)
    return ids


def notes_on_joined(listed: Listed, added: Any, ends: Ends, degrees: np.ndarray) -> tuple[str, ...]:
    """What was done to both tables; ``degrees``: entries of each node's row of the adjacency."""
    said = said_added(added) if listed.table is not None else ()  # without, edges mention all of them
    return (*_no_edge(degrees, ends), *listed.notes, *ends.notes, *said, *_said_alone(degrees, listed))


def _refuse_strangers(listed: Listed, ends: Ends, mentioned: Any) -> NoReturn:
    """Raise for tables that have no node in common."""
    assert listed.table is not None
    why = (
        f"no node of {ends.source!r} and {ends.target!r}, such as {mentioned[0].as_py()!r}, is listed in "
        f"column {listed.id!r} of {listed.table.name}, which has ids such as {listed.ids[0].as_py()!r}"
    )
    near = NearMisses.of(mentioned, listed.ids)
    if near is None:
        raise InputError(f"{why}. Pass id=, source= and target=.")
    raise InputError(
        f"{why}; {near.one!r} and {near.other!r} differ only in {near.difference}. "
        "Write ids alike in both tables."
    )


def _warn_of_near_misses(listed: Listed, added: Any) -> None:
    """Warn where nodes that only edges mention are listed, but written in another way."""
    near = NearMisses.of(added, listed.ids)
    if near is None:
        return
    assert listed.table is not None
    differ = "differs" if near.count == 1 else "differ"
    warn(
        f"{near.count:,} of {len(added):,} node{'s' * (len(added) > 1)} that only edges mention {differ} "
        f"from listed ones only in how they are written, such as {near.one!r} and {near.other!r} in column "
        f"{listed.id!r} of {listed.table.name} ({near.difference}). Write ids alike in both tables."
    )


def _warn_of_rounded(ids: Any) -> None:
    """Warn of ids that a spreadsheet took for numbers and rounded: several nodes may have become one."""
    import pyarrow.compute as pc

    rounded = ids.filter(pc.match_substring_regex(ids, ROUNDED))
    if len(rounded):
        plural = f"{len(rounded):,} ids are numbers" if len(rounded) > 1 else "1 id is a number"
        warn(
            f"{plural} that a spreadsheet has rounded, such as {rounded[0].as_py()!r}: different nodes may "
            "have become one. Save the tables again with ids as text."
        )


def _said_alone(degrees: np.ndarray, listed: Listed) -> tuple[str, ...]:
    """A note on listed nodes without any edge, where others have some."""
    alone = np.flatnonzero(degrees[: len(listed.ids)] == 0)
    if not len(alone) or not degrees.any():
        return ()
    example = listed.ids[int(alone[0])].as_py()
    if len(alone) == 1:
        return (f"1 listed node has no edge: {example}",)
    return (f"{len(alone):,} listed nodes have no edge, such as {example}",)


def _no_edge(degrees: np.ndarray, ends: Ends) -> tuple[str, ...]:
    """Say that there is no edge, and why."""
    if degrees.any():
        return ()
    loops = f"{ends.kept:,} joined a node to itself" if ends.kept else ""
    why = "; ".join(filter(None, (*map(str, ends.repairs), loops))) or "none is listed"
    sentence = f"the graph has no edge: {why}; only features can tell nodes apart"
    warn(f"{sentence}.")
    return (sentence,)


def said_added(ids: Any) -> tuple[str, ...]:
    """A note on nodes that no table of nodes lists."""
    count = len(ids)
    if not count:
        return ()
    shown = ", ".join(ids[:5].to_pylist()) + (", …" if count > 5 else "")
    plural = "s" if count > 1 else ""
    return (f"added {count:,} node{plural} that only edges mention, without features: {shown}",)
