"""A graph with some edges and features other than they are, to see what would follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.growth import with_edges

Pair = tuple[int, int]


@dataclass(frozen=True)
class Edit:
    """Edges to add, with weight 1, and to remove, and features to set: by node and column."""

    add: tuple[Pair, ...] = ()
    remove: tuple[Pair, ...] = ()
    features: Mapping[Pair, float] = field(default_factory=dict)

    def __call__(self, graph: Graph) -> Graph:
        """The graph as it would be.

        >>> path = Graph.from_edges([(0, 1), (1, 2)], features=np.eye(3))
        >>> Edit(add=((0, 2),), remove=((0, 1),), features={(0, 0): 5})(path).adjacency.nonzero()[0].tolist()
        [0, 1, 2, 2]
        """
        self.require(graph)
        edited = graph
        if self.add or self.remove:
            edited = with_edges(edited, self._adjacency(graph))
        if self.features:
            edited = replace(edited, features=self._features(edited.features))
        return edited

    def within(self, nodes: np.ndarray) -> Edit:
        """The same for the graph of some nodes (ascending); what is about others is left out."""
        place = {int(node): i for i, node in enumerate(nodes.tolist())}

        def placed(pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
            return tuple((place[u], place[v]) for u, v in pairs if u in place and v in place)

        features = {(place[u], f): value for (u, f), value in self.features.items() if u in place}
        return Edit(placed(self.add), placed(self.remove), features)

    def require(self, graph: Graph) -> None:
        """Raise for an edge that is there already, or not there, or listed twice."""
        listed = [frozenset(pair) for pair in (*self.add, *self.remove)]
        for (u, v), adds in [(pair, True) for pair in self.add] + [(pair, False) for pair in self.remove]:
            one, two = (v if graph.node_names is None else graph.node_names[v] for v in (u, v))
            if u == v:
                raise InputError(f"node {one} cannot have an edge with itself. Leave it out.")
            if adds == bool(graph.adjacency[u, v]):
                what = "an edge already" if adds else "no edge that could be removed"
                raise InputError(f"nodes {one} and {two} have {what}. Leave it out.")
            if listed.count(frozenset((u, v))) > 1:
                raise InputError(f"the edge of {one} and {two} is listed twice. List each once.")

    def _adjacency(self, graph: Graph) -> sparse.csr_array:
        matrix = graph.adjacency
        moved = [(u, v, 1.0) for u, v in self.add] + [(u, v, -float(matrix[u, v])) for u, v in self.remove]
        rows, columns, values = (np.array(one) for one in zip(*moved, strict=True))
        change = sparse.coo_array((values, (rows, columns)), shape=matrix.shape)
        edited = (matrix.astype(np.float64) + change + change.T).tocsr().astype(matrix.dtype)
        edited.eliminate_zeros()
        return edited

    def _features(self, features: Any) -> Any:
        rows = sorted({node for node, _ in self.features})
        held = features[rows]
        held = held.toarray() if sparse.issparse(held) else np.array(held)
        for (node, column), value in self.features.items():
            held[rows.index(node), column] = value
        if not sparse.issparse(features):
            edited = np.array(features)
            edited[rows] = held
            return edited
        edited = features.tolil()
        edited[rows] = held
        return edited.tocsr()
