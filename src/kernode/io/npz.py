"""Graphs in NPZ files: kernode's own layout and the one of gnn-benchmark."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.chunks import row_chunks
from kernode.errors import FileError, InputError, KernodeError
from kernode.graph import Graph, typed_names
from kernode.graph.adjacency import from_upper
from kernode.io.archive import Archive, checked_csr, open_archive, write_archive
from kernode.io.exchange import from_scipy
from kernode.io.tables.encoding import Encoding
from kernode.io.tables.read import TableOrigin
from kernode.io.tables.repairs import Repair
from kernode.storage import complete, damaged

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
        raise damaged(path, "is damaged: its checksum does not match")
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
        raise damaged(path, f"does not hold a graph ({str(error).rstrip('.')})") from error


def _integers(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "iu":
        raise InputError(f"its {name} are {array.dtype}, not integers.", "damaged-file")
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
        raise damaged(path, "has a damaged header") from error
    if layout != _LAYOUT:
        raise FileError(
            f"{path} has the layout '{layout}', this kernode reads '{_LAYOUT}'. Update kernode.",
            "unsupported",
            path=str(path),
        )
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
            raise InputError(f"its {what} are {dtype}, not numbers.", "damaged-file")
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


_HEADER = 2**16 + 10  # bytes at most, before an array's own


def graph_to_tensors(graph: Graph) -> dict[str, Tensor]:
    """Everything that a graph holds, as tensors of bytes."""
    return {name: torch.from_numpy(_npy(array)) for name, array in pack(graph).items()}


def graph_from_tensors(tensors: dict[str, Tensor], path: Path, fingerprint: str) -> Graph:
    """The graph again, exactly; one with another fingerprint is not the one that was written."""
    try:
        arrays = {name: _array(tensor.numpy()) for name, tensor in tensors.items()}
        graph = from_arrays(path, arrays)
    except KernodeError:
        raise
    except (ValueError, EOFError, KeyError, TypeError) as error:
        raise damaged(path, f"holds a damaged graph ({error})") from error
    if graph.fingerprint != fingerprint:
        raise damaged(path, "holds another graph than the one that was written")
    return graph


def _array(written: np.ndarray) -> np.ndarray:
    """What :func:`_npy` wrote, where it is: features may be most of what the memory holds."""
    start = io.BytesIO(written[:_HEADER].tobytes())
    if np.lib.format.read_magic(start) != (1, 0):
        raise ValueError("an array of another layout")
    shape, columns_first, dtype = np.lib.format.read_array_header_1_0(start)
    array = np.frombuffer(written, dtype, math.prod(shape), start.tell())
    array = array.reshape(shape, order="F" if columns_first else "C")
    return np.require(array, requirements="A")  # a tensor may begin anywhere in a file


def _npy(array: np.ndarray) -> np.ndarray:
    written = io.BytesIO()
    np.lib.format.write_array(written, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return np.frombuffer(written.getbuffer(), np.uint8)


def read_npz(path: str | os.PathLike[str]) -> Graph:
    """Read a graph from an NPZ file, in whichever of the two layouts it is."""
    with open_archive(Path(path)) as archive:
        return unpack(archive) if MARK in archive.names else _read_benchmark(archive)


def write_npz(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write a graph in kernode's own layout: everything it holds, the same bytes each time.

    >>> import tempfile
    >>> import numpy as np
    >>> graph = Graph.from_edges([(0, 1), (1, 2)], np.eye(3), [0, 1, -1], class_names=("yes", "no"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(graph, Path(folder) / "small.npz")
    ...     read_npz(Path(folder) / "small.npz").class_names
    ('yes', 'no')
    """
    write_archive(Path(path), pack(graph))


_CSR = ("data", "indices", "indptr", "shape")  # arrays of a matrix in the gnn-benchmark layout


def _read_benchmark(archive: Archive) -> Graph:
    """Read a graph in the gnn-benchmark layout; of a directed one both directions are kept."""
    _require_arrays(archive, [*(f"adj_{part}" for part in _CSR), "labels"])
    adjacency = _benchmark_csr(archive, "adj")
    features = _benchmark_features(archive)
    labels = archive.read("labels")
    n = adjacency.shape[0]
    if adjacency.shape != (n, n) or features.ndim != 2 or features.shape[0] != n:
        raise InputError(
            f"{archive.path}: 'adj' is {adjacency.shape} and 'attr' {features.shape}. "
            "The first must be square, with as many rows as the second.",
            "shape",
        )
    try:
        _require_classes(labels, n)
        return from_scipy(adjacency, features, labels, name=archive.path.stem)
    except InputError as error:
        raise InputError(f"{archive.path}: {error}", error.code, **error.fields) from error


def _require_arrays(archive: Archive, names: list[str]) -> None:
    missing = [name for name in names if name not in archive.names]
    if missing:
        raise InputError(
            f"{archive.path} lacks {', '.join(missing)}. A graph in the gnn-benchmark layout has "
            "adj_data, adj_indices, adj_indptr, adj_shape, the same for attr, and labels.",
            "wrong-file",
            path=str(archive.path),
        )


def _benchmark_features(archive: Archive) -> np.ndarray | sparse.csr_array:
    if "attr_matrix" in archive.names:
        return archive.read("attr_matrix")
    if not any(name.startswith("attr_") for name in archive.names):
        raise InputError(
            f"{archive.path} has no node features, which kernode needs. Add them as 'attr_matrix', n × f.",
            "missing",
            setting="features",
        )
    _require_arrays(archive, [f"attr_{part}" for part in _CSR])
    return _benchmark_csr(archive, "attr")


def _benchmark_csr(archive: Archive, what: str) -> sparse.csr_array:
    values, indices, indptr, shape = (archive.read(f"{what}_{part}") for part in _CSR)
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise damaged(archive.path, f"holds '{what}_shape', which is not two integers")
    return checked_csr(archive.path, what, values, indices, indptr, shape)


def _require_classes(labels: np.ndarray, n: int) -> None:
    # Graph checks the rest. A class number beyond n is an identifier or a damaged byte, and Graph
    # would make a name for every number below it.
    if labels.shape == (n,) and labels.dtype.kind in "iu" and labels.max(initial=-1) >= max(n, 2):
        node = int(labels.argmax())
        raise InputError(
            f"labels, node {node}: class {labels[node]} is beyond the {n} nodes. Number the classes from 0.",
            "setting",
            setting="labels",
        )
