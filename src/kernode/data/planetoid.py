"""Planetoid's raw files (Yang et al. 2016), eight per data set, decoded into a graph in their node order."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.data import digests
from kernode.data.registry import find
from kernode.data.unpickle import unpickle
from kernode.errors import FileError
from kernode.graph import Graph

_ENDINGS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")


def file_names(name: str) -> tuple[str, ...]:
    """Names of a data set's eight files.

    >>> file_names("cora")[-1]
    'ind.cora.test.index'
    """
    return tuple(f"ind.{name}.{ending}" for ending in _ENDINGS)


def read_folder(name: str, folder: str | os.PathLike[str]) -> Graph:
    """Decode the data set ``name`` from a folder that holds Planetoid's eight files."""
    find(name)
    files = {}
    for file in file_names(name):
        path = Path(folder) / file
        try:
            files[file] = path.read_bytes()
        except OSError as error:
            raise FileError(
                f"{path} cannot be read ({error.strerror}). "
                f"The folder must hold {', '.join(file_names(name))}."
            ) from error
    return decode(name, files, str(folder))


def decode(name: str, files: Mapping[str, bytes], source: str) -> Graph:
    """Decode the bytes of the eight files, after the SHA-256 of every one of them matched.

    Row i of ``tx`` is node ``test.index[i]``; the rows of ``allx`` are the first nodes. A node in
    neither (15 in Citeseer) stays in the graph without words and with the label −1.
    """
    for file in file_names(name):
        _require_digest(file, files[file], source)

    def load(ending: str) -> Any:
        file = f"ind.{name}.{ending}"
        return unpickle(files[file], f"{source}: {file}")

    # x and y repeat the first rows of allx and ally, so they need no decoding.
    test_nodes = np.array(files[f"ind.{name}.test.index"].split(), dtype=np.int64)
    rows = sparse.vstack([load("allx"), load("tx")], format="coo")
    classes = np.vstack([load("ally"), load("ty")])
    n = int(test_nodes.max()) + 1
    node = np.concatenate([np.arange(rows.shape[0] - len(test_nodes)), test_nodes])

    features = sparse.csr_array((rows.data, (node[rows.row], rows.col)), shape=(n, rows.shape[1]))
    labels = np.full(n, -1, dtype=np.int64)
    labels[node] = np.where(classes.any(axis=1), classes.argmax(axis=1), -1)
    edges = _edges(load("graph"))
    return Graph.from_edges(edges, features, labels, class_names=find(name).class_names, name=name)


def _edges(neighbours: Mapping[int, list[int]]) -> np.ndarray:
    pairs = np.array([(u, v) for u, row in neighbours.items() for v in row], dtype=np.int64)
    loop = pairs[:, 0] == pairs[:, 1]
    # A list per node holds each edge once at either end, and so a loop twice at its only one.
    return np.vstack([pairs[~loop], np.unique(pairs[loop], axis=0)])


def _require_digest(file: str, content: bytes, source: str) -> None:
    if hashlib.sha256(content).hexdigest() != digests.PLANETOID[file]:
        raise FileError(
            f"{source}: {file} is not Planetoid's file (its SHA-256 differs). Copy or fetch it again."
        )
