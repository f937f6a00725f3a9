"""One sparse matrix times one dense matrix, with its gradient, on CPU and GPU.

A stack of r models needs no other product: it multiplies n × (r·d).
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.fused import fused
from kernode.compute.place import Place


@dataclass(frozen=True)
class SparseMatrix:
    """A constant sparse matrix together with its transpose, both ready to multiply.

    The transpose is held because the gradient of ``M @ z`` is ``Mᵀ @ upstream``.
    """

    matrix: Tensor
    transpose: Tensor

    @classmethod
    def of(cls, matrix: sparse.csr_array, place: Place, *, symmetric: bool = False) -> SparseMatrix:
        """Move a scipy matrix to a place. A symmetric one is held once."""
        forward = to_torch(matrix, place)
        return cls(forward, forward if symmetric else to_torch(matrix.T.tocsr(), place))

    @property
    def shape(self) -> torch.Size:
        """Rows and columns."""
        return self.matrix.shape

    @cached_property
    def order(self) -> Tensor:
        """Where each stored value of the transpose stands in the matrix: by column, within it by row."""
        return torch.argsort(self.matrix.col_indices(), stable=True)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Multiply: (m × n) @ (n × d) → m × d."""
        return _Product.apply(self, dense)


def product(matrix: Tensor, dense: Tensor, minus: Tensor | None = None) -> Tensor:
    """Multiply a CSR tensor with a dense one, without a gradient: (m × n) @ (n × d) → m × d.

    What is given as ``minus`` (m × d) is subtracted, and its memory holds the result.
    """
    if gpu := fused(dense):
        return gpu.spmm(matrix, dense, minus)
    if minus is not None:
        return torch.addmm(minus, matrix, dense, beta=-1, out=minus)
    # `matrix @ dense` would first fill and copy an m × d block of zeros.
    out = dense.new_empty(matrix.shape[0], dense.shape[1])
    if not _leaves_cache(matrix, dense):
        return torch.addmm(out, matrix, dense, beta=0, out=out)
    for columns in range(0, dense.shape[1], _COLUMNS):
        part = slice(columns, columns + _COLUMNS)
        out[:, part] = product(matrix, dense[:, part].contiguous())
    return out


# A CSR product reads a row of the dense matrix for every stored value. Where each row is read often and all
# of them do not fit a core's cache, some columns at a time do: XᵀG of Photo's words, 256 wide, takes two
# fifths of the time.
_COLUMNS = 32
_CACHE = 2**21  # bytes
_READS = 40  # of each row; with fewer, going through the indices again costs as much as it saves


def _leaves_cache(matrix: Tensor, dense: Tensor) -> bool:
    rows, width = dense.shape
    if width <= _COLUMNS or rows * width * dense.element_size() <= _CACHE:
        return False
    return matrix.values().numel() >= _READS * rows


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sparse_matrix: SparseMatrix, dense: Tensor) -> Tensor:
        ctx.sparse_matrix = sparse_matrix
        return product(sparse_matrix.matrix, dense)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor]:
        return None, product(ctx.sparse_matrix.transpose, upstream[0].contiguous())


def to_torch(matrix: sparse.csr_array, place: Place) -> Tensor:
    """A scipy matrix as a CSR tensor at a place."""
    # int32 indices: MKL and cuSPARSE take them as they are and would convert int64 on every call.
    index = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
    return quiet_csr(
        torch.from_numpy(matrix.indptr.astype(index)).to(place.device),
        torch.from_numpy(matrix.indices.astype(index)).to(place.device),
        torch.from_numpy(np.array(matrix.data)).to(place.dtype).to(place.device),
        matrix.shape,
    )


def top_rows(matrix: Tensor, rows: int) -> Tensor:
    """The first rows of a CSR tensor, in the same memory."""
    starts = matrix.crow_indices()[: rows + 1]
    end = int(starts[-1])
    return quiet_csr(starts, matrix.col_indices()[:end], matrix.values()[:end], (rows, matrix.shape[1]))


def row_blocks(matrix: Tensor, rows: int) -> list[Tensor]:
    """The matrices of so many rows that stand on top of each other in a CSR tensor, in the same memory."""
    starts, shape = matrix.crow_indices(), (rows, matrix.shape[1])
    blocks = []
    for first in range(0, matrix.shape[0], rows):
        own = starts[first : first + rows + 1]
        entries = slice(int(own[0]), int(own[-1]))
        blocks.append(quiet_csr(own - own[0], matrix.col_indices()[entries], matrix.values()[entries], shape))
    return blocks


def with_values(pattern: Tensor, values: Tensor) -> Tensor:
    """A CSR tensor with other values."""
    return unchecked_csr(pattern.crow_indices(), pattern.col_indices(), values, pattern.shape)


def unchecked_csr(starts: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A CSR tensor of parts that fit together, quickly: for those that are made anew in every step."""
    return torch.sparse_csr_tensor(starts, columns, values, size=shape, check_invariants=False)


_FILTERS = (
    threading.Lock()
)  # they are the process's: of two that put them back, one would put back the other's


def quiet_csr(starts: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The same, where it may be the first that a process holds."""
    with _FILTERS, warnings.catch_warnings():
        # Two notices that torch gives once to everyone who holds a CSR tensor, whatever they do with it.
        warnings.filterwarnings("ignore", "Sparse (CSR tensor support is in beta|invariant checks)")
        return torch.sparse_csr_tensor(
            starts,
            columns,
            values,
            size=shape,
            check_invariants=False,  # scipy has sorted and checked it
        )
