"""A graph on disk as a folder of ``.npy`` arrays, of which each of several processes maps its own rows.

Every array is that of the whole graph, and a share is a slice of its rows: one store serves any number of
processes. ``store.json`` states the sizes, from which the type and shape of every array follow, and a SHA-256
of each block of 16 MB; a process compares the blocks that it touches, once. The headers of the ``.npy`` files
are for other programs: nothing in them is believed.
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
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from kernode.compute.chunks import chunks, row_chunks
from kernode.errors import FileError, InputError, KernodeError, bad_setting
from kernode.graph import Graph
from kernode.graph.adjacency import FEATURES, merged, notes_on_edges
from kernode.graph.graph import fingerprint_of
from kernode.io.archive import checked_csr
from kernode.io.tables.encoding import Encoding
from kernode.io.tables.read import TableOrigin, Tables
from kernode.io.tables.repairs import Repair
from kernode.progress import tell
from kernode.storage import complete, damaged, first_line, write_whole

if TYPE_CHECKING:
    from kernode.compute.ranks import Ranks
    from kernode.graph.share import GraphShare

FILE, FORMAT = "store.json", 2
ROW = 16  # entries that a node counts as, in addition to its own
_BLOCK = 2**24  # bytes under one SHA-256
_BATCH = 2**24  # entries of the adjacency that are sorted at a time
_HEADER = 128  # bytes that numpy writes before the content of an array of one or two axes
_DTYPES = ("float16", "float32", "float64")  # of features
_TYPES = {"labels": "i8", "indptr": "i8", "indices": "i4", "weights": "f4", "names": "u1", "offsets": "i8"}
_verified: set[tuple[str, int, str, int]] = set()  # blocks that this process compared


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
    weighted: bool
    name_bytes: int | None  # of all names in UTF-8; None where nodes have none
    class_names: tuple[str, ...]
    fingerprint: str
    notes: tuple[str, ...]
    encoding: dict[str, Any] | None  # of a graph from tables: what their columns became
    repairs: tuple[dict[str, Any], ...]  # and their rows that were dropped or changed
    digests: dict[str, list[str]]  # SHA-256 of every block, by the names of arrays

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """Read ``store.json`` and compare the sizes of the files; no array is read."""
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
            "".join((store.name, store.fingerprint, *store.class_names, *store.notes))  # all of them text
            known = store.dtype in _DTYPES and 0 < store.features < 2**31
            if not known or store.digests.keys() != store.arrays.keys():
                raise damaged(path, "has fields that cannot be right", "Shard again")
            for name in store.arrays:
                store._mapped(name, 0, 0)
        return store

    @property
    def arrays(self) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
        """Type and shape of every array, by its name."""
        n, filled = self.nodes, self.feature_entries
        shapes: dict[str, tuple[int, ...]] = {"labels": (n,), "indptr": (n + 1,), "indices": (self.entries,)}
        if self.weighted:
            shapes["weights"] = (self.entries,)
        if filled is None:
            shapes["features"] = (n, self.features)
        else:
            shapes |= {"features.indptr": (n + 1,), "features.indices": (filled,), "features.data": (filled,)}
        if self.name_bytes is not None:
            shapes |= {"names": (self.name_bytes,), "names.offsets": (n + 1,)}
        return {name: (_type(name, self.dtype), shape) for name, shape in shapes.items()}

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    def borders(self, count: int) -> np.ndarray:
        """Where ``count`` shares begin and end, balanced by entries + 16 · nodes: ``count + 1`` numbers."""
        if not 1 <= count <= self.nodes:
            raise bad_setting("processes", f"1 to {self.nodes:,}, the nodes of {self.folder}", count)
        return runs(np.diff(self._pointers("indptr", "indices", 0, self.nodes)) + ROW, count)

    def rows(self, start: int, stop: int) -> tuple[sparse.csr_array, np.ndarray | sparse.csr_array]:
        """Adjacency (rows × n) and features (rows × f) of nodes ``start … stop − 1``, mapped."""
        adjacency = self._csr("", "weights" if self.weighted else None, start, stop, self.nodes)
        if (adjacency.data <= 0).any():
            raise self._damaged("weights", "holds a weight that is not above 0")
        if self.feature_entries is not None:
            return adjacency, FEATURES.add(
                self._csr("features.", "features.data", start, stop, self.features)
            )
        features = self._mapped("features", start, stop)
        if not all(np.isfinite(features[some]).all() for some in row_chunks(features)):
            raise self._damaged("features", "holds a feature that is not a finite number")
        return adjacency, FEATURES.add(features)

    def labels(self) -> np.ndarray:
        """The class of every node, −1 where it is not known."""
        labels = self._mapped("labels", 0, self.nodes)
        if labels.min() < -1 or labels.max() >= len(self.class_names):
            raise self._damaged("labels", "holds a label that is not a class of the store")
        return np.asarray(labels)

    def names(self) -> np.ndarray | None:
        """The name of every node, or None where they have none."""
        if self.name_bytes is None:
            return None
        offsets = self._pointers("names.offsets", "names", 0, self.nodes).tolist()
        content = self._mapped("names", 0, self.name_bytes).tobytes()
        try:
            texts = [content[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(offsets)]
        except UnicodeDecodeError as error:
            raise self._damaged("names", "holds names that are not UTF-8") from error
        return np.array(texts, str)

    def share(self, ranks: Ranks) -> GraphShare:
        """A rank's rows, with the labels and names of all nodes."""
        from kernode.graph.share import GraphShare

        bounds = self.borders(ranks.size)
        start, stop = bounds[ranks.rank : ranks.rank + 2].tolist()
        return GraphShare(
            *self.rows(start, stop), self.labels(), self.class_names, self.names(), self.name, self.notes,
            ranks=ranks, bounds=bounds, of_whole=self.fingerprint, entries=self.entries,
        )  # fmt: skip

    def whole(self) -> Graph:
        """The whole graph; dense features stay mapped."""
        matrices, labels, names, origin = self.rows(0, self.nodes), self.labels(), self.names(), None
        try:
            with complete(self.folder / FILE):
                if self.encoding is not None:
                    repairs = tuple(Repair.from_json(repair) for repair in self.repairs)
                    origin = TableOrigin(Encoding.from_json(self.encoding), repairs)
                graph = Graph(*matrices, labels, self.class_names, names, self.name, self.notes, origin)
                if graph.fingerprint != self.fingerprint:
                    raise InputError("its arrays are not those of one graph.")
        except InputError as error:
            raise damaged(self.folder, f"does not hold a graph: {str(error).rstrip('.')}") from error
        return graph

    def _damaged(self, name: str, what: str) -> FileError:
        return damaged(self.folder / f"{name}.npy", what, "Restore it or shard again")

    def _mapped(self, name: str, start: int, stop: int) -> np.ndarray:
        """Rows of an array, after the SHA-256 of each block that they lie in was compared, once."""
        path, (kind, (length, *row)) = self.folder / f"{name}.npy", self.arrays[name]
        first, last, size = (_HEADER + at * kind.itemsize * math.prod(row) for at in (start, stop, length))
        try:
            about = path.stat()
            if about.st_size != size:  # what is mapped beyond the end of a file crashes
                raise self._damaged(name, f"has {about.st_size:,} bytes where its store says {size:,}")
            with path.open("rb") as file:
                for block in range(first // _BLOCK, -(-last // _BLOCK) if stop > start else 0):
                    known = str(path.resolve()), block, self.digests[name][block], about.st_mtime_ns
                    file.seek(block * _BLOCK)
                    if known not in _verified and hashlib.sha256(file.read(_BLOCK)).hexdigest() != known[2]:
                        raise self._damaged(name, "is damaged: its checksum does not match")
                    _verified.add(known)
                return np.memmap(file, kind, "r", first, (stop - start, *row))
        except FileError:
            raise
        except (OSError, LookupError, TypeError) as error:
            raise self._damaged(name, f"cannot be read ({first_line(error)})") from error

    def _pointers(self, name: str, into: str, start: int, stop: int) -> np.ndarray:
        """Where rows of an array begin and end, ascending from 0 to its length."""
        found, length = np.array(self._mapped(name, start, stop + 1)), self.arrays[into][1][0]
        first, last = 0 if start == 0 else found[0], length if stop == self.nodes else found[-1]
        if (found[1:] < found[:-1]).any() or not 0 <= first == found[0] or not found[-1] == last <= length:
            raise self._damaged(name, f"does not rise from 0 to the length of {into}")
        return found

    def _csr(self, of: str, data: str | None, start: int, stop: int, width: int) -> sparse.csr_array:
        """Rows of a matrix, with columns that ascend and finite values: ones without ``data``."""
        indices, pointers = f"{of}indices", self._pointers(f"{of}indptr", f"{of}indices", start, stop)
        begin, end = int(pointers[0]), int(pointers[-1])
        values = None if data is None else self._mapped(data, begin, end)
        path, columns = self.folder / f"{indices}.npy", self._mapped(indices, begin, end)
        matrix = _matrix(path, pointers - begin, columns, values, width)
        if not np.isfinite(matrix.data).all() or not matrix.has_canonical_format:
            raise self._damaged(indices, "holds columns out of order, or of values that are not finite")
        return matrix


def _type(name: str, other: Any) -> np.dtype:
    """The type of an array in its file: that of its last name, or another."""
    return np.dtype(_TYPES.get(name.rpartition(".")[2], other)).newbyteorder("<")


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
    """A matrix of mapped arrays, without a copy of them; ones without values."""
    if len(columns) < 2**31:  # scipy has one type for both, and would copy the columns
        pointers = pointers.astype(np.int32)
    values = np.ones(len(columns), np.float32) if values is None else values
    return checked_csr(path, path.stem, values, columns, pointers, (len(pointers) - 1, width))


def write_store(graph: Graph, folder: str | os.PathLike[str]) -> Store:
    """Write a graph to a new or empty folder."""
    matrix = graph.adjacency
    with _new_folder(Path(folder)) as target:
        _append(target, {"indptr": matrix.indptr, "indices": matrix.indices})
        _append(target, {"weights": matrix.data} if (matrix.data != 1).any() else {})
        _finish(target, graph, graph.features, graph.node_names, graph.notes, graph.fingerprint)
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
        indices, weights = (
            np.memmap(path, _type(path.stem, None), "r", _HEADER) if path.exists() else None
            for path in (target / "indices.npy", target / "weights.npy")
        )
        adjacency = _matrix(target / "indices.npy", indptr, indices, weights, tables.n)
        said = tables.notes(int(indptr[-1]))
        tables.con.execute("DROP TABLE pair")  # its memory is for the features
        encoding, features = tables.encoded(adjacency)
        fingerprint = fingerprint_of(adjacency, features)
        graph = tables.facts(encoding, (*notes, *said))
        _finish(target, graph, features, tables.names, graph.notes, fingerprint)
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
        tell("edges", start, n)
        query = f"SELECT key{weight} FROM {both} WHERE s >= {start} AND s < {stop}"
        found = con.execute(query).fetchnumpy()
        pairs, weights, count = merged(found["key"], found.get("w"))
        source, target = np.divmod(pairs, n)
        degrees[start + 1 : stop + 1] = np.bincount(source - start, minlength=stop - start)
        directed += count
        _append(folder, {"indices": target} | ({} if weights is None else {"weights": weights}))
    indptr = np.cumsum(degrees)
    _append(folder, {"indptr": indptr})
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


def _append(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write rows to the ends of the arrays' files, which begin with room for a header."""
    for name, array in arrays.items():
        with (folder / f"{name}.npy").open("ab") as file:
            file.write(bytes(0 if file.tell() else _HEADER))
            for rows in row_chunks(array):
                file.write(array[rows].astype(_type(name, array.dtype), copy=False).tobytes())


def _finish(
    folder: Path, graph: Any, features: Any, names: Any, notes: tuple[str, ...], fingerprint: str
) -> None:
    """Write features, labels and names, the headers of all arrays, and ``store.json``."""
    if features.dtype.name not in _DTYPES:
        sentence = f"the features of a store must be {', '.join(_DTYPES)}. Got {features.dtype}."
        raise InputError(sentence, "unsupported", dtype=features.dtype.name)
    filled = sparse.issparse(features)
    parts = {f"features.{name}": getattr(features, name) for name in ("indptr", "indices", "data") if filled}
    _append(folder, {"labels": graph.labels, **(parts or {"features": features})})
    if names is not None:
        lengths = np.zeros(len(names) + 1, np.int64)
        for some in chunks(len(names), 2**18):
            encoded = [name.encode("utf-8", "surrogatepass") for name in names[some].tolist()]
            lengths[some.start + 1 : some.stop + 1] = [len(name) for name in encoded]
            _append(folder, {"names": np.frombuffer(b"".join(encoded), np.uint8)})
        _append(folder, {"names.offsets": np.cumsum(lengths)})
    sizes = {path.stem: path.stat().st_size - _HEADER for path in folder.glob("*.npy")}
    encoding, repairs = (getattr(graph.origin, name, None) for name in ("encoding", "repairs"))
    store = Store(
        folder=folder, name=graph.name, nodes=len(graph.labels), entries=sizes["indices"] // 4,
        weighted="weights" in sizes, name_bytes=sizes.get("names"), class_names=graph.class_names,
        features=features.shape[1], feature_entries=int(features.nnz) if filled else None,
        dtype=features.dtype.name, fingerprint=fingerprint, notes=notes,
        encoding=encoding and encoding.to_json(),
        repairs=tuple(repair.short().to_json() for repair in repairs or ()), digests={},
    )  # fmt: skip
    for name, (dtype, shape) in store.arrays.items():
        with (folder / f"{name}.npy").open("r+b") as file:
            header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.seek(0)
            blocks = (file.read(_BLOCK) for _ in range(0, _HEADER + sizes[name], _BLOCK))
            store.digests[name] = [hashlib.sha256(block).hexdigest() for block in blocks]
            os.fsync(file.fileno())
    values = {name: value for name, value in asdict(store).items() if name != "folder"}
    content = {"format": FORMAT, **values, "checksum": _checksum(values)}
    write_whole(folder / FILE, json.dumps(content, indent=1).encode() + b"\n")


def _checksum(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
