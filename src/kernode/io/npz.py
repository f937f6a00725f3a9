"""Graphs in NPZ files: kernode's own layout and the one of gnn-benchmark."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from kernode.compute.chunks import row_chunks
from kernode.errors import FileError, InputError
from kernode.graph import Graph, typed_names
from kernode.graph.adjacency import from_upper
from kernode.io.archive import Archive, checked_csr, open_archive, read_header, write_archive
from kernode.io.exchange import from_scipy
from kernode.io.tables.encoding import Encoding
from kernode.io.tables.read import TableOrigin
from kernode.io.tables.table import Repair
from kernode.storage import complete, damaged

if TYPE_CHECKING:
    from torch import Tensor

MARK = "kernode"  # the array that tells this layout from others
_LAYOUT, _WITH_TARGETS = "kernode-graph-1", "kernode-graph-2"  # the second is unknown before 0.3

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
    if graph.targets is not None:
        arrays["targets"] = graph.targets
        header |= {"layout": _WITH_TARGETS, "target_name": graph.target_name}
    if graph.encoding is not None:
        header["encoding"] = graph.encoding.to_json()
    if graph.repairs:
        header["repairs"] = [repair.to_json() for repair in graph.repairs]
    if isinstance(graph.origin, TableOrigin):
        arrays |= _pack_columns(graph.origin)
    header["sha256"] = _digest(header, arrays)
    text = json.dumps(header, sort_keys=True).encode()
    return {MARK: np.frombuffer(text, np.uint8), **arrays}


def _unpack(path: Path, arrays: Arrays) -> Graph:
    """The graph that :func:`pack` turned into arrays; those that changed since are refused."""
    try:
        header = json.loads(arrays.pop(MARK).tobytes())
        layout = header["layout"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(path, "has a damaged header") from error
    if layout not in (_LAYOUT, _WITH_TARGETS):
        sentence = f"{path} has the layout '{layout}', this kernode reads '{_WITH_TARGETS}'. Update kernode."
        raise FileError(sentence, "unsupported", path=str(path))
    if header.pop("sha256", None) != _digest(header, arrays):
        raise damaged(path, "is damaged: its checksum does not match")
    with complete(path):
        n, f, encoding = header["nodes"], header["features"], header.get("encoding")
        upper = _unpack_csr(path, "adjacency", arrays, (n, n), "float32")
        features = arrays.get("features")
        if features is None:
            features = _unpack_csr(path, "features", arrays, (n, f), header["dtype"])
        repairs = tuple(Repair.from_json(repair) for repair in header.get("repairs", ()))
        return Graph(
            from_upper(upper),
            features,
            arrays["labels"],
            class_names=tuple(arrays["class_names"].tolist()),
            node_names=arrays.get("node_names"),
            name=header["name"],
            notes=tuple(header["notes"]),
            origin=None if encoding is None else _origin(Encoding.from_json(encoding), repairs, arrays),
            targets=arrays.get("targets"),
            target_name=header.get("target_name", ""),
        )


def _pack_columns(origin: TableOrigin) -> Arrays:
    """Values of the tables' columns: numbers, or names and which of them each node has."""
    arrays = {} if origin.listed is None else {"listed": origin.listed}
    for at, values in enumerate((origin.values or {}).values()):
        if values.dtype.kind == "f":
            arrays[f"column_{at}"] = values
            continue
        names = sorted({value for value in values if value is not None})
        place = {name: code for code, name in enumerate(names)}
        arrays[f"column_{at}_names"] = np.array(names, str)
        arrays[f"column_{at}"] = _smallest(np.array([place.get(value, -1) for value in values], np.int64))
    return arrays


def _origin(encoding: Encoding, repairs: tuple[Repair, ...], arrays: Arrays) -> TableOrigin:
    """The tables' columns again; files of before 0.3 have none."""
    kept = {}
    for at, column in enumerate(one for one in encoding.columns if one.is_kept):
        values, names = arrays.get(f"column_{at}"), arrays.get(f"column_{at}_names")
        if values is None:
            return TableOrigin(encoding, repairs, None, arrays.get("listed"))
        if names is not None:
            values = np.array([*names.tolist(), None], object)[values.astype(np.int64)]
        kept[column.name] = values
    return TableOrigin(encoding, repairs, kept, arrays.get("listed"))


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
        values = np.ones(len(indices), dtype)
    return checked_csr(path, what, values, indices, np.append(0, np.cumsum(counts, dtype=np.int64)), shape)


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


def graph_to_tensors(graph: Graph) -> dict[str, Tensor]:
    """Everything that a graph holds, as tensors of the bytes of .npy files."""
    import torch

    tensors = {}
    for name, array in pack(graph).items():
        written = io.BytesIO()
        np.lib.format.write_array(written, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
        tensors[name] = torch.from_numpy(np.frombuffer(written.getbuffer(), np.uint8))
    return tensors


def graph_from_tensors(tensors: dict[str, Tensor], path: Path, fingerprint: str) -> Graph:
    """The graph again, exactly; one with another fingerprint is not the one that was written."""
    with complete(path):
        graph = _unpack(path, {name: _array(tensor.numpy()) for name, tensor in tensors.items()})
    if graph.fingerprint != fingerprint:
        raise damaged(path, "holds another graph than the one that was written")
    return graph


def _array(written: np.ndarray) -> np.ndarray:
    """The array of an .npy file's bytes, where it is: features may be most of what the memory holds."""
    start = io.BytesIO(written[: 2**16 + 10].tobytes())  # a header is no longer
    shape, fortran, dtype = read_header(start, len(written))
    array = np.frombuffer(written, dtype, math.prod(shape), start.tell())
    array = array.reshape(shape, order="F" if fortran else "C")
    return np.require(array, requirements="A")  # a tensor may begin anywhere in a file


def read_npz(path: str | os.PathLike[str]) -> Graph:
    """Read a graph from an NPZ file, in whichever of the two layouts it is."""
    with open_archive(Path(path)) as archive:
        if MARK in archive.names:
            return _unpack(archive.path, {name: archive.read(name) for name in archive.names})
        return _read_benchmark(archive)


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


def _read_benchmark(archive: Archive) -> Graph:
    """Read a graph in the gnn-benchmark layout; of a directed one both directions are kept.

    Labels of floating point are targets.
    """
    path, names = archive.path, archive.names
    dense = "attr_matrix" in names
    sparse_features = not dense and any(name.startswith("attr_") for name in names)
    matrices = ("adj", "attr") if sparse_features else ("adj",)
    wanted = [f"{what}_{part}" for what in matrices for part in ("data", "indices", "indptr", "shape")]
    lacking = [name for name in (*wanted, "labels") if name not in names]
    if lacking:
        raise InputError(
            f"{path} lacks {', '.join(lacking)}. A graph in the gnn-benchmark layout has "
            "adj_data, adj_indices, adj_indptr, adj_shape, the same for attr, and labels.",
            "wrong-file",
            path=str(path),
        )
    if not dense and not sparse_features:
        sentence = f"{path} has no node features, which kernode needs. Add them as 'attr_matrix', n × f."
        raise InputError(sentence, "missing", setting="features")
    adjacency = _benchmark_csr(archive, "adj")
    features = archive.read("attr_matrix") if dense else _benchmark_csr(archive, "attr")
    with complete(path):
        labels = archive.read("labels")
        known = {"targets" if labels.dtype.kind == "f" else "labels": labels}
        return from_scipy(adjacency, features, name=path.stem, **known)


def _benchmark_csr(archive: Archive, what: str) -> sparse.csr_array:
    parts = (archive.read(f"{what}_{part}") for part in ("data", "indices", "indptr", "shape"))
    values, indices, indptr, shape = parts
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise damaged(archive.path, f"holds '{what}_shape', which is not two integers")
    return checked_csr(archive.path, what, values, indices, indptr, shape)
