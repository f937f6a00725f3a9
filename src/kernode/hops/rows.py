"""Some rows of the hop operator of Eq. 7, computed from the nodes around them alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.sparse import product, to_torch
from kernode.graph import Graph
from kernode.graph.neighbourhoods import degrees, places, spheres
from kernode.hops.corrections import correction_terms, times
from kernode.hops.matrices import Powers, check_hops, scaled
from kernode.hops.operator import weighted

BLOCK_WALKS = 2**24  # walks of H − 1 steps from the rows of a block: more than any matrix of theirs holds


@dataclass(frozen=True)
class HopRows:
    """m rows of the operator, Z → (Σ_h ω_h T_h Z)[rows], from Z on the k columns that T_h has entries in.

    It is factored like :class:`~kernode.hops.FactoredHops`: H products with N or Ā go from the columns to
    the rows, and the corrections are subtracted on the pattern of fewer hops, of the rows alone.
    """

    columns: np.ndarray  # k nodes within H hops of the rows, ascending
    at: np.ndarray  # m: where the rows stand among them
    step: sparse.csr_array  # k × k: N or Ā; rows of the outermost nodes are empty: no walk goes on there
    hops: int
    powers: Powers

    def __call__(self, z: Tensor, hop_weights: Tensor, place: Place) -> Tensor:
        """Aggregate once: z is k × r × d, hop_weights r × (H+1) (ω_h, Eq. 7); gives m × r × d."""
        by_hop = self.by_hop(z.flatten(1), place)
        return weighted([part.view(len(part), *z.shape[1:]) for part in by_hop], hop_weights)[0]

    def by_hop(self, x: Tensor, place: Place) -> list[Tensor]:
        """T_h x at the rows for h = 0 … H: m × w each, from x on the columns (k × w)."""
        powers = [x]
        step = to_torch(self.step, place)
        for _ in range(self.hops):
            powers.append(product(step, powers[-1]))
        blocks = [[x.new_empty(0, x.shape[1])] for _ in powers]
        for at in self._blocks():
            rows, near = torch.from_numpy(at).to(place.device), self._near(at)
            found = [power[rows] for power in powers]
            if near is not None:
                found = self._joined(found, list(product(to_torch(near, place), x).split(len(at))))
            for block, part in zip(blocks, found, strict=True):
                block.append(part)
        return [torch.cat(block) for block in blocks]

    def terms(self) -> list[sparse.csr_array]:
        """T_h itself at the rows for h = 0 … H: m × k each, for few rows."""
        powers = [_unit_rows(self.at, len(self.columns))]
        for _ in range(self.hops):
            powers.append((powers[-1] @ self.step).tocsr())
        near = self._near(self.at)
        if near is None:
            return powers
        m = len(self.at)
        return self._joined(powers, [near[start : start + m] for start in range(0, near.shape[0], m)])

    def _joined(self, powers: list[Any], local: list[Any]) -> list[Any]:
        """T_h for h = 0 … H, or T_h x, from the powers and the terms of fewer hops."""
        if self.powers == "released":
            return [*local, *[local[0] * 0] * (self.hops - 1), powers[-1]]
        if self.powers == "last":
            return [*local, powers[-1]]
        return [*powers[:2], *(power - more for power, more in zip(powers[2:], local, strict=True))]

    def _blocks(self) -> Iterator[np.ndarray]:
        """Yield rows, so many at a time that the memory of their terms stays bounded."""
        pattern = self.step.sign()
        ends = np.ones(len(self.columns))
        for _ in range(self.hops - 1):
            ends = pattern @ ends
        done = np.cumsum(ends[self.at])
        cuts = np.searchsorted(done, np.arange(BLOCK_WALKS, done[-1] if len(done) else 0, BLOCK_WALKS))
        for start, stop in pairwise(np.unique([0, *cuts, len(done)]).tolist()):
            yield self.at[start:stop]

    def _near(self, at: np.ndarray) -> sparse.csr_array | None:
        """Return the terms of some rows on top of each other; None where there are none."""
        loops = sparse.eye_array(len(self.columns), format="csr", dtype=bool)
        own = _unit_rows(at, len(self.columns)).astype(bool)
        terms = correction_terms(own, self.step[at], self.step, loops, self.hops, self.powers, times)
        return sparse.vstack(terms, format="csr") if terms else None


def _unit_rows(at: np.ndarray, columns: int) -> sparse.csr_array:
    """A 1 in every row: m × k."""
    return sparse.csr_array((np.ones(len(at)), at, np.arange(len(at) + 1)), shape=(len(at), columns))


def hop_rows(graph: Graph, hops: int, powers: Powers, rows: np.ndarray) -> HopRows:
    """Return some rows of the operator that :class:`~kernode.hops.HopOperator` computes.

    It reads the degrees of nodes within H hops and the edges of those within H − 1.

    >>> path = Graph.from_edges([(i, i + 1) for i in range(9)], np.ones((10, 1)))
    >>> hop_rows(path, 2, "each", np.array([4])).columns
    array([2, 3, 4, 5, 6])
    """
    check_hops(hops, powers)
    found = list(spheres(graph, rows, hops))
    columns, inner = (np.sort(np.concatenate(part)) for part in (found, found[:-1]))
    place = places(columns, graph.n_nodes)
    edges = graph.adjacency[inner]
    starts = np.zeros(len(columns) + 1, edges.indptr.dtype)
    starts[place[inner]] = np.diff(edges.indptr)  # places count from 1, as the ends of rows do
    step = sparse.csr_array(
        (edges.data.astype(np.float64), place[edges.indices] - 1, np.cumsum(starts)),
        shape=(len(columns), len(columns)),
    )
    if powers != "each":
        step = (step + sparse.eye_array(len(columns), format="csr")).tocsr()
    step = scaled(step, (degrees(graph, columns) + 1) ** -0.5)
    return HopRows(columns, place[rows] - 1, step, hops, powers)
