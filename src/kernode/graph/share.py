"""The share of a graph that one of several ranks holds: rows of its adjacency and features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from kernode.compute.ranks import ALONE, Ranks
from kernode.errors import InputError
from kernode.graph.graph import Graph


@dataclass(frozen=True, eq=False, repr=False)
class GraphShare(Graph):
    """Rows ``bounds[rank]`` … ``bounds[rank + 1]`` of a graph; the others are with other ranks.

    ``adjacency`` is n_k × n and ``features`` n_k × f. Labels, targets and names are of all n nodes: they are
    small, and every rank splits the nodes for itself. :func:`require_whole` refuses a share.
    """

    ranks: Ranks = ALONE
    bounds: np.ndarray = None  # type: ignore[assignment]  # size + 1, from 0 to n
    of_whole: str = ""  # the whole graph's fingerprint
    entries: int = 0  # of the whole adjacency

    def __post_init__(self) -> None:
        """Nothing is checked: the reader has checked the whole graph."""
        names = self.class_names or tuple(str(c) for c in range(int(self.labels.max(initial=-1)) + 1))
        object.__setattr__(self, "class_names", names)

    @property
    def n_nodes(self) -> int:
        """Nodes of the whole graph, n."""
        return int(self.bounds[-1])

    @property
    def n_edges(self) -> int:
        """Undirected edges of the whole graph."""
        return self.entries // 2

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the whole graph."""
        return self.of_whole

    @property
    def start(self) -> int:
        """First row."""
        return int(self.bounds[self.ranks.rank])

    @property
    def stop(self) -> int:
        """End of the rows."""
        return int(self.bounds[self.ranks.rank + 1])

    @cached_property
    def features_before(self) -> int:
        """Number of stored entries of X before these rows."""
        x: Any = self.features
        if not sparse.issparse(x):
            return self.start * x.shape[1]
        return sum(self.ranks.gather(int(x.nnz))[: self.ranks.rank])

    @cached_property
    def degrees(self) -> np.ndarray:
        """Weighted degrees of all n nodes."""
        own = np.asarray(self.adjacency.astype(np.float64).sum(axis=1)).ravel()
        return np.concatenate(self.ranks.gather(own))

    def rows_by_rank(self, rows: sparse.csr_array) -> Iterator[tuple[slice, sparse.csr_array]]:
        """Yield the rows (n_k × n) of each rank in turn, with their position.

        A rank never holds more than its own rows and those of one other.
        """
        for rank in range(self.ranks.size):
            own = rows if rank == self.ranks.rank else None
            block = self.ranks.broadcast_object(own, rank)
            assert block is not None
            yield slice(int(self.bounds[rank]), int(self.bounds[rank + 1])), block

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}; rows {self.start:,} to {self.stop:,})"


def ranks_of(graph: Graph) -> Ranks:
    """Return the ranks that share a graph: this process alone for a whole graph."""
    return graph.ranks if isinstance(graph, GraphShare) else ALONE


def require_whole(graph: Graph, what: str) -> None:
    """Raise where a graph is a share, for what needs all of it."""
    if isinstance(graph, GraphShare):
        raise InputError(
            f"{what} needs the whole graph, and each process holds a share of {graph.name!r}. Give the store "
            "to one process, without torchrun, or use HopMLP (K1 to K3, N1, auto).",
            "unsupported", what=what,
        )  # fmt: skip
