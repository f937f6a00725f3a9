"""Sparse products with gradients on CPU and GPU, dot products of pairs of rows, and rows of unit length.

A stack of r models multiplies a sparse matrix with n × (r·d).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.gpu import fused
from kernode.compute.stack import flat_rows, stacked_rows, take
from kernode.compute.tensor_options import TensorOptions


@dataclass(frozen=True)
class SparseMatrix:
    """A constant sparse matrix with its transpose: the gradient of ``M @ z`` is ``Mᵀ @ upstream``."""

    matrix: Tensor
    transpose: Tensor

    @classmethod
    def of(cls, matrix: sparse.csr_array, options: TensorOptions, *, symmetric: bool = False) -> SparseMatrix:
        """Move a scipy matrix to a device; a symmetric one is held once."""
        forward = to_torch(matrix, options)
        return cls(forward, forward if symmetric else to_torch(matrix.T.tocsr(), options))

    @property
    def shape(self) -> torch.Size:
        """Rows and columns."""
        return self.matrix.shape

    @property
    def T(self) -> SparseMatrix:  # noqa: N802 (as tensors have it)
        """The transpose."""
        return SparseMatrix(self.transpose, self.matrix)

    @cached_property
    def order(self) -> Tensor:
        """Position in the matrix of each stored value of the transpose."""
        return torch.argsort(self.matrix.col_indices(), stable=True)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Multiply: (m × n) @ (n × d) → m × d."""
        return _Product.apply(self, dense.contiguous())


def product(matrix: Tensor, dense: Tensor, minus: Tensor | None = None) -> Tensor:
    """Multiply a CSR tensor with a dense one, without a gradient: (m × n) @ (n × d) → m × d.

    ``minus`` (m × d) is subtracted, and its memory holds the result.
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


def to_torch(matrix: sparse.csr_array, options: TensorOptions) -> Tensor:
    """Return a scipy matrix as a CSR tensor."""
    # int32 indices: MKL and cuSPARSE take them as they are and would convert int64 on every call.
    index = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
    return unchecked_csr(
        torch.from_numpy(matrix.indptr.astype(index)).to(options.device),
        torch.from_numpy(matrix.indices.astype(index)).to(options.device),
        torch.from_numpy(np.array(matrix.data)).to(options.dtype).to(options.device),
        matrix.shape,
    )


def row_blocks(matrix: Tensor, rows: int) -> list[Tensor]:
    """Split a CSR tensor into blocks of rows, which share its memory."""
    starts, shape = matrix.crow_indices(), (rows, matrix.shape[1])
    blocks = []
    for first in range(0, matrix.shape[0], rows):
        own = starts[first : first + rows + 1]
        entries = slice(int(own[0]), int(own[-1]))
        blocks.append(
            unchecked_csr(own - own[0], matrix.col_indices()[entries], matrix.values()[entries], shape)
        )
    return blocks


def with_values(pattern: Tensor, values: Tensor) -> Tensor:
    """Return a CSR tensor with other values."""
    return unchecked_csr(pattern.crow_indices(), pattern.col_indices(), values, pattern.shape)


def unchecked_csr(starts: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Build a CSR tensor without checking that its parts fit together."""
    return torch.sparse_csr_tensor(starts, columns, values, size=shape, check_invariants=False)


with warnings.catch_warnings():  # torch warns once in a process that CSR tensors are in beta
    warnings.simplefilter("ignore")
    unchecked_csr(
        torch.zeros(2, dtype=torch.int64), torch.empty(0, dtype=torch.int64), torch.empty(0), (1, 1)
    )


def pair_products(x: Tensor, pairs: Tensor) -> Tensor:
    """Return ⟨x_u, x_v⟩ for pairs (u, v): r × n × d, q × t × 2 (q = 1 where replicas share them) → r × t.

    On a CPU the pairs are the entries of a sparse matrix S, in both directions: the dot products are
    computed where S has entries, and the gradient of x is S x with the pairs' gradients as values. Taking,
    multiplying and summing rows would write and read t × d numbers several times.
    """
    replicas, nodes, _ = x.shape
    fit = 0 < 2 * pairs.shape[1] <= replicas * nodes**2  # torch has no matrix with more entries than places
    if x.device.type != "cpu" or not fit:
        return (take(x, pairs[..., 0]) * take(x, pairs[..., 1])).sum(-1)
    return _PairProducts.apply(x, pairs)


def _both_ways(u: Tensor, v: Tensor, flat: Tensor) -> tuple[Tensor, Tensor]:
    """Return zeros at t pairs, both ways (entries i and t + i for pair i): m × m; and the entries by row."""
    m, row, column = len(flat), torch.cat([u, v]).numpy(), torch.cat([v, u])
    index = torch.int32 if max(m, len(row)) < 2**31 else torch.int64  # as in to_torch
    entries = np.arange(len(row))
    by_row = sparse.coo_array((entries, (row, entries)), shape=(m, len(row))).tocsr()  # stable
    order = torch.from_numpy(by_row.data)
    starts, zeros = torch.from_numpy(by_row.indptr).to(index), flat.new_zeros(len(row))
    return unchecked_csr(starts, column[order].to(index), zeros, (m, m)), order


class _PairProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, pairs: Tensor) -> Tensor:
        r = len(x)
        flat = stacked_rows(x)  # n·r × d
        u, v = (flat_rows(pairs[..., end].expand(r, -1), r) for end in (0, 1))
        zeros, order = _both_ways(u, v, flat)
        by_row = torch.sparse.sampled_addmm(zeros, flat, flat.T, beta=0).values()
        ctx.save_for_backward(flat)
        ctx.pattern, ctx.order, ctx.shape = zeros, order, x.shape
        both = torch.empty_like(by_row).index_copy_(0, order, by_row)
        return both[: len(u)].view(-1, r).T.contiguous()

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor, None]:
        (flat,) = ctx.saved_tensors
        r, n, d = ctx.shape
        values = upstream[0].T.reshape(-1)
        both = torch.cat([values, values]).index_select(0, ctx.order)
        return product(with_values(ctx.pattern, both), flat).view(n, r, d).transpose(0, 1), None


def unit_rows(x: Any) -> Any:
    """Divide every row (m × f, dense or sparse) by its length; zeros stay, and so does the float type.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    kind = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    if sparse.issparse(x):
        x = sparse.csr_array(x, dtype=kind, copy=True)
        squares = sparse.csr_array((np.square(x.data, dtype=np.float64), x.indices, x.indptr), shape=x.shape)
        lengths = np.sqrt(squares.sum(axis=1))
        x.data *= np.repeat((1 / np.where(lengths > 0, lengths, 1)).astype(kind), np.diff(x.indptr))
        return x
    lengths = np.sqrt(np.einsum("ij,ij->i", x, x, dtype=np.float64))  # of float32: squares neither overflow
    return np.asarray(x, kind) / np.where(lengths > 0, lengths, 1)[:, None].astype(kind)  # nor vanish
