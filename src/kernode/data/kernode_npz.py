"""kernode's own NPZ layout: a whole graph with its names, small, pickle-free, with a checksum inside.

===============================  ===========================================================
``kernode``                      JSON: layout, name, sizes, notes, columns, SHA-256 of all the rest
``adjacency_counts, …_indices``  the upper triangle: neighbours per node, then their indices
``features_counts, …_indices``   the same for sparse features; or ``features``, dense
``…_values``                     left out where every value is 1
``labels``                       −1 where the class is not known
``class_names, node_names``      the latter only if the graph has them
===============================  ===========================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.compute.chunks import row_chunks
from kernode.data.archive import Archive
from kernode.data.csr import checked_csr
from kernode.data.tables.columns import Encoding
from kernode.data.tables.origin import TableOrigin
from kernode.data.tables.repairs import Repair
from kernode.errors import FileError, InputError
from kernode.graph import Graph, typed_names
from kernode.graph.adjacency import from_upper
from kernode.storage import complete

MARK = "kernode"  # the array that tells this layout from others
_LAYOUT = "kernode-graph-1"

Arrays = dict[str, np.ndarray]


def pack(graph: Graph) -> Arrays:
    """Turn a graph into the arrays of this layout, each in the smallest type that holds it."""
    arrays = _pack_csr("adjacency", sparse.triu(graph.adjacency, format="csr"))
    if sparse.issparse(graph.features):
        arrays |= _pack_csr("features", graph.features)
    else:
        arrays["features"] = graph.features
    arrays["labels"] = _smallest(graph.labels)
    arrays["class_names"] = np.array(graph.class_names, dtype=str)
    if graph.node_names is not None:
        names = typed_names(graph.node_names)
        small = names.dtype.kind == "i" and abs(names).max() < 2**31
        arrays["node_names"] = names.astype(np.int32) if small else names
    header: dict[str, Any] = {
        "layout": _LAYOUT,
        "name": graph.name,
        "nodes": graph.n_nodes,
        "features": graph.n_features,
        "dtype": graph.features.dtype.name,
        "notes": list(graph.notes),
    }
    if graph.encoding is not None:
        header["encoding"] = graph.encoding.to_json()
    if graph.repairs:
        header["repairs"] = [repair.to_json() for repair in graph.repairs]
    header["sha256"] = _digest(header, arrays)
    text = json.dumps(header, sort_keys=True).encode()
    return {MARK: np.frombuffer(text, np.uint8), **arrays}


def unpack(archive: Archive) -> Graph:
    """Turn such a file back into its graph; a file that changed since it was written is refused."""
    return from_arrays(archive.path, {name: archive.read(name) for name in archive.names})


def from_arrays(path: Path, arrays: Arrays) -> Graph:
    """The graph that :func:`pack` turned into arrays, wherever they were kept."""
    header = _read_header(path, arrays[MARK])
    arrays = {name: array for name, array in arrays.items() if name != MARK}
    if header.pop("sha256", None) != _digest(header, arrays):
        raise FileError(f"{path} is damaged: its checksum does not match. Write or copy it again.")
    with _as_packed(path):
        n, f = header["nodes"], header["features"]
        upper = _unpack_csr(path, "adjacency", arrays, (n, n), "float32")
        features = arrays.get("features")
        if features is None:
            features = _unpack_csr(path, "features", arrays, (n, f), header["dtype"])
        return Graph(
            from_upper(upper),
            features,
            _integers("labels", arrays["labels"]).astype(np.int64),
            class_names=tuple(arrays["class_names"].tolist()),
            node_names=arrays.get("node_names"),
            name=header["name"],
            notes=tuple(header["notes"]),
            origin=_origin(header),
        )


@contextmanager
def _as_packed(path: Path) -> Iterator[None]:
    try:
        with complete(path):
            yield
    except InputError as error:
        raise FileError(f"{path} does not hold a graph: {error}") from error


def _integers(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "iu":
        raise InputError(f"its {name} are {array.dtype}, not integers.")
    return array


def _origin(header: Mapping[str, Any]) -> TableOrigin | None:
    if "encoding" not in header:
        return None
    repairs = tuple(Repair.from_json(repair) for repair in header.get("repairs", ()))
    return TableOrigin(Encoding.from_json(header["encoding"]), repairs)


def _read_header(path: Path, written: np.ndarray) -> dict[str, Any]:
    try:
        header = json.loads(written.tobytes())
        layout = header["layout"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileError(f"{path}: its header is damaged. Write or copy the file again.") from error
    if layout != _LAYOUT:
        raise FileError(f"{path} has the layout '{layout}', this kernode reads '{_LAYOUT}'. Update kernode.")
    return header


def _pack_csr(what: str, matrix: sparse.csr_array) -> Arrays:
    arrays = {
        f"{what}_counts": _smallest(np.diff(matrix.indptr)),
        f"{what}_indices": _smallest(matrix.indices),
    }
    if (matrix.data != 1).any():
        arrays[f"{what}_values"] = matrix.data
    return arrays


def _unpack_csr(path: Path, what: str, arrays: Arrays, shape: Any, dtype: str) -> sparse.csr_array:
    counts, indices = arrays[f"{what}_counts"], arrays[f"{what}_indices"]
    values = arrays.get(f"{what}_values")
    if values is None:
        if np.dtype(dtype).kind not in "fiub":  # of texts each could be as long as the memory
            raise InputError(f"its {what} are {dtype}, not numbers.")
        values = np.ones(len(indices), dtype)
    indptr = np.concatenate([[0], np.cumsum(_integers(f"{what}_counts", counts), dtype=np.int64)])
    return checked_csr(path, what, values, indices, indptr, shape)


def _smallest(integers: np.ndarray) -> np.ndarray:
    low, high = int(integers.min(initial=0)), int(integers.max(initial=0))
    return integers.astype(np.result_type(np.min_scalar_type(low), np.min_scalar_type(high)))


def _digest(header: Mapping[str, Any], arrays: Arrays) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        for rows in row_chunks(np.atleast_1d(array)):
            digest.update(np.atleast_1d(array)[rows].tobytes())
    return digest.hexdigest()
