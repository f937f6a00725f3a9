"""A graph in parts: opened by its header, and read a part at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernode.compute.ranks import Ranks
from kernode.errors import FileError, InputError, bad_setting
from kernode.graph import Graph
from kernode.graph.share import GraphShare
from kernode.io.store.header import FILE, Header, PartEntry
from kernode.io.store.part import OpenPart, Part, joined, opened
from kernode.io.tables.encoding import Encoding
from kernode.io.tables.read import TableOrigin
from kernode.io.tables.repairs import Repair
from kernode.progress import tell
from kernode.storage import damaged

ROW = 16  # entries that a node counts as, in addition to its own


def borders(entries: np.ndarray, parts: int) -> np.ndarray:
    """Where ``parts`` runs of nodes begin and end, alike by entries + 16 · nodes: ``parts + 1`` numbers.

    ``entries``: of each node's row of the adjacency.

    >>> borders(np.array([100, 0, 0, 0, 0, 0, 0, 0]), 2)
    array([0, 1, 8])
    """
    n = len(entries)
    if not isinstance(parts, int | np.integer) or isinstance(parts, bool) or not 1 <= parts <= n:
        raise bad_setting("parts", f"an integer from 1 to the number of nodes, {n:,}", parts)
    return runs(np.asarray(entries, np.int64) + ROW, int(parts))


def runs(costs: np.ndarray, count: int) -> np.ndarray:
    """Cut items into ``count`` runs of about the same cost, none of them empty: ``count + 1`` numbers."""
    upto = np.cumsum(costs, dtype=np.float64)
    targets = upto[-1] * np.arange(1, count) / count
    after = np.searchsorted(upto, targets)  # the run's last item reaches the target
    before = np.where(after > 0, upto[after - 1], 0)
    cuts = after + (upto[after] - targets <= targets - before)  # whichever border is nearer
    # At least one item in each: not before as many items as there are runs, and as many left after it.
    first = np.arange(1, count)
    cuts = np.maximum.accumulate(np.maximum(cuts, first) - first) + first
    cuts = np.minimum(cuts, len(costs) - count + first)
    return np.concatenate([[0], cuts, [len(costs)]]).astype(np.int64)


def is_store(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder with a finished store in it."""
    try:
        return (Path(path) / FILE).is_file()
    except OSError:  # no name of a file, or a folder that this user may not look into
        return False


@dataclass(frozen=True, kw_only=True)
class Store(Header):
    """A graph as a folder of parts, of which each holds the rows of some consecutive nodes.

    What stands in ``store.json`` is an attribute: ``nodes``, ``features``, ``class_names``, ``fingerprint``,
    ``parts``, … A part is compared with its SHA-256 when a process first reads of it.

    >>> import tempfile
    >>> from kernode.io import load_graph
    >>> from kernode.io.store import write_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = write_store(load_graph("cora"), folder, parts=4)
    ...     store.share(0, 2), store.share(1, 2), store.part(0)
    (range(0, 1356), range(1356, 2708), Part(nodes 0 to 672, 2,712 entries))
    """

    folder: Path

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """Read and check ``store.json``; no part is opened."""
        folder = Path(folder)
        return cls(folder=folder, **Header.read(folder))

    @property
    def classes(self) -> int:
        """Number of classes, c."""
        return len(self.class_names)

    def part(self, number: int) -> Part:
        """One part, by its number from 0."""
        entry = self.parts[number]
        with opened(self.folder, entry) as file:
            return file.read(self, entry)

    def rows(self, start: int, stop: int) -> Part:
        """The parts of nodes ``start … stop − 1`` as one; both must be borders of parts."""
        wanted = [at for at, part in enumerate(self.parts) if start <= part.start and part.stop <= stop]
        if not wanted or (self.parts[wanted[0]].start, self.parts[wanted[-1]].stop) != (start, stop):
            raise InputError(
                f"{self.folder}: nodes {start} to {stop} are not whole parts. Take a range of share().",
                "shape",
            )
        read = []
        for done, number in enumerate(wanted):
            tell("parts", done, len(wanted))
            read.append(self.part(number))
        return joined(read)

    def share(self, rank: int, ranks: int) -> range:
        """The nodes of one of several processes: consecutive parts, alike by the bytes they hold."""
        if not 0 <= rank < ranks:
            raise bad_setting("rank", f"from 0 to {ranks - 1}, for {ranks} processes", rank)
        if ranks > len(self.parts):
            raise InputError(
                f"{self.folder} has {len(self.parts)} parts, too few for {ranks} processes. "
                f"Shard the graph again into {ranks} or more.",
                "too-few",
                setting="parts",
            )
        cuts = runs(np.array([self._cost(part) for part in self.parts]), ranks)
        return range(self.parts[cuts[rank]].start, self.parts[cuts[rank + 1] - 1].stop)

    def _cost(self, part: PartEntry) -> int:
        """Bytes of its entries and features."""
        size = np.dtype(self.dtype).itemsize
        if part.feature_entries is None:
            return 12 * part.entries + size * self.features * (part.stop - part.start)
        return 12 * part.entries + (8 + size) * part.feature_entries

    def labels(self) -> np.ndarray:
        """The class of every node, −1 where it is not known; of each part only this is loaded."""
        return self._of_every_part(lambda file: file.labels(self))

    def names(self) -> np.ndarray | None:
        """The name of every node, or None where they have none; of each part only this is loaded."""
        return self._of_every_part(OpenPart.names) if self.named else None

    def _of_every_part(self, read: Callable[[OpenPart], np.ndarray]) -> np.ndarray:
        found = []
        for part in self.parts:
            with opened(self.folder, part) as file:
                found.append(read(file))
        return np.concatenate(found)

    def whole(self) -> Graph:
        """Return the whole graph, with the fingerprint it was written with."""
        every = self.rows(0, self.nodes)
        origin = None
        try:
            if self.encoding is not None:
                repairs = tuple(Repair.from_json(repair) for repair in self.repairs)
                origin = TableOrigin(Encoding.from_json(self.encoding), repairs)
            graph = Graph(
                every.adjacency,
                every.features,
                every.labels,
                class_names=self.class_names,
                node_names=every.names,
                name=self.name,
                notes=self.notes,
                origin=origin,
            )
        except (InputError, KeyError, TypeError) as error:
            raise FileError(
                f"{self.folder} does not hold a graph: {error}", "damaged-file", path=str(self.folder)
            ) from error
        if graph.fingerprint != self.fingerprint:
            raise damaged(self.folder, "holds parts that are not those of one graph")
        return graph


def read_share(store: Store, ranks: Ranks) -> GraphShare:
    """A rank's rows; labels and names come from the ranks that have read them."""
    shares = [store.share(rank, ranks.size) for rank in range(ranks.size)]
    own = shares[ranks.rank]
    part = store.rows(own.start, own.stop)
    labels = np.concatenate(ranks.of_all(part.labels))
    names = np.concatenate(ranks.of_all(part.names)) if store.named else None
    labels.setflags(write=False)
    return GraphShare(
        part.adjacency, part.features, labels, store.class_names, names, store.name, store.notes,
        ranks=ranks, bounds=np.array([0, *(share.stop for share in shares)]), of_whole=store.fingerprint,
        entries=store.entries,
    )  # fmt: skip
