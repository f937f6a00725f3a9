"""What the factored operator holds of a share's rows: N or Ā, and the corrections, one other share at a time.

A row of N^h or of a pattern within h hops leads everywhere, but a product with N needs N's rows one after the
other: Σ_q L[:, q] N[q, :] over the shares q. So no rank ever holds more than its own rows and one other's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from scipy import sparse

from kernode.graph.share import GraphShare
from kernode.hops.masked_product import BLOCK_FLOPS, by_graphblas, by_scipy, flops
from kernode.hops.matrices import Powers
from kernode.progress import tell


def near_rows(share: GraphShare, hops: int, powers: Powers) -> sparse.csr_array:
    """N or Ā, then what local_terms.py has beside it: some times n_k × n, of the share's rows alone."""
    step = step_rows(share, loops=powers != "each")
    terms = _Terms(share, step).local(hops, powers)
    found = sparse.vstack([step, *terms], format="csr") if terms else step
    found.sort_indices()
    return found


def step_rows(share: GraphShare, *, loops: bool) -> sparse.csr_array:
    """Rows of Ā, or without loops of N, in float64."""
    rows = share.adjacency.astype(np.float64)
    if loops:
        rows = (rows + _identity(share)).tocsr()
    scale = (share.degrees + 1) ** -0.5
    rows.data *= np.repeat(scale[share.start : share.stop], np.diff(rows.indptr))
    rows.data *= scale[rows.indices]
    return rows


def _identity(share: GraphShare) -> sparse.csr_array:
    """I, of the share's rows: n_k × n."""
    return sparse.eye_array(share.stop - share.start, share.n_nodes, k=share.start, format="csr")


class _Terms:
    """Products with N or Ā, masked or not, of matrices whose rows are a share's."""

    def __init__(self, share: GraphShare, step: sparse.csr_array) -> None:
        self.share, self.step = share, step

    @cached_property
    def own(self) -> sparse.csr_array:
        """The pattern of no step."""
        return _identity(self.share).astype(bool).tocsr()

    @cached_property
    def pattern(self) -> sparse.csr_array:
        """The pattern of one step, or none."""
        return (self.share.adjacency.astype(bool) + self.own).tocsr()

    def local(self, hops: int, powers: Powers) -> list[sparse.csr_array]:
        """As local_terms.py defines them."""
        if powers == "plain" or (powers == "each" and hops == 1):
            return []
        if powers == "released":
            return [self._on_pattern(self.own, hops)]
        if powers == "last":
            shells = [self.own]
            within = self.own
            for _ in range(hops - 1):
                wider = self._wider(within)
                shells.append((wider > within).tocsr())
                within = wider
            whole = self._on_pattern(within, hops)
            return [(whole * shell).tocsr() for shell in shells]
        within, power, terms = self.own, self.step, []
        for h in range(2, hops + 1):
            within = self._wider(within)
            terms.append(self._times(power, self.step, f"hop {h} of {hops}", within))
            if h < hops:
                power = self._times(power, self.step, f"hop {h} of {hops}")
        return terms

    def _on_pattern(self, pattern: sparse.csr_array, hops: int) -> sparse.csr_array:
        """step^H where the pattern has entries."""
        power = self.own.astype(np.float64)
        for h in range(1, hops):
            power = self._times(power, self.step, f"hop {h} of {hops}")
        return self._times(power, self.step, f"hop {hops} of {hops}", pattern)

    def _wider(self, within: sparse.csr_array) -> sparse.csr_array:
        """The pattern one step further out; booleans' product is a logical or."""
        return self.pattern if within is self.own else self._times(within, self.pattern, "hops")

    def _times(
        self, left: sparse.csr_array, right: sparse.csr_array, what: str, mask: sparse.csr_array | None = None
    ) -> sparse.csr_array:
        """left · right, whose rows lie with all ranks; where there is a mask, its entries alone."""
        total = sparse.csr_array(left.shape, dtype=np.result_type(left.dtype, right.dtype))
        for done, (at, block) in enumerate(self.share.each(right)):
            total = total + _masked(left[:, at], block, mask)  # a sum of sparse matrices stores no zeros
            tell(what, done + 1, self.share.ranks.size)
        total.sort_indices()
        return total


def _masked(
    left: sparse.csr_array, right: sparse.csr_array, mask: sparse.csr_array | None
) -> sparse.csr_array:
    """(left · right) ⊙ mask, some rows at a time, so that what the mask takes away is never held whole."""
    if mask is None:
        return (left @ right).tocsr()
    # GraphBLAS takes the right side by columns, which of a symmetric matrix are its rows, but not of a block.
    with_graphblas = find_spec("graphblas") is not None
    way = by_graphblas(left, right.T.tocsr(), mask) if with_graphblas else by_scipy(left, right, mask)
    parts = [way(start, stop) for start, stop in _row_blocks(left, right)]
    return sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, right.shape[1]))


def _row_blocks(left: sparse.csr_array, right: sparse.csr_array) -> Iterator[tuple[int, int]]:
    done = np.cumsum(flops(left, right))
    last = done[-1] if len(done) else 0
    cuts = np.searchsorted(done, np.arange(BLOCK_FLOPS, last, BLOCK_FLOPS))
    yield from pairwise(np.unique([0, *cuts, left.shape[0]]).tolist())
