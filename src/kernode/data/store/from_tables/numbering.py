"""Edges of a Parquet table as pairs of numbers on the disk, also of nodes that no table of nodes lists.

Numbers are those that :func:`kernode.data.read_table` gives: listed nodes first, then those that only edges
mention, in the order in which the column of the sources, and then that of the targets, first has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kernode.data.store.from_tables.roles import Roles, is_plain_text
from kernode.data.tables.columns.values import are_whole, numbers, one_array, without_point_zero
from kernode.data.tables.ids import places, plain_ids, require_short
from kernode.data.tables.repairs import Repair
from kernode.data.tables.table import Table, require_rows
from kernode.errors import InputError
from kernode.progress import tell

_ROWS = 2**20  # of a table at a time, at least
_NAMED = 1000  # dropped rows that are named; the others are counted


@dataclass(frozen=True)
class Pairs:
    """m edges as numbers of nodes, in files."""

    path: Path  # m × 2, int64: a listed node's number, or after these that of a stranger's spelling
    weights: Path | None  # m, float32
    count: int  # m
    renumbered: np.ndarray  # of strangers: the number of the node that each spelling is, −1 for no edge's
    added: Any  # large_string: ids of nodes that only edges mention
    none_is_listed: bool
    repairs: tuple[Repair, ...]


def number_pairs(roles: Roles, listed: Any, work: Path) -> Pairs:
    """Read the edges twice, by sources and by targets, and write pairs of numbers to a folder."""
    lookup = _Lookup(roles, listed)
    rows = max(_ROWS, len(listed) // 4)  # each batch builds a table of all ids once
    sources = work / "sources"
    with sources.open("wb") as file:
        for batch in _told(roles, "sources", [roles.source], rows):
            lookup.codes(batch, roles.source).tofile(file)
    kept = _Kept(roles)
    paths = work / "pairs", work / "weights" if roles.weight else None
    columns = [roles.target, *([roles.weight] if roles.weight else [])]
    with sources.open("rb") as first, paths[0].open("wb") as out:
        weights = paths[1].open("wb") if paths[1] else None
        try:
            for batch in _told(roles, "targets", columns, rows):
                ends = np.fromfile(first, np.int64, len(batch)), lookup.codes(batch, roles.target)
                kept.take(batch, np.column_stack(ends), out, weights)
        finally:
            if weights is not None:
                weights.close()
    sources.unlink()
    kept.require_weights()
    mentioned = kept.mentioned(len(listed) + lookup.strangers)
    added, renumbered = lookup.settled(mentioned[len(listed) :])
    none_is_listed = not mentioned[: len(listed)].any()
    return Pairs(*paths, kept.count, renumbered, added, none_is_listed, kept.repairs)


def _told(roles: Roles, what: str, columns: list[str], rows: int) -> Iterator[Table]:
    total = max(1, -(-roles.edges.rows // rows))
    for done, batch in enumerate(roles.edges.batches(columns, rows)):
        tell(f"reading {what}", min(done, total), total)
        yield batch
    tell(f"reading {what}", total, total)


class _Lookup:
    """The number of every id, by its spelling: as plain text, before blanks are cut off."""

    def __init__(self, roles: Roles, listed: Any) -> None:
        import pyarrow as pa

        self._listed, self._ends = listed, [roles.source, roles.target]
        self._integers = _Integers(listed)
        self._spellings = pa.array([], pa.large_string())  # of strangers
        self._whole = _are_whole(roles)

    @property
    def strangers(self) -> int:
        """How many spellings no listed node has."""
        return len(self._spellings)

    def codes(self, batch: Table, column: str) -> np.ndarray:
        """A column of ids as numbers, −1 where there is none."""
        import pyarrow as pa

        values = one_array(batch[column])
        if pa.types.is_integer(values.type) and values.type != pa.uint64():
            coded = values.dictionary_encode()
            distinct = coded.dictionary
            numbers_of = self._integers.places(distinct.cast(pa.int64()).to_numpy())
            strange = np.flatnonzero(numbers_of < 0)
        else:
            coded = one_array(plain_ids(batch, column)).dictionary_encode()
            distinct = coded.dictionary
            ids = self._cleaned(distinct)
            require_short(ids, batch, self._ends)
            numbers_of = places(ids, self._listed)
            strange = np.flatnonzero((numbers_of < 0) & ~_empty(ids))
        if len(strange):
            numbers_of[strange] = self._strange(distinct.take(strange).cast(pa.large_string()))
        codes = coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
        return np.append(numbers_of, -1)[codes]

    def _strange(self, spelled: Any) -> np.ndarray:
        """Numbers of spellings that no listed node has, after those of the listed nodes."""
        import pyarrow as pa

        known = places(spelled, self._spellings)
        new = known < 0
        known[new] = len(self._spellings) + np.arange(new.sum())
        self._spellings = pa.concat_arrays([self._spellings, spelled.filter(pa.array(new))])
        return len(self._listed) + known

    def settled(self, mentioned: np.ndarray) -> tuple[Any, np.ndarray]:
        """Ids of strangers that edges mention (booleans, by spelling), and the number of every spelling."""
        import pyarrow as pa
        import pyarrow.compute as pc

        ids = self._cleaned(self._spellings)
        added = pc.unique(ids.filter(pa.array(mentioned)))
        at = places(ids, added)
        return added, np.where(at < 0, -1, at + len(self._listed))

    def _cleaned(self, spelled: Any) -> Any:
        import pyarrow.compute as pc

        ids = pc.utf8_trim_whitespace(spelled)
        return without_point_zero(ids) if self._whole else ids


class _Integers:
    """Listed ids that are integers, sorted by value: found in a fraction of the time that text takes."""

    def __init__(self, listed: Any) -> None:
        import pyarrow.compute as pc

        self._listed = listed
        # As programs write them, so that text and value say the same; longer ones may not fit in 64 bits.
        written = pc.match_substring_regex(listed, r"^(0|-?[1-9][0-9]{0,17})$")
        at = np.flatnonzero(written.to_numpy(zero_copy_only=False))
        values = listed.take(at).cast("int64").to_numpy()
        order = np.argsort(values)
        self._values, self._at = values[order], at[order]

    def places(self, values: np.ndarray) -> np.ndarray:
        """Where each integer stands among the listed ids, −1 where it does not."""
        import pyarrow as pa

        found = np.full(len(values), -1)
        if len(self._values):
            near = np.minimum(np.searchsorted(self._values, values), len(self._values) - 1)
            found = np.where(self._values[near] == values, self._at[near], -1)
        long = np.flatnonzero((values >= 10**18) | (values <= -(10**18)))
        if len(long):
            found[long] = places(pa.array(values[long]).cast(pa.large_string()), self._listed)
        return found


def _empty(ids: Any) -> np.ndarray:
    import pyarrow.compute as pc

    return pc.equal(ids, "").to_numpy(zero_copy_only=False)


def _are_whole(roles: Roles) -> bool:
    """Whether ids are whole numbers throughout, some perhaps written 2.0 in text: then that is 2."""
    import pyarrow.compute as pc

    texts = [end for end in (roles.source, roles.target) if is_plain_text(roles.edges.types[end])]
    if not texts:
        return False  # integers are not written so
    for batch in _told(roles, "ids", texts, _ROWS):
        for end in texts:
            distinct = pc.utf8_trim_whitespace(pc.unique(batch[end]).drop_null())
            if len(distinct) and not are_whole(distinct):
                return False
    return True


@dataclass
class _Dropped:
    """Rows that cannot be used: the first by number, all of them counted."""

    what: str
    rows: list[int] = field(default_factory=list)
    count: int = 0

    def add(self, rows: np.ndarray) -> None:
        self.rows += rows[: _NAMED - len(self.rows)].tolist()
        self.count += len(rows)

    def repair(self, table: str) -> tuple[Repair, ...]:
        if not self.count:
            return ()
        return (Repair(table, self.what, "dropped", tuple(self.rows), self.count - len(self.rows)),)


class _Kept:
    """Rows of the edges that join two nodes with a weight above 0."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self.count = 0
        self._mentioned = np.zeros(0, bool)  # by number
        self._lacking = _Dropped("lacked one of the two nodes")
        self._light = _Dropped(f"had no weight above 0 in {roles.weight!r}")
        self._first_row: int | None = None  # of those with two nodes

    def take(self, batch: Table, ends: np.ndarray, out: BinaryIO, weights: BinaryIO | None) -> None:
        """Write the rows of a batch that can be used."""
        good = (ends >= 0).all(axis=1)
        self._lacking.add(batch.rows[~good])
        if self._first_row is None and good.any():
            self._first_row = int(batch.rows[np.flatnonzero(good)[0]])
        if weights is not None:
            assert self._roles.weight is not None
            with np.errstate(over="ignore"):
                x = numbers(batch[self._roles.weight])[0].astype(np.float32)
            heavy = np.isfinite(x) & (x > 0)
            self._light.add(batch.rows[good & ~heavy])
            good &= heavy
            x[good].tofile(weights)
        ends = ends[good]
        ends.tofile(out)
        self.count += len(ends)
        self._mentioned = self.mentioned(max(len(self._mentioned), int(ends.max(initial=-1)) + 1))
        self._mentioned[ends] = True

    def require_weights(self) -> None:
        """Raise where rows were dropped and none is left."""
        table, weight = self._roles.edges.name, self._roles.weight
        paired = self._roles.edges.rows - self._lacking.count
        require_rows(paired, self._lacking.repair(table))
        if self._light.count and self._light.count == paired:
            raise InputError(
                f"{table}, row {self._first_row}: column {weight!r} holds no weight above 0. "
                "Name another column as weight, or leave it out."
            )

    def mentioned(self, count: int) -> np.ndarray:
        """Which of so many numbers a row that is kept has: booleans."""
        return np.append(self._mentioned, np.zeros(count - len(self._mentioned), bool))

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was dropped."""
        table = self._roles.edges.name
        return (*self._lacking.repair(table), *self._light.repair(table))
