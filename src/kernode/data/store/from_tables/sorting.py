"""Pairs of numbers as the rows of a symmetric matrix, sorted on the disk.

Every pair is written to two of some buckets, by either end. A bucket holds the rows of some consecutive
nodes and fits into memory; sorted one after another they are the matrix, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernode.compute.chunks import chunks
from kernode.data.store.from_tables.numbering import Pairs
from kernode.errors import InputError
from kernode.graph.adjacency import MAX_NODES, notes_on_edges
from kernode.progress import tell

_ROWS = 2**19  # pairs at a time
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
        for some in chunks(pairs.count, _ROWS):
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
            tell("distributing edges", done, -(-pairs.count // _ROWS))
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
