"""How large a graph is, as far as costs go: counted where it is at hand, expected where it is not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.data import DataSet, Synthetic, is_synthetic, load_graph
from kernode.data.registry import find, identify
from kernode.graph import Graph
from kernode.hops import HopCost, Powers, hop_cost
from kernode.studies.cost.reach import Degrees, expected_hop_cost

_WORDS = 40  # of an abstract, on average, where a citation graph is not at hand to be counted
_JK = (0.6, 0.2)  # training and validation nodes of a graph without a split of its own


@dataclass(frozen=True)
class Sizes:
    """What costs depend on."""

    name: str
    known_as: str  # the data set's name where it is one that the paper has, else ""
    nodes: int
    entries: int  # of the adjacency: two for every edge
    features: int
    filled: int | None  # entries of X that are held where it is sparse; None where it is dense
    feature_bytes: int  # of one number of X
    classes: int
    training: int  # nodes
    validation: int
    walks: float  # of two steps: the sum of squared degrees
    largest_degree: float
    graph: Graph | None = None  # where it is at hand

    @classmethod
    def of(cls, graph: Graph) -> Sizes:
        """Count."""
        entry = identify(graph)
        x: Any = graph.features
        degrees = np.diff(graph.adjacency.indptr).astype(np.float64)
        labelled = int((graph.labels >= 0).sum())
        training, validation, _ = entry.fastgcn if entry else _shares(labelled)
        return cls(
            name=graph.name,
            known_as=entry.name if entry else "",
            nodes=graph.n_nodes,
            entries=int(graph.adjacency.nnz),
            features=graph.n_features,
            filled=int(x.nnz) if sparse.issparse(x) else None,
            feature_bytes=x.dtype.itemsize,
            classes=graph.n_classes,
            training=training,
            validation=validation,
            walks=float((degrees**2).sum()),
            largest_degree=float(degrees.max(initial=0)),
            graph=graph,
        )

    @classmethod
    def of_synthetic(cls, spec: Synthetic) -> Sizes:
        """Read them off the name."""
        degrees = Degrees.expected(spec.nodes, 2 * spec.edges)
        training, validation, _ = _shares(spec.nodes)
        return cls(
            name=spec.name,
            known_as="",
            nodes=spec.nodes,
            entries=2 * spec.edges,
            features=spec.features,
            filled=None,
            feature_bytes=4,
            classes=spec.classes,
            training=training,
            validation=validation,
            walks=degrees.walks,
            largest_degree=degrees.largest,
        )

    @classmethod
    def of_entry(cls, entry: DataSet) -> Sizes:
        """Take what is known about a data set that has not been fetched."""
        degrees = Degrees.expected(entry.nodes, 2 * entry.edges)
        training, validation, _ = entry.fastgcn
        return cls(
            name=entry.name,
            known_as=entry.name,
            nodes=entry.nodes,
            entries=2 * entry.edges,
            features=entry.features,
            filled=_WORDS * entry.nodes,
            feature_bytes=4,
            classes=entry.classes,
            training=training,
            validation=validation,
            walks=degrees.walks,
            largest_degree=degrees.largest,
        )

    @property
    def edges(self) -> int:
        """Undirected edges."""
        return self.entries // 2

    @property
    def step_entries(self) -> int:
        """Entries of Ā."""
        return self.entries + self.nodes

    @property
    def own_splits(self) -> bool:
        """Whether each replica has training nodes of its own."""
        return not self.known_as

    def hop_cost(self, hops: int, powers: Powers) -> HopCost:
        """Neighbourhoods, counted or expected."""
        if self.graph is not None:
            return hop_cost(self.graph, hops, powers)
        return expected_hop_cost(self.nodes, self.entries, hops, powers)


def look_up(data: str) -> Sizes:
    """Sizes of what ``data`` names; nothing is made and nothing fetched for that.

    >>> look_up("synthetic:nodes=1000000").entries
    10000000
    """
    if is_synthetic(data):
        return Sizes.of_synthetic(Synthetic.parse(data))
    if not Path(data).suffix and Path(data).name == data:
        entry = find(data)
        if not entry.is_here:
            return Sizes.of_entry(entry)
    return Sizes.of(load_graph(data))


def _shares(labelled: int) -> tuple[int, int, int]:
    training, validation = (int(share * labelled) for share in _JK)
    return training, validation, labelled - training - validation
