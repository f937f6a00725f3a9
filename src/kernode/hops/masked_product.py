"""(L · R) ⊙ pattern(M) without holding L · R: what the factored operator subtracts.

L and R are symmetric. Three ways, one result: SuiteSparse:GraphBLAS (by far the fastest on a CPU), row
blocks with scipy where it is not installed, and look-ups with torch, for a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy import sparse

from kernode.progress import tell

BLOCK_FLOPS = 2**26  # multiply-adds between two reports of progress; bounds the memory of a block, too


def masked_product(
    left: sparse.csr_array, right: sparse.csr_array, mask: sparse.csr_array, device: torch.device, what: str
) -> sparse.csr_array:
    """Return left · right where the mask has an entry, by the fastest way on this machine."""
    way = looked_up if device.type == "cuda" else by_graphblas if find_spec("graphblas") else by_scipy
    return in_blocks(way, left, right, mask, what)


def in_blocks(
    way: Callable[..., Callable[[int, int], sparse.csr_array]],
    left: sparse.csr_array,
    right: sparse.csr_array,
    mask: sparse.csr_array,
    what: str,
) -> sparse.csr_array:
    """Return the masked product by one of the ways, a block of rows at a time."""
    rows = way(left, right, mask)
    blocks = []
    for start, stop in row_blocks(left, right):
        blocks.append(rows(start, stop))
        tell(what, stop, mask.shape[0])
    product = sparse.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]
    product.eliminate_zeros()
    product.sort_indices()
    return product


def row_blocks(left: sparse.csr_array, right: sparse.csr_array) -> Iterator[tuple[int, int]]:
    """Cut the rows of left · right into blocks that take about as many multiply-adds."""
    per_entry = np.diff(right.indptr)[left.indices]
    done = np.concatenate([[0], np.cumsum(per_entry, dtype=np.int64)])[left.indptr[1:]]  # after each row
    cuts = np.searchsorted(done, np.arange(BLOCK_FLOPS, done[-1] if len(done) else 0, BLOCK_FLOPS))
    yield from pairwise(np.unique([0, *cuts, left.shape[0]]).tolist())


def by_scipy(left: Any, right: Any, mask: Any) -> Callable[[int, int], sparse.csr_array]:
    """Whole rows of the product, a block at a time, then the mask."""

    def rows(start: int, stop: int) -> sparse.csr_array:
        return sparse.csr_array((left[start:stop] @ right) * mask[start:stop].astype(bool))

    return rows


def by_graphblas(left: Any, right: Any, mask: Any) -> Callable[[int, int], sparse.csr_array]:
    """GraphBLAS's masked product: only entries of the mask are computed."""
    import graphblas as gb

    right = _to_graphblas(right)

    def rows(start: int, stop: int) -> sparse.csr_array:
        pattern = _to_graphblas(mask[start:stop].astype(bool))
        found = gb.Matrix(float, pattern.nrows, pattern.ncols)
        found(pattern.S) << _to_graphblas(left[start:stop]).mxm(right.T, gb.semiring.plus_times)
        indptr, indices, values = found.to_csr(sort=True)
        index = mask.indices.dtype
        return sparse.csr_array(  # a copy of the values: where all are equal, GraphBLAS gives a view of one
            (np.array(values), indices.astype(index), indptr.astype(index)),
            shape=(stop - start, mask.shape[1]),
        )

    return rows


def _to_graphblas(matrix: sparse.csr_array) -> Any:
    import graphblas as gb

    return gb.Matrix.from_csr(matrix.indptr, matrix.indices, matrix.data, ncols=matrix.shape[1])


def looked_up(
    left: Any, right: Any, mask: Any, device: torch.device | None = None
) -> Callable[[int, int], sparse.csr_array]:
    """Compute each entry (u, v) on its own: look up the entries of the shorter of u's row of left and v's row
    of right in the other.
    """
    if device is None:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    one = _Rows(left, device)
    other = one if right is left else _Rows(right, device)

    def rows(start: int, stop: int) -> sparse.csr_array:
        block = mask[start:stop]
        u = torch.from_numpy(np.repeat(np.arange(start, stop), np.diff(block.indptr))).to(device)
        v = torch.from_numpy(block.indices.astype(np.int64)).to(device)
        values = torch.zeros(len(u), dtype=torch.float64, device=device)
        shorter = one.lengths(u) <= other.lengths(v)
        for through, within, row, column, which in (
            (one, other, u, v, shorter),
            (other, one, v, u, ~shorter),
        ):
            at = which.nonzero()[:, 0]
            values[at] = through.sums_with(within, row[at], column[at])
        return sparse.csr_array((values.cpu().numpy(), block.indices, block.indptr), shape=block.shape)

    return rows


class _Rows:
    """A symmetric matrix as sorted keys row·n + column, in which entries are found by bisection."""

    def __init__(self, matrix: sparse.csr_array, device: torch.device) -> None:
        matrix.sort_indices()
        self.n = matrix.shape[1]
        self.indptr = torch.from_numpy(matrix.indptr.astype(np.int64)).to(device)
        self.columns = torch.from_numpy(matrix.indices.astype(np.int64)).to(device)
        self.values = torch.from_numpy(matrix.data).to(device)
        row = torch.arange(self.n, device=device).repeat_interleave(self.indptr.diff())
        self.keys = row * self.n + self.columns

    def lengths(self, rows: torch.Tensor) -> torch.Tensor:
        return self.indptr[rows + 1] - self.indptr[rows]

    def sums_with(self, other: _Rows, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Σ_w self[row, w] · other[column, w], for each pair."""
        sums = torch.zeros(len(rows), dtype=self.values.dtype, device=rows.device)
        lengths = self.lengths(rows)
        done = lengths.cumsum(0)
        step = max(1, BLOCK_FLOPS // 8)  # some ten numbers are held for each
        total = int(done[-1]) if len(rows) else 0
        cuts = torch.searchsorted(done, step * torch.arange(1, total // step + 1, device=rows.device))
        bounds = [0, *cuts.tolist(), len(rows)]
        for start, stop in pairwise(bounds):
            part = slice(start, stop)
            count = lengths[part]
            pair = torch.arange(start, stop, device=rows.device).repeat_interleave(count)
            first = count.cumsum(0) - count
            at = torch.arange(len(pair), device=rows.device) - first.repeat_interleave(count)
            at += self.indptr[rows[pair]]
            key = columns[pair] * other.n + self.columns[at]
            found = torch.searchsorted(other.keys, key).clamp_max_(max(len(other.keys) - 1, 0))
            hit = (other.keys[found] == key).nonzero()[:, 0]
            sums.index_add_(0, pair[hit], self.values[at[hit]] * other.values[found[hit]])
        return sums
