"""Sizes of a graph that time and memory depend on: counted, or known by its name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.graph import Graph
from kernode.graph.share import GraphShare
from kernode.io import load_graph
from kernode.io.registry import DataSet, datasets, identify, is_registered
from kernode.io.shards import Store, is_store
from kernode.io.synthetic import Synthetic, is_synthetic

_WORDS = 30  # that an abstract has on average, at least: Citeseer's have 32, Pubmed's 50


@dataclass(frozen=True, kw_only=True)
class GraphSizes:
    """Sizes that time and memory depend on."""

    name: str
    known_as: str = ""  # the data set's name where the graph is one that has one
    nodes: int
    entries: int  # of the adjacency: two for every edge
    features: int
    filled: int | None = None  # entries that a sparse X holds; None where X is dense
    feature_bytes: int = 4  # of one number of X
    classes: int
    graph: Graph | None = None  # where it is at hand
    read: bool = field(default=False, compare=False)  # whether it is in memory already

    @classmethod
    def of(cls, graph: Graph) -> GraphSizes:
        """Return the sizes of a graph at hand.

        >>> GraphSizes.of(load_graph("cora")).entries
        10556
        """
        entry = identify(graph)
        x: Any = graph.features
        return cls(
            name=graph.name,
            known_as=entry.name if entry else "",
            nodes=int(graph.adjacency.shape[0]),  # of a share its own
            entries=int(graph.adjacency.nnz),
            features=graph.n_features,
            filled=int(x.nnz) if sparse.issparse(x) else None,
            feature_bytes=x.dtype.itemsize,
            classes=graph.n_classes,
            graph=None if isinstance(graph, GraphShare) else graph,
            read=True,
        )

    @classmethod
    def stated(cls, source: Synthetic | DataSet | Store, entries: int, **more: Any) -> GraphSizes:
        """Return the sizes that a synthetic name, a data set or a store states about itself."""
        sizes = {name: getattr(source, name) for name in ("name", "nodes", "features", "classes")}
        return cls(**sizes, entries=entries, **more)

    def share(self, processes: int) -> GraphSizes:
        """Return the sizes of one process's share."""
        if processes == 1:
            return self
        return replace(
            self,
            nodes=self.nodes // processes,
            entries=self.entries // processes,
            filled=None if self.filled is None else self.filled // processes,
            graph=None,
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
    def graph_bytes(self) -> float:
        """The graph itself in main memory: adjacency (float32, int32), labels, X."""
        adjacency = 8.0 * self.entries + 4.0 * self.nodes
        if self.filled is None:
            x = float(self.nodes * self.features * self.feature_bytes)
        else:
            x = self.filled * (self.feature_bytes + 4.0) + 4.0 * self.nodes
        return adjacency + 8.0 * self.nodes + x


def look_up(data: str) -> GraphSizes:
    """Return the sizes of a named graph without making or fetching it; a file is read.

    >>> look_up("synthetic:nodes=1000000").entries
    10000000
    """
    if is_synthetic(data):
        spec = Synthetic.parse(data)
        return GraphSizes.stated(spec, 2 * spec.edges)
    if is_store(data) and not is_registered(data):
        store = Store.open(data)
        known = identify(store)
        size = np.dtype(store.dtype).itemsize
        name = known.name if known else ""
        return GraphSizes.stated(
            store, store.entries, known_as=name, filled=store.feature_entries, feature_bytes=size
        )
    for entry in datasets():
        if entry.name == data.lower() and not entry.available:
            filled = _WORDS * entry.nodes
            return GraphSizes.stated(entry, 2 * entry.edges, known_as=entry.name, filled=filled)
    return GraphSizes.of(load_graph(data))
