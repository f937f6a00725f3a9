"""Some rows of the matrices of Eq. 7, built from the nodes around them alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.graph import Graph
from kernode.hops.matrices import Powers, canonical, check_hops, scaled
from kernode.hops.operator import weighted
from kernode.neighbourhood import degrees, places, spheres
from kernode.sparse import Place, product, to_torch

BLOCK_WALKS = 2**22  # walks from the rows of a block: a bound on the entries that its terms hold


@dataclass(frozen=True)
class HopRows:
    """m rows of T_0 … T_H: the linear map Z → (Σ_h ω_h T_h Z)[rows], from Z on k columns."""

    columns: np.ndarray  # k nodes within H hops of the rows, ascending: T_h has no entry elsewhere
    at: np.ndarray  # m: where the rows stand among the columns
    step: sparse.csr_array  # k × k: N or Ā; the outermost nodes' rows are not filled: no walk goes on there
    hops: int
    powers: Powers

    @cached_property
    def walks(self) -> np.ndarray:
        """Walks of 1 … H steps from each row (m): multiply-adds that its terms take to build."""
        pattern = self.step.sign()
        ends, total = np.ones(len(self.columns)), np.zeros(len(self.columns))
        for _ in range(self.hops):
            ends = pattern @ ends
            total += ends
        return total[self.at]

    def blocks(self) -> Iterator[list[sparse.csr_array]]:
        """T_h of some rows at a time, h = 0 … H: so many that memory stays bounded."""
        done = np.cumsum(self.walks)
        cuts = np.searchsorted(done, np.arange(BLOCK_WALKS, done[-1] if len(done) else 0, BLOCK_WALKS))
        for start, stop in pairwise(np.unique([0, *cuts, len(done)]).tolist()):
            yield [canonical(term) for term in self._terms(self.at[start:stop])]

    def _terms(self, at: np.ndarray) -> list[sparse.csr_array]:
        shape = len(at), len(self.columns)
        first = sparse.csr_array((np.ones(len(at)), at, np.arange(len(at) + 1)), shape=shape)
        if self.powers == "each":
            return self._exact(first)
        power = [first]
        for _ in range(self.hops):
            power.append(power[-1] @ self.step)
        if self.powers == "plain":
            return power
        return [power[-1] * shell for shell in self._shells(first)[:-1]] + power[-1:]

    def _exact(self, first: sparse.csr_array) -> list[sparse.csr_array]:
        """N^h ⊙ M^(h) from the term before: all but the last step of a shortest walk is a shortest walk."""
        terms = [first]
        for shell in self._shells(first)[1:]:
            terms.append((terms[-1] @ self.step) * shell)
        return terms

    def _shells(self, first: sparse.csr_array) -> list[sparse.csr_array]:
        """M^(h) of the rows, by steps from the shell before."""
        # Booleans of their own, since a product of small weights may round to zero and be dropped.
        step, within = self.step.astype(bool), first.astype(bool)
        shells = [within]
        for _ in range(self.hops):
            shells.append(((shells[-1] @ step) > within).tocsr())
            within = (within + shells[-1]).tocsr()
        return shells

    def __call__(self, z: Tensor, hop_weights: Tensor, place: Place) -> Tensor:
        """Aggregate: z is k × r × d, hop_weights r × (H+1) (ω_h, Eq. 7); gives m × r × d."""
        k, r, d = z.shape
        parts = [z.new_empty(0, r, d)]
        for terms in self.blocks():
            stacked = to_torch(sparse.vstack(terms, format="csr"), place)
            by_hop: Any = product(stacked, z.reshape(k, r * d)).view(self.hops + 1, -1, r, d)
            parts.append(weighted(list(by_hop), hop_weights)[0])
        return torch.cat(parts)


def hop_rows(graph: Graph, hops: int, powers: Powers, rows: np.ndarray) -> HopRows:
    """Rows of the matrices that :func:`kernode.hops.hop_matrices` gives, without the others.

    Only degrees of nodes within H hops and edges of those within H − 1 are looked at.

    >>> path = Graph.from_edges([(i, i + 1) for i in range(9)], np.ones((10, 1)))
    >>> near = hop_rows(path, 2, "each", np.array([4]))
    >>> near.columns.tolist(), [term.nnz for term in next(near.blocks())]
    ([2, 3, 4, 5, 6], [1, 2, 2])
    """
    check_hops(hops, powers)
    found = spheres(graph, rows, hops)
    columns, inner = (np.sort(np.concatenate(part)) for part in (found, found[:-1]))
    place = places(columns, graph.n_nodes)
    edges = graph.adjacency[inner]
    lengths = np.zeros(len(columns) + 1, edges.indptr.dtype)
    lengths[place[inner]] = np.diff(edges.indptr)  # places count from 1, as the starts of rows do
    step = sparse.csr_array(
        (edges.data.astype(np.float64), place[edges.indices] - 1, np.cumsum(lengths)),
        shape=(len(columns), len(columns)),
    )
    if powers != "each":
        step = (step + sparse.eye_array(len(columns), format="csr")).tocsr()
    step = scaled(step, (degrees(graph, columns) + 1) ** -0.5)
    return HopRows(columns, place[rows] - 1, step, hops, powers)
