"""A graph beside other tensors in one file: the arrays of an .npz file, each as the bytes of an .npy file.

Names are text, which no tensor holds, and counts are kept in types that not every torch knows.
"""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from kernode.data import kernode_npz
from kernode.errors import FileError, KernodeError
from kernode.graph import Graph

_HEADER = 2**16 + 10  # bytes at most, before an array's own


def graph_to_tensors(graph: Graph) -> dict[str, Tensor]:
    """Everything that a graph holds, as tensors of bytes."""
    return {name: torch.from_numpy(_npy(array)) for name, array in kernode_npz.pack(graph).items()}


def graph_from_tensors(tensors: dict[str, Tensor], path: Path, fingerprint: str) -> Graph:
    """The graph again, exactly; one with another fingerprint is not the one that was written."""
    try:
        arrays = {name: _array(tensor.numpy()) for name, tensor in tensors.items()}
        graph = kernode_npz.from_arrays(path, arrays)
    except KernodeError:
        raise
    except (ValueError, EOFError, KeyError, TypeError) as error:
        raise FileError(f"{path}: the graph in it is damaged ({error}). Write the file again.") from error
    if graph.fingerprint != fingerprint:
        raise FileError(f"{path}: the graph in it is not the one that was written. Write the file again.")
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
