"""Planetoid's raw files (Yang et al. 2016), eight per data set, decoded into a graph in their node order.

They are Python 2 pickles: the one place where anything is unpickled, after the SHA-256 matched and by an
allow-list of six names.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import FileError
from kernode.graph import Graph
from kernode.io.registry import DIGESTS, find


class _PickledCsr:
    """Takes the attributes that an old scipy pickled, so that we need not know today's private ones."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    _shape: tuple[int, int]

    def matrix(self) -> sparse.csr_array:
        return sparse.csr_array((self.data, self.indices, self.indptr), shape=self._shape)


def _dtype(code: str, align: int, copy: int) -> np.dtype:
    # Python 2 pickled the flags as integers, which numpy ≥ 2.4 warns about.
    return np.dtype(code, align=bool(align), copy=bool(copy))


# The six names that Planetoid's files use, as Python 2, numpy 1 and an old scipy spelled them.
_ALLOWED: dict[tuple[str, str], Any] = {
    # By way of __reduce__, because numpy gives this function no public name.
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("scipy.sparse.csr", "csr_matrix"): _PickledCsr,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it names {module}.{name}") from None


def unpickle(content: bytes, source: str) -> Any:
    """Decode one of Planetoid's pickles; a name outside the six ends it before anything runs.

    >>> unpickle(b"cos\\nsystem\\n(S'echo hello'\\ntR.", "ind.cora.x")
    Traceback (most recent call last):
    kernode.errors.FileError: ind.cora.x is not one of Planetoid's files (it names os.system). ...
    """
    try:
        value = _Unpickler(io.BytesIO(content), encoding="latin1").load()
        return value.matrix() if isinstance(value, _PickledCsr) else value
    except Exception as error:  # a damaged pickle may raise anything at all
        reason = " ".join(str(error).split()) or type(error).__name__
        sentence = f"{source} is not one of Planetoid's files ({reason}). Fetch the data set again."
        raise FileError(sentence, "wrong-file") from error


def file_names(name: str) -> list[str]:
    """Names of a data set's eight files.

    >>> file_names("cora")[-1]
    'ind.cora.test.index'
    """
    endings = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
    return [f"ind.{name}.{ending}" for ending in endings]


def decode(name: str, files: Mapping[str, bytes], source: str) -> Graph:
    """Decode the bytes of the eight files, after the SHA-256 of every one of them matched.

    Row i of ``tx`` is node ``test.index[i]``; the rows of ``allx`` are the first nodes. A node in
    neither (15 in Citeseer) stays in the graph without words and with the label −1.
    """
    for file in file_names(name):
        if hashlib.sha256(files[file]).hexdigest() != DIGESTS[file]:
            sentence = f"{source}: {file} is not Planetoid's file (its SHA-256 differs). Fetch it again."
            raise FileError(sentence, "damaged-file")

    def load(ending: str) -> Any:
        file = f"ind.{name}.{ending}"
        return unpickle(files[file], f"{source}: {file}")

    # x and y repeat the first rows of allx and ally, so they need no decoding.
    test_nodes = np.array(files[f"ind.{name}.test.index"].split(), dtype=np.int64)
    rows = sparse.vstack([load("allx"), load("tx")], format="coo")
    classes = np.vstack([load("ally"), load("ty")])
    n = int(test_nodes.max()) + 1
    node = np.concatenate([np.arange(rows.shape[0] - len(test_nodes)), test_nodes]).astype(np.int32)

    features = sparse.csr_array((rows.data, (node[rows.row], rows.col)), shape=(n, rows.shape[1]))
    labels = np.full(n, -1, dtype=np.int64)
    labels[node] = np.where(classes.any(axis=1), classes.argmax(axis=1), -1)
    pairs = np.array([(u, v) for u, row in load("graph").items() for v in row], dtype=np.int64)
    loop = pairs[:, 0] == pairs[:, 1]
    # A list per node holds each edge once at either end, and so a loop twice at its only one.
    edges = np.vstack([pairs[~loop], np.unique(pairs[loop], axis=0)])
    return Graph.from_edges(edges, features, labels, class_names=find(name).class_names, name=name)
