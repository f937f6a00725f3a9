"""(L · R) ⊙ pattern(M) without holding L · R: what the factored operator subtracts.

Two ways, one result: SuiteSparse:GraphBLAS, by far the faster, and blocks of rows with scipy where it is not
installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from kernode.progress import tell

BLOCK_FLOPS = 2**26  # multiply-adds between two reports of progress; bounds the memory of a block, too


def masked_product(
    left: sparse.csr_array,
    right: sparse.csr_array,
    mask: sparse.csr_array,
    what: str = "",
    right_transposed: sparse.csr_array | None = None,
) -> sparse.csr_array:
    """Return left · right where the mask has an entry, a block of rows at a time.

    GraphBLAS takes the right side by columns: ``right_transposed`` is needed unless right is symmetric.
    """
    if find_spec("graphblas"):
        rows = by_graphblas(left, right if right_transposed is None else right_transposed, mask)
    else:
        rows = by_scipy(left, right, mask)
    blocks = []
    for start, stop in row_blocks(left, right):
        blocks.append(rows(start, stop))
        if what:
            tell(what, stop, mask.shape[0])
    if not blocks:
        return sparse.csr_array((0, right.shape[1]))
    product = blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr")
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
