"""Pickles as Python 2 wrote them, opcode by opcode: Python 3 cannot write them any more."""

from __future__ import annotations

import pickle
import struct

import numpy as np
from scipy import sparse

START, STOP = b"\x80\x02", pickle.STOP


def name(module: str, attribute: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{attribute}\n".encode()


def text(value: bytes) -> bytes:
    return pickle.BINSTRING + struct.pack("<i", len(value)) + value


def number(value: int) -> bytes:
    return pickle.BININT + struct.pack("<i", value)


def sequence(*parts: bytes) -> bytes:
    return pickle.MARK + b"".join(parts) + pickle.TUPLE


def array(values: np.ndarray) -> bytes:
    kind = values.dtype.str[1:].encode()
    dtype = name("numpy", "dtype") + sequence(text(kind), number(0), number(1)) + pickle.REDUCE
    none = pickle.NONE
    dtype += (
        sequence(number(3), text(b"<"), none, none, none, number(-1), number(-1), number(0)) + pickle.BUILD
    )
    empty = name("numpy.core.multiarray", "_reconstruct")
    empty += sequence(name("numpy", "ndarray"), sequence(number(0)), text(b"b")) + pickle.REDUCE
    shape = sequence(*map(number, values.shape))
    return empty + sequence(number(1), shape, dtype, pickle.NEWFALSE, text(values.tobytes())) + pickle.BUILD


def csr(matrix: sparse.csr_array) -> bytes:
    state = pickle.EMPTY_DICT + pickle.MARK + text(b"format") + text(b"csr")
    state += text(b"_shape") + sequence(*map(number, matrix.shape))
    for part in ("data", "indices", "indptr"):
        state += text(part.encode()) + array(getattr(matrix, part))
    state += pickle.SETITEMS
    return name("scipy.sparse.csr", "csr_matrix") + pickle.EMPTY_TUPLE + pickle.NEWOBJ + state + pickle.BUILD


def neighbours(lists: dict[int, list[int]]) -> bytes:
    rows = b""
    for node, row in lists.items():
        rows += number(node) + pickle.EMPTY_LIST + pickle.MARK + b"".join(map(number, row)) + pickle.APPENDS
    empty = name("collections", "defaultdict") + sequence(name("__builtin__", "list")) + pickle.REDUCE
    return empty + pickle.MARK + rows + pickle.SETITEMS


def dump(body: bytes) -> bytes:
    return START + body + STOP
