"""Local terms that took long to compute, kept on disk by the graph's fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save
from scipy import sparse

from kernode.errors import FileError, warn
from kernode.graph import Graph
from kernode.io.archive import checked_csr
from kernode.storage import cache_folder, write_whole

WORTH_KEEPING = 2**20  # entries; below that computing is as fast as reading


def kept(graph: Graph, what: str, compute: Callable[[], sparse.csr_array]) -> sparse.csr_array:
    """Read a matrix of a graph from the cache, or compute it and put it there."""
    if graph.adjacency.nnz < WORTH_KEEPING:
        return compute()
    path = cache_folder() / "hops" / f"{graph.fingerprint[:32]}-{what}.safetensors"
    found = _read(path)
    if found is None:
        found = compute()
        try:
            _write(path, found)
        except FileError as error:  # a cache that cannot be written to costs time, not the answer
            warn(f"{error} The hop operator is not kept.")
    return found


def _write(path: Path, matrix: sparse.csr_array) -> None:
    arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
    facts = {"shape": json.dumps(matrix.shape), "blake2b": _digest(arrays)}
    write_whole(path, save(arrays, facts))


def _read(path: Path) -> sparse.csr_array | None:
    """What is in the cache, if it is whole."""
    try:
        with safe_open(path, framework="numpy") as file:
            facts = file.metadata()
        arrays = load_file(path)
        if facts["blake2b"] != _digest(arrays):
            return None
        shape = json.loads(facts["shape"])
        return checked_csr(path, "hops", arrays["data"], arrays["indices"], arrays["indptr"], shape)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, RecursionError):
        return None


def _digest(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
