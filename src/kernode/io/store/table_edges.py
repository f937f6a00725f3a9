"""Edges of a Parquet table as the rows of a symmetric matrix, numbered and sorted on the disk.

Numbers are those that :func:`kernode.io.read_table` gives: listed nodes first, then those that only edges
mention, in the order in which the column of the sources, and then that of the targets, first has them.
Every pair is written to two of some buckets, by either end. A bucket holds the rows of some consecutive
nodes and fits into memory; sorted one after another they are the matrix, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kernode.compute.chunks import chunks
from kernode.errors import FileError, InputError, KernodeError
from kernode.graph.adjacency import MAX_NODES, notes_on_edges
from kernode.io.store.table_roles import Roles
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.columns.values import are_whole, numbers, one_array, without_point_zero
from kernode.io.tables.nodes import Ends, Listed, all_ids
from kernode.io.tables.table import Repair, Table, places, plain_ids, require_rows, require_short
from kernode.progress import tell

_ROWS = 2**20  # of a table at a time, at least
_PAIRS = 2**19  # that are distributed at a time
_BUCKET = 2**21  # entries that are sorted at a time, if no node has more
_NAMED = 1000  # dropped rows that are named; the others are counted
_PAIR = np.dtype([("ends", np.int64, 2), ("weight", np.float32)])
_ENTRY = np.dtype([("key", np.int64), ("weight", np.float32)])  # (row · n + column) · 2 + direction


@dataclass(frozen=True)
class SortedEdges:
    """The adjacency of n nodes in files, and what is said about the table it comes from."""

    entries: np.ndarray  # n: of each row
    indices: Path  # int64, ascending within each row
    weights: Path | None  # float32; None where all are 1
    notes: tuple[str, ...]  # on pairs that were merged or dropped
    ids: Any  # large_string, n
    added: Any  # those that only edges mention
    ends: Ends

    @classmethod
    def of(cls, roles: Roles, listed: Listed, work: Path) -> SortedEdges:
        """Number and sort the edges in a folder."""
        try:
            return _sorted(roles, listed, work)
        except KernodeError:
            raise
        except OSError as error:  # numpy says what it wanted to write, the system why it could not
            reason = error.strerror or str(error)
            raise FileError(f"{work} cannot be written ({reason}). Make room and begin again.") from error


def _sorted(roles: Roles, listed: Listed, work: Path) -> SortedEdges:
    spellings, kept = _Spellings(roles), _Kept(roles)
    with (work / "pairs").open("wb") as out:
        _number_pairs(roles, len(listed.ids), spellings, kept, out)
    kept.require_weights()
    added, renumbered, none_is_listed = spellings.settled(listed.ids)
    ends = Ends(roles.source, roles.target, kept.count, kept.repairs, roles.edge_notes)
    ids = all_ids(listed, added, ends, none_is_listed=none_is_listed)
    n = len(ids)
    if n > MAX_NODES:
        raise InputError(f"a graph has at most {MAX_NODES:,} nodes. Got {n:,}: split it.", "too-large")
    listed_entries = np.bincount(
        renumbered[spellings.degrees > 0], spellings.degrees[spellings.degrees > 0], n
    )
    bucket_of = (np.cumsum(listed_entries) // _BUCKET).astype(np.int64)  # of each node
    buckets = [work / f"bucket-{number}" for number in range(int(bucket_of[-1]) + 1)]
    counts = _Counts()
    _distribute(work / "pairs", renumbered, bucket_of, buckets, counts)
    (work / "pairs").unlink()
    entries = np.zeros(n, np.int64)
    weighted = False
    with (work / "indices").open("wb") as out, (work / "weights").open("wb") as out_weights:
        for number, bucket in enumerate(buckets):
            tell("sorting edges", number, len(buckets))
            keys, weights = _sorted_bucket(bucket, n, counts)
            rows = keys // n
            np.add.at(entries, rows, 1)
            (keys - rows * n).tofile(out)
            weights.tofile(out_weights)
            weighted |= bool((weights != 1).any())
    tell("sorting edges", 1, 1)
    notes = notes_on_edges(counts.listed, counts.directed, counts.distinct, counts.loops)
    return SortedEdges(
        entries, work / "indices", work / "weights" if weighted else None, notes, ids, added, ends
    )


def _number_pairs(roles: Roles, listed: int, spellings: _Spellings, kept: _Kept, out: BinaryIO) -> None:
    """Write every row that can be used as a pair of numbers of spellings, with its weight."""
    rows = max(_ROWS, listed // 4)  # each batch builds a table of all spellings once
    columns = [roles.source, roles.target, *([roles.weight] if roles.weight else [])]
    total = max(1, -(-roles.edges.rows // rows))
    for done, batch in enumerate(roles.edges.batches(columns, rows)):
        tell("reading edges", min(done, total), total)
        ends = np.column_stack([spellings.codes(batch, end) for end in (roles.source, roles.target)])
        pairs = kept.take(batch, ends)
        spellings.count(pairs["ends"])
        pairs.tofile(out)
    tell("reading edges", total, total)


class _Spellings:
    """Ids as the table writes them, before blanks are cut off: each has a number."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._texts = pa.array([], pa.large_string())
        self._first = np.zeros(0, np.int64)  # where each is first seen: in the sources, then in the targets
        self.degrees = np.zeros(0, np.int64)  # how many ends of rows that are kept have it

    def codes(self, batch: Table, column: str) -> np.ndarray:
        """A column of ids as numbers of spellings, −1 where there is none."""
        coded = one_array(plain_ids(batch, column)).dictionary_encode()
        distinct = coded.dictionary
        ids = pc.utf8_trim_whitespace(distinct)
        require_short(ids, batch, [self._roles.source, self._roles.target])
        known = places(distinct, self._texts)
        new = known < 0
        known[new] = len(self._texts) + np.arange(new.sum())
        self._texts = pa.concat_arrays([self._texts, distinct.filter(pa.array(new))])
        self._first = np.append(self._first, np.full(int(new.sum()), 2 * self._roles.edges.rows))
        self.degrees = np.append(self.degrees, np.zeros(int(new.sum()), np.int64))
        known[pc.equal(ids, "").to_numpy(zero_copy_only=False)] = -1
        codes = coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
        codes = np.append(known, -1)[codes]
        seen = batch.rows + (column == self._roles.target) * self._roles.edges.rows
        np.minimum.at(self._first, codes[codes >= 0], seen[codes >= 0])
        return codes

    def count(self, ends: np.ndarray) -> None:
        """Note that rows with these ends are kept."""
        self.degrees += np.bincount(ends.ravel(), minlength=len(self.degrees))

    def settled(self, listed: Any) -> tuple[Any, np.ndarray, bool]:
        """Ids that only edges mention, the node of every spelling, and whether none of them is listed."""
        ids = pc.utf8_trim_whitespace(self._texts)
        if are_whole(ids.filter(pc.not_equal(ids, ""))):
            ids = without_point_zero(ids)
        mentioned = self.degrees > 0
        at = places(ids, listed)
        order = np.argsort(self._first, kind="stable")
        strange = order[(mentioned & (at < 0))[order]]
        added = pc.unique(ids.take(pa.array(strange)))
        beyond = places(ids, added)
        node = np.where(at >= 0, at, np.where(beyond >= 0, beyond + len(listed), -1))
        return added, node, not (mentioned & (at >= 0)).any()


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
        self._table, self._rows, self._weight = roles.edges.name, roles.edges.rows, roles.weight
        self.count = 0
        self._lacking = _Dropped("lacked one of the two nodes")
        self._light = _Dropped(f"had no weight above 0 in {roles.weight!r}")
        self._first_row: int | None = None  # of those with two nodes

    def take(self, batch: Table, ends: np.ndarray) -> np.ndarray:
        """The rows of a batch that can be used, as pairs."""
        good = (ends >= 0).all(axis=1)
        self._lacking.add(batch.rows[~good])
        if self._first_row is None and good.any():
            self._first_row = int(batch.rows[np.flatnonzero(good)[0]])
        pairs = np.ones(len(ends), _PAIR)
        pairs["ends"] = ends
        if self._weight is not None:
            with np.errstate(over="ignore"):
                pairs["weight"] = numbers(batch[self._weight])[0].astype(np.float32)
            heavy = np.isfinite(pairs["weight"]) & (pairs["weight"] > 0)
            self._light.add(batch.rows[good & ~heavy])
            good &= heavy
        self.count += int(good.sum())
        return pairs[good]

    def require_weights(self) -> None:
        """Raise where rows were dropped and none is left."""
        paired = self._rows - self._lacking.count
        require_rows(paired, self._lacking.repair(self._table))
        if self._light.count and self._light.count == paired:
            raise InputError(
                f"{self._table}, row {self._first_row}: column {self._weight!r} holds no weight above 0. "
                "Name another column as weight, or leave it out.",
                "setting",
                setting="weight",
            )

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was dropped."""
        return (*self._lacking.repair(self._table), *self._light.repair(self._table))


@dataclass
class _Counts:
    listed: int = 0  # pairs that are no loops
    loops: int = 0
    directed: int = 0  # different ones, as they are listed
    distinct: int = 0  # different ones in either direction


def _distribute(
    path: Path, renumbered: np.ndarray, bucket_of: np.ndarray, buckets: list[Path], counts: _Counts
) -> None:
    """Write every pair, from either end, to the bucket of that end."""
    for bucket in buckets:
        bucket.write_bytes(b"")
    n, total = len(bucket_of), path.stat().st_size // _PAIR.itemsize
    for pairs in _read(path, total):
        ends = renumbered[pairs["ends"]]
        proper = ends[:, 0] != ends[:, 1]
        counts.listed += int(proper.sum())
        counts.loops += int((~proper).sum())
        ends, weights = ends[proper], pairs["weight"][proper]
        entries = np.empty(2 * len(ends), _ENTRY)
        keys = np.concatenate([ends[:, 0] * n + ends[:, 1], ends[:, 1] * n + ends[:, 0]])
        entries["key"] = 2 * keys + np.tile(ends[:, 0] > ends[:, 1], 2)
        entries["weight"] = np.tile(weights, 2)
        where = bucket_of[ends.T.ravel()]
        order = np.argsort(where, kind="stable")
        borders = np.searchsorted(where[order], np.arange(len(buckets) + 1))
        for number in np.flatnonzero(np.diff(borders)).tolist():
            with buckets[number].open("ab") as file:
                entries[order[borders[number] : borders[number + 1]]].tofile(file)


def _read(path: Path, total: int) -> Iterator[np.ndarray]:
    with path.open("rb") as file:
        for some in chunks(total, _PAIRS):
            tell("distributing edges", some.start, max(1, total))
            yield np.fromfile(file, _PAIR, some.stop - some.start)


def _sorted_bucket(bucket: Path, n: int, counts: _Counts) -> tuple[np.ndarray, np.ndarray]:
    """A bucket's entries as row · n + column, each once and ascending, and the largest weight of each."""
    entries = np.fromfile(bucket, _ENTRY)
    bucket.unlink()
    order = np.argsort(entries["key"])
    keys, weights = entries["key"][order], entries["weight"][order]
    # Every pair is in two buckets: it is counted where the row is the smaller end.
    counts.directed += _lower(keys[_is_first(keys)] >> 1, n)
    keys >>= 1
    first = _is_first(keys)
    if len(keys):
        weights = np.maximum.reduceat(weights, np.flatnonzero(first))
    keys = keys[first]
    counts.distinct += _lower(keys, n)
    return keys, weights


def _is_first(ascending: np.ndarray) -> np.ndarray:
    first = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


def _lower(keys: np.ndarray, n: int) -> int:
    """How many entries row · n + column are above the diagonal."""
    rows = keys // n
    return int(np.count_nonzero(keys - rows * n > rows))
