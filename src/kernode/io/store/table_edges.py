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
from kernode.io.store.table_roles import Roles, is_plain_text
from kernode.io.tables.columns.values import are_whole, numbers, one_array, without_point_zero
from kernode.io.tables.nodes import Ends, Listed, all_ids
from kernode.io.tables.table import Repair, Table, places, plain_ids, require_rows, require_short
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


_PAIRS = 2**19  # pairs at a time
_BUCKET = 2**21  # entries that are sorted at a time, if no node has more
_BINS = 2**16  # runs of nodes whose entries are counted, to fill buckets alike


@dataclass(frozen=True)
class SortedRows:
    """What is known about rows that were written to the files ``indices`` and ``sorted-weights``."""

    entries: np.ndarray  # n: of each row
    weighted: bool  # whether a weight is not 1
    notes: tuple[str, ...]


@dataclass
class _Counts:
    listed: int = 0  # pairs that are no loops
    loops: int = 0
    directed: int = 0  # different ones, as they are listed
    distinct: int = 0  # different ones in either direction


def sort_rows(pairs: Pairs, listed: int, n: int, work: Path) -> SortedRows:
    """Make pairs undirected: each once, with its largest weight, no loops.

    ``listed``: how many of the n nodes the table of nodes lists.
    """
    if n > MAX_NODES:
        raise InputError(f"a graph has at most {MAX_NODES:,} nodes. Got {n:,}: split it into parts.")
    counts = _Counts()
    ends = _bucket_ends(pairs, listed, n, counts)
    buckets = [work / f"bucket-{number}" for number in range(len(ends))]
    _distribute(pairs, listed, n, ends, buckets)
    for spent in (pairs.path, pairs.weights):
        if spent is not None:
            spent.unlink()
    entries = np.zeros(n, np.int64)
    alike = True
    with (work / "indices").open("wb") as out, (work / "sorted-weights").open("wb") as out_weights:
        start = 0
        for number, (end, bucket) in enumerate(zip(ends.tolist(), buckets, strict=True)):
            tell("sorting edges", number, len(buckets))
            keys, heaviest = _sorted_bucket(bucket, n, counts, weighted=pairs.weights is not None)
            rows = keys // n
            entries[start:end] = np.bincount(rows - start, minlength=end - start)
            (keys - rows * n).tofile(out)
            if heaviest is not None:
                alike &= bool((heaviest == 1).all())
                heaviest.tofile(out_weights)
            start = end
    tell("sorting edges", 1, 1)
    notes = notes_on_edges(counts.listed, counts.directed, counts.distinct, counts.loops)
    return SortedRows(entries, not alike, notes)


def _proper(
    pairs: Pairs, listed: int, counts: _Counts | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs by the final numbers of nodes without loops, some at a time; and which of all pairs these are."""
    with pairs.path.open("rb") as file:
        for some in chunks(pairs.count, _PAIRS):
            ends = np.fromfile(file, np.int64, 2 * (some.stop - some.start)).reshape(-1, 2)
            strange = ends >= listed
            ends[strange] = pairs.renumbered[ends[strange] - listed]
            proper = ends[:, 0] != ends[:, 1]
            if counts is not None:
                counts.listed += int(proper.sum())
                counts.loops += int((~proper).sum())
            yield ends[proper], proper


def _bucket_ends(pairs: Pairs, listed: int, n: int, counts: _Counts) -> np.ndarray:
    """After which node each bucket ends: of some million entries, repeats counted."""
    per_bin = -(-n // _BINS)
    filled = np.zeros(-(-n // per_bin), np.int64)
    for ends, _ in _proper(pairs, listed, counts):
        filled += np.bincount(ends.ravel() // per_bin, minlength=len(filled))
    bucket = np.cumsum(filled) // _BUCKET
    last = np.flatnonzero(np.append(bucket[1:] != bucket[:-1], True))
    return np.minimum((last + 1) * per_bin, n)


def _distribute(pairs: Pairs, listed: int, n: int, ends: np.ndarray, buckets: list[Path]) -> None:
    """Write every pair, from either end, to the bucket of that end: (row · n + column) · 2 + direction."""
    for bucket in buckets:
        bucket.write_bytes(b"")
        _weights_of(bucket).write_bytes(b"")
    weights = None if pairs.weights is None else pairs.weights.open("rb")
    try:
        for done, (some, proper) in enumerate(_proper(pairs, listed)):
            tell("distributing edges", done, -(-pairs.count // _PAIRS))
            keys = np.concatenate([some[:, 0] * n + some[:, 1], some[:, 1] * n + some[:, 0]])
            keys = 2 * keys + np.tile(some[:, 0] > some[:, 1], 2)
            where = np.searchsorted(ends, some.T.ravel(), side="right")
            order = np.argsort(where, kind="stable")
            borders = np.searchsorted(where[order], np.arange(len(buckets) + 1))
            heavy = None
            if weights is not None:
                heavy = np.tile(np.fromfile(weights, np.float32, len(proper))[proper], 2)
            for number in np.flatnonzero(np.diff(borders)).tolist():
                own = order[borders[number] : borders[number + 1]]
                _append(buckets[number], keys[own])
                if heavy is not None:
                    _append(_weights_of(buckets[number]), heavy[own])
    finally:
        if weights is not None:
            weights.close()


def _append(path: Path, values: np.ndarray) -> None:
    with path.open("ab") as file:
        values.tofile(file)


def _weights_of(bucket: Path) -> Path:
    return bucket.with_name(f"{bucket.name}-weights")


def _sorted_bucket(
    bucket: Path, n: int, counts: _Counts, *, weighted: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """A bucket's entries as row · n + column, each once and ascending, and the largest weight of each."""
    keys, weights = np.fromfile(bucket, np.int64), None
    if weighted:
        order = np.argsort(keys)
        keys, weights = keys[order], np.fromfile(_weights_of(bucket), np.float32)[order]
        del order
    else:
        keys.sort()
    bucket.unlink()
    _weights_of(bucket).unlink()
    # Every pair is in two buckets: it is counted where the row is the smaller end.
    counts.directed += _lower(keys[_is_first(keys)] >> 1, n)
    keys >>= 1
    first = _is_first(keys)
    if weights is not None and len(keys):
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
            pairs = number_pairs(roles, listed.ids, work)
            rows = sort_rows(pairs, len(listed.ids), len(listed.ids) + len(pairs.added), work)
        except KernodeError:
            raise
        except OSError as error:  # numpy says what it wanted to write, the system why it could not
            reason = error.strerror or str(error)
            raise FileError(f"{work} cannot be written ({reason}). Make room and begin again.") from error
        ends = Ends(roles.source, roles.target, pairs.count, pairs.repairs, roles.edge_notes)
        ids = all_ids(listed, pairs.added, ends, none_is_listed=pairs.none_is_listed)
        weights = work / "sorted-weights" if rows.weighted else None
        return cls(rows.entries, work / "indices", weights, rows.notes, ids, pairs.added, ends)
