"""Names of nodes as tensors: their UTF-8 in one row of bytes, and where each begins."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from kernode.errors import FileError


def pack_names(names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets (one more than names) and bytes.

    >>> pack_names(np.array(["ann", "jörg"]))[0]
    array([0, 3, 8])
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names.tolist()]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(encoded), np.uint8)


def unpack_names(path: Path, offsets: np.ndarray, content: np.ndarray) -> np.ndarray:
    """The names again, as text."""
    steps = np.diff(np.concatenate([[0], offsets, [len(content)]]))
    if offsets[0] or steps.min() < 0 or steps[-1]:
        raise FileError(f"{path}: names.offsets do not rise from 0 to the number of bytes. Shard again.")
    whole, at = content.tobytes(), offsets.tolist()
    try:
        return np.array(
            [whole[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(at)], str
        )
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: the names of its nodes are no UTF-8. Shard again.") from error
