"""Planetoid's files are Python 2 pickles: the one place where anything is unpickled, by an allow-list."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections import defaultdict
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import FileError


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


def _require_small_memo(content: bytes) -> None:
    """Raise where a value is kept under a number beyond the pickle's length: memory is taken for as many."""
    for opcode, argument, _ in pickletools.genops(content):  # looks at them, and does nothing
        if "PUT" in opcode.name and int(argument or 0) > len(content):
            raise pickle.UnpicklingError("it counts further than it is long")


def unpickle(content: bytes, source: str) -> Any:
    """Decode one of Planetoid's pickles; a name outside the six ends it before anything runs.

    >>> unpickle(b"cos\\nsystem\\n(S'echo hello'\\ntR.", "ind.cora.x")
    Traceback (most recent call last):
    kernode.errors.FileError: ind.cora.x is not one of Planetoid's files (it names os.system). ...
    """
    try:
        _require_small_memo(content)
        value = _Unpickler(io.BytesIO(content), encoding="latin1").load()
        return value.matrix() if isinstance(value, _PickledCsr) else value
    except Exception as error:  # a damaged pickle may raise anything at all
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(
            f"{source} is not one of Planetoid's files ({reason}). Fetch the data set again."
        ) from error
