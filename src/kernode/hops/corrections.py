"""Correction terms of the factored operator, on the pattern of fewer than H hops, computed once.

The algebra is the same for a whole graph, a share and single rows; only the product with N or Ā differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from kernode.graph import Graph
from kernode.graph.share import GraphShare
from kernode.hops.matrices import Powers, scaled
from kernode.progress import report_progress

BLOCK_FLOPS = 2**26  # multiply-adds between two reports of progress; bounds the memory of a block, too


def correction_terms(
    own: sparse.csr_array,
    first: sparse.csr_array,
    step: sparse.csr_array,
    loops: sparse.csr_array,
    hops: int,
    powers: Powers,
    times: Callable[..., sparse.csr_array],
) -> list[sparse.csr_array]:
    """Return the terms of some rows.

    - ``each``: C_h = step^h ⊙ pattern(distance < h) for h = 2 … H, on which N^h goes beyond Ā^h ⊙ M^(h).
    - ``last``: step^H ⊙ M^(h) for h < H.
    - ``released``: diag(step^H).

    ``own`` holds the rows of I and ``first`` the rows of the step (N or Ā); ``step`` and ``loops`` are the
    whole step and I, as ``times(left, right, what, mask)`` takes its right side.
    """
    if powers == "plain" or (powers == "each" and hops == 1):
        return []
    pattern = (step.astype(bool) + loops).tocsr()
    power, within = own.astype(np.float64), own
    shells, terms = [own], []
    for h in range(1, hops):
        what = f"hop {h + 1} of {hops}"
        power = first if h == 1 else times(power, step, what)
        if powers != "released":
            # Booleans: their sparse product is a logical or, and > then means: reached, and not before.
            wider = (first.astype(bool) + own).tocsr() if h == 1 else times(within, pattern, what)
            shells.append((wider > within).tocsr())
            within = wider
        if powers == "each":
            terms.append(times(power, step, what, within))
    if powers == "each":
        return terms
    whole = times(power, step, f"{hops} hops", within)
    return [(whole * shell).tocsr() for shell in shells]


def stacked_terms(graph: Graph, step: sparse.csr_array, hops: int, powers: Powers) -> sparse.csr_array | None:
    """Return the terms of a whole graph stacked vertically, or None."""
    identity = sparse.eye_array(graph.n_nodes, format="csr", dtype=bool)
    terms = correction_terms(identity, step, step, identity, hops, powers, times)
    return sparse.vstack(terms, format="csr") if terms else None


def times(
    left: sparse.csr_array, right: sparse.csr_array, what: str, mask: sparse.csr_array | None = None
) -> sparse.csr_array:
    """Return the product with a step in memory."""
    return (left @ right).tocsr() if mask is None else masked_product(left, right, mask, what)


# -- products at the entries of a mask ----------------------------------------------------------------


def masked_product(
    left: sparse.csr_array,
    right: sparse.csr_array,
    mask: sparse.csr_array,
    what: str = "",
    right_transposed: sparse.csr_array | None = None,
) -> sparse.csr_array:
    """Return (left · right) ⊙ pattern(mask), a block of rows at a time: left · right is never held.

    Two ways, one result: SuiteSparse:GraphBLAS, by far the faster, and whole rows with scipy where it is not
    installed. GraphBLAS takes the right side by columns: ``right_transposed`` is needed unless right is
    symmetric.
    """

    def by_scipy(start: int, stop: int) -> sparse.csr_array:
        return sparse.csr_array((left[start:stop] @ right) * mask[start:stop].astype(bool))

    transposed = right if right_transposed is None else right_transposed
    rows = _by_graphblas(left, transposed, mask) if find_spec("graphblas") else by_scipy
    blocks = []
    for start, stop in row_blocks(left, right):
        blocks.append(rows(start, stop))
        if what:
            report_progress(what, stop, mask.shape[0])
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


def _by_graphblas(left: Any, right: Any, mask: Any) -> Callable[[int, int], sparse.csr_array]:
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


# -- the rows of a share -----------------------------------------------------------------------------


def near_rows(share: GraphShare, hops: int, powers: Powers) -> sparse.csr_array:
    """Return N or Ā, then the terms: several times n_k × n, of the share's rows alone.

    A product with N needs N's rows one after the other: Σ_q L[:, q] N[q, :] over the shares q. So a rank
    never holds more than its own rows and those of one other.
    """

    def times_of_all(
        left: sparse.csr_array, right: sparse.csr_array, what: str, mask: sparse.csr_array | None = None
    ) -> sparse.csr_array:
        total = sparse.csr_array(left.shape, dtype=np.result_type(left.dtype, right.dtype))
        for done, (at, block) in enumerate(share.rows_by_rank(right)):
            own = left[:, at]
            part = own @ block if mask is None else masked_product(own, block, mask, "", block.T.tocsr())
            total = (total + part).tocsr()  # a sum of sparse matrices stores no zeros
            report_progress(what, done + 1, share.ranks.size)
        total.sort_indices()
        return total

    identity = sparse.eye_array(share.stop - share.start, share.n_nodes, k=share.start, format="csr")
    step = share.adjacency.astype(np.float64)
    if powers != "each":
        step = (step + identity).tocsr()
    step = scaled(step, (share.degrees + 1) ** -0.5, slice(share.start, share.stop))
    own = identity.astype(bool).tocsr()
    terms = correction_terms(own, step, step, own, hops, powers, times_of_all)
    found = sparse.vstack([step, *terms], format="csr") if terms else step
    found.sort_indices()
    return found
