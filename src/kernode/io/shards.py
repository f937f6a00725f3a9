"""A graph on disk as a folder of ``.npy`` arrays, of which each of several processes maps its own rows.

Every array is that of the whole graph, and a share is a slice of its rows: one store serves any number of
processes. ``store.json`` has the sizes and a SHA-256 of each block of 16 MB of every file; a process compares
the blocks that it touches.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from kernode.errors import FileError, InputError, KernodeError, bad_setting
from kernode.graph import Graph
from kernode.graph.adjacency import FEATURES, merged, notes_on_edges
from kernode.graph.graph import fingerprint_of
from kernode.io.archive import checked_csr
from kernode.io.tables.encoding import Encoding
from kernode.io.tables.read import TableOrigin, Tables
from kernode.io.tables.table import Repair
from kernode.progress import report_progress
from kernode.storage import complete, damaged, first_line, write_whole

if TYPE_CHECKING:
    from kernode.compute.ranks import Ranks
    from kernode.graph.share import GraphShare

FILE, FORMAT = "store.json", 2
ROW = 16  # entries that a node counts as, in addition to its own
_BLOCK = 2**24  # bytes under one SHA-256
_BATCH = 2**24  # entries of the adjacency that are sorted at a time
_HEADER = 128  # bytes that numpy writes before the content of an array of one or two axes
_REMEDY = "Restore it or shard again"
_TYPES = {"indices": "<i4", "weights": "<f4"}  # of the arrays that are written a piece at a time


def is_store(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder with a finished store in it."""
    return os.path.isfile(os.path.join(path, FILE))  # noqa: PTH113, PTH118 (False for any text, where pathlib raises)


@dataclass(frozen=True, kw_only=True)
class Store:
    """A graph as a folder of mapped arrays; what ``store.json`` states is an attribute.

    >>> import tempfile
    >>> from kernode.io import load_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = write_store(load_graph("cora"), folder)
    ...     store.nodes, store.borders(2), store.rows(0, 1355)[0].shape
    (2708, array([   0, 1355, 2708]), (1355, 2708))
    """

    folder: Path
    name: str
    nodes: int
    features: int
    feature_entries: int | None  # of sparse features; None where they are dense
    dtype: str  # of the features
    entries: int  # of the adjacency: two for every edge
    class_names: tuple[str, ...]
    fingerprint: str
    notes: tuple[str, ...]
    encoding: dict[str, Any] | None  # of a graph from tables: what their columns became
    repairs: tuple[dict[str, Any], ...]  # and their rows that were dropped or changed
    digests: dict[str, list[str]]  # SHA-256 of every block, by the names of arrays
    target_name: str = ""

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """Read ``store.json`` and the beginnings of the arrays."""
        folder = Path(folder)
        path = folder / FILE
        try:
            values = dict(json.loads(path.read_bytes()))
        except FileNotFoundError as error:
            sentence = f"{folder} is not a finished store: it has no {FILE}. Make one: kernode data convert."
            code = "wrong-file" if folder.is_dir() else "no-file"
            raise FileError(sentence, code, path=str(folder)) from error
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise damaged(path, "cannot be read, or is not a JSON object", "Shard again") from error
        if (found := values.pop("format", None)) != FORMAT:
            before = "kernode 0.2 wrote it:" if found == 1 else "Update kernode, or"
            sentence = f"{path} has format {found}; this kernode reads format {FORMAT}. {before} "
            sentence += "make a new store of its data with kernode data convert DATA -o FOLDER."
            raise InputError(sentence, "unsupported", path=str(path))
        if values.pop("checksum", None) != _checksum(values):
            raise damaged(path, "was damaged or edited: its checksum does not match", "Shard again")
        with complete(path):
            values |= {name: tuple(values[name]) for name in ("class_names", "notes", "repairs")}
            store = cls(folder=folder, **values)
            for name in store.digests:
                store._mapped(name, 0, 0)
        return store

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    def borders(self, count: int) -> np.ndarray:
        """Where ``count`` shares begin and end, balanced by entries + 16 · nodes: ``count + 1`` numbers."""
        if not 1 <= count <= self.nodes:
            raise bad_setting("processes", f"1 to {self.nodes:,}, the nodes of {self.folder}", count)
        return runs(np.diff(self._mapped("indptr")) + ROW, count)

    def rows(self, start: int, stop: int) -> tuple[sparse.csr_array, np.ndarray | sparse.csr_array]:
        """Adjacency (rows × n) and features (rows × f) of nodes ``start … stop − 1``, mapped."""
        with complete(self.folder / FILE):
            adjacency = self._csr("", "weights", start, stop, self.nodes)
            if self.feature_entries is None:
                return adjacency, FEATURES.add(self._mapped("features", start, stop))
            features = self._csr("features.", "features.data", start, stop, self.features)
            return adjacency, FEATURES.add(features)

    def labels(self) -> np.ndarray:
        """The class of every node, −1 where it is not known."""
        return np.asarray(self._mapped("labels"))

    def targets(self) -> np.ndarray | None:
        """The number of every node, NaN where it is not known; None where nodes have none."""
        return np.asarray(self._mapped("targets")) if "targets" in self.digests else None

    def names(self) -> np.ndarray | None:
        """The name of every node, or None where they have none."""
        if "names" not in self.digests:
            return None
        offsets, content = self._mapped("names.offsets").tolist(), self._mapped("names").tobytes()
        with complete(self.folder / FILE):
            texts = [content[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(offsets)]
        return np.array(texts, str)

    def share(self, ranks: Ranks) -> GraphShare:
        """A rank's rows, with the labels, targets and names of all nodes."""
        from kernode.graph.share import GraphShare

        bounds = self.borders(ranks.size)
        start, stop = bounds[ranks.rank : ranks.rank + 2].tolist()
        return GraphShare(
            *self.rows(start, stop), self.labels(), self.class_names, self.names(), self.name, self.notes,
            ranks=ranks, bounds=bounds, of_whole=self.fingerprint, entries=self.entries,
            targets=self.targets(), target_name=self.target_name,
        )  # fmt: skip

    def whole(self) -> Graph:
        """The whole graph; dense features stay mapped."""
        origin = None
        with complete(self.folder / FILE):
            if self.encoding is not None:
                repairs = tuple(Repair.from_json(repair) for repair in self.repairs)
                origin = TableOrigin(Encoding.from_json(self.encoding), repairs)
            matrices, names = self.rows(0, self.nodes), self.names()
            graph = Graph(
                *matrices, self.labels(), self.class_names, names, self.name, self.notes, origin,
                self.targets(), self.target_name,
            )  # fmt: skip
        if graph.fingerprint != self.fingerprint:
            raise damaged(self.folder, "is damaged: its arrays are not those of one graph", _REMEDY)
        return graph

    def _mapped(self, name: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Rows of an array; its first block and those that they lie in are compared with their SHA-256."""
        path = self.folder / f"{name}.npy"

        def compare(blocks: range) -> None:
            for block in blocks:
                file.seek(block * _BLOCK)
                if hashlib.sha256(file.read(_BLOCK)).hexdigest() != self.digests[name][block]:
                    raise damaged(
                        path, "is damaged: its checksum does not match", "Restore it or shard again"
                    )

        try:
            with path.open("rb") as file:
                compare(range(1))
                array: Any = np.load(path, mmap_mode="r")
                row = array.itemsize * math.prod(array.shape[1:])
                first, last = (array.offset + at * row for at in slice(start, stop).indices(len(array))[:2])
                compare(range(max(1, first // _BLOCK), -(-last // _BLOCK)) if last > first else range(0))
                return array[start:stop]
        except (OSError, ValueError, EOFError, LookupError, TypeError) as error:
            if isinstance(error, KernodeError):
                raise
            raise damaged(path, f"cannot be read ({first_line(error)})", _REMEDY) from error

    def _csr(self, of: str, data: str, start: int, stop: int, width: int) -> sparse.csr_array:
        """Rows of a matrix, without a copy of its entries; ones where no array has them."""
        pointers = np.array(self._mapped(f"{of}indptr", start, stop + 1))
        begin, end = pointers[[0, -1]].tolist()
        columns = self._mapped(f"{of}indices", begin, end)
        values = self._mapped(data, begin, end) if data in self.digests else np.ones(len(columns), np.float32)
        path = self.folder / f"{of}indices.npy"
        return _matrix(path, pointers - begin, columns, values, width)


def runs(costs: np.ndarray, count: int) -> np.ndarray:
    """Cut items into ``count`` runs of about the same cost, none of them empty: ``count + 1`` numbers.

    >>> runs(np.array([116, 16, 16, 16, 16, 16, 16, 16]), 2)
    array([0, 1, 8])
    """
    upto, first = np.cumsum(costs, dtype=np.float64), np.arange(1, count)
    cuts = np.searchsorted(upto - costs / 2, upto[-1] * first / count)  # the nearest borders of items
    cuts = np.maximum.accumulate(np.maximum(cuts, first) - first) + first  # one item at least in each
    return np.concatenate([[0], np.minimum(cuts, len(costs) - count + first), [len(costs)]])


def _matrix(path: Path, pointers: np.ndarray, columns: Any, values: Any, width: int) -> sparse.csr_array:
    """A matrix of mapped arrays, without a copy of them."""
    if len(columns) < 2**31:  # scipy has one type for both, and would copy the columns
        pointers = pointers.astype(np.int32)
    return checked_csr(path, path.stem, values, columns, pointers, (len(pointers) - 1, width))


def write_store(graph: Graph, folder: str | os.PathLike[str]) -> Store:
    """Write a graph to a new or empty folder."""
    matrix = graph.adjacency
    with _new_folder(Path(folder)) as target:
        _append(target, "indices", matrix.indices)
        if (matrix.data != 1).any():
            _append(target, "weights", matrix.data)
        _finish(target, matrix.indptr, graph)
    return Store.open(folder)


def write_store_of_tables(tables: Tables, folder: str | os.PathLike[str]) -> Store:
    """Write the graph of :class:`kernode.io.tables.read.Tables`, whose edges are never held as a whole."""
    import duckdb

    with _new_folder(Path(folder)) as target:
        try:
            indptr, notes = _append_pairs(target, tables)
        except duckdb.Error as error:
            sentence = f"{folder}: edges cannot be sorted ({first_line(error)}). Free memory or disk space."
            raise FileError(sentence, path=str(folder)) from error
        files = [(target / f"{name}.npy", kind) for name, kind in _TYPES.items()]
        indices, *weights = (np.memmap(path, kind, "r", _HEADER) for path, kind in files if path.exists())
        ones = np.broadcast_to(np.float32(1), indices.shape)  # take no memory
        adjacency = _matrix(files[0][0], indptr, indices, weights[0] if weights else ones, tables.n)
        notes += tables.notes(int(indptr[-1]))
        tables.con.close()  # its memory is for the features
        encoding, features = tables.encoded(adjacency)
        graph = tables.facts(encoding, notes)
        graph.features, graph.node_names = features, tables.names
        graph.fingerprint = fingerprint_of(adjacency, features)
        _finish(target, indptr, graph)
    return Store.open(folder)


def _append_pairs(folder: Path, tables: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """Write a symmetric adjacency; returns its row pointers and notes.

    A range of rows is fetched at a time, in both directions, and sorted by numpy: that takes a tenth of the
    time of DuckDB's GROUP BY and ORDER BY, and nothing is spilled to disk.
    """
    con, n, weight = tables.con, tables.n, ", w" * tables.weighted
    both = (
        f"(SELECT s, (s::BIGINT * {n} + t) * 2 AS key{weight} FROM pair WHERE s <> t UNION ALL "
        f"SELECT t, (t::BIGINT * {n} + s) * 2 + 1{weight} FROM pair WHERE s <> t)"
    )
    width = -(-n // 2**16)  # of buckets of nodes, between which ranges are cut
    query = f"SELECT s // {width} AS bucket, count(*) AS count FROM {both} GROUP BY bucket"
    found, buckets = con.execute(query).fetchnumpy(), np.zeros(-(-n // width), np.int64)
    buckets[found["bucket"]] = found["count"]
    ranges = width * runs(buckets, min(len(buckets), 1 + int(buckets.sum()) // _BATCH))
    degrees, directed = np.zeros(n + 1, np.int64), 0
    for start, stop in pairwise(ranges.clip(max=n).tolist()):
        report_progress("edges", start, n)
        query = f"SELECT key{weight} FROM {both} WHERE s >= {start} AND s < {stop}"
        found = con.execute(query).fetchnumpy()
        pairs, weights, count = merged(found["key"], found.get("w"))
        source, target = np.divmod(pairs, n)
        degrees[start + 1 : stop + 1] = np.bincount(source - start, minlength=stop - start)
        directed += count
        _append(folder, "indices", target)
        if weights is not None:
            _append(folder, "weights", weights)
    indptr = np.cumsum(degrees)
    ((listed,),) = con.execute("SELECT count(*) FROM pair").fetchall()
    proper = int(buckets.sum()) // 2  # here, as in the other two, an edge was met from both ends
    return indptr, notes_on_edges(proper, directed // 2, int(indptr[-1]) // 2, listed - proper)


def require_free(folder: Path) -> None:
    """Raise unless a store can be written to a folder: it is new or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = "is a finished store" if is_store(folder) else "is not an empty folder"
        raise InputError(f"{folder} {what}. Choose another.", "conflict", path=str(folder))


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Make the folder of a store; an error removes it again.

    It is filled in its place, which may be a disk of its own; ``store.json`` comes last and makes it a store.
    """
    require_free(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, KernodeError) or not isinstance(error, OSError):
            raise
        sentence = f"{folder} cannot be written ({error.strerror or error}). Choose another place or free it."
        raise FileError(sentence, path=str(folder)) from error


def _append(folder: Path, name: str, array: np.ndarray) -> None:
    """Write to the end of an array's file, which begins with room for a header."""
    with (folder / f"{name}.npy").open("ab") as file:
        file.write(bytes(0 if file.tell() else _HEADER))
        file.write(np.ascontiguousarray(array, _TYPES[name]).data)


def _finish(folder: Path, indptr: np.ndarray, graph: Graph | SimpleNamespace) -> None:
    """Write all but the entries of the adjacency, the headers of these, and ``store.json``."""
    x: Any = graph.features
    filled, names, entries = sparse.issparse(x), graph.node_names, int(indptr[-1])
    arrays = {"indptr": indptr.astype(np.int64), "labels": graph.labels}
    if graph.targets is not None:
        arrays["targets"] = graph.targets
    if filled:
        arrays |= {"features.indptr": x.indptr.astype(np.int64), "features.indices": x.indices}
    arrays["features.data" if filled else "features"] = x.data if filled else x
    if names is not None:
        encoded = [name.encode("utf-8", "surrogatepass") for name in names.tolist()]
        arrays["names"] = np.frombuffer(b"".join(encoded), np.uint8)
        arrays["names.offsets"] = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    digests = {}
    for path in sorted(folder.glob("*.npy")):
        with path.open("r+b") as file:
            if path.stem in _TYPES:
                header = {"descr": _TYPES[path.stem], "fortran_order": False, "shape": (entries,)}
                np.lib.format.write_array_header_1_0(file, header)
                file.seek(0)
            blocks = iter(lambda: file.read(_BLOCK), b"")
            digests[path.stem] = [hashlib.sha256(block).hexdigest() for block in blocks]
            os.fsync(file.fileno())
    encoding, repairs = (getattr(graph.origin, name, None) for name in ("encoding", "repairs"))
    store = Store(
        folder=folder, name=graph.name, nodes=len(indptr) - 1, entries=entries, class_names=graph.class_names,
        features=x.shape[1], feature_entries=int(x.nnz) if filled else None, dtype=x.dtype.name,
        fingerprint=graph.fingerprint, notes=graph.notes, encoding=encoding and encoding.to_json(),
        repairs=tuple(repair.short().to_json() for repair in repairs or ()), digests=digests,
        target_name=graph.target_name,
    )  # fmt: skip
    values = {name: value for name, value in asdict(store).items() if name != "folder"}
    if graph.targets is None:
        del values["target_name"]  # a store of classes is as before
    content = {"format": FORMAT, **values, "checksum": _checksum(values)}
    write_whole(folder / FILE, json.dumps(content, indent=1).encode() + b"\n")


def _checksum(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
