"""A link model together with the graph of its training edges: all that it answers about pairs of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part
from kernode.errors import InputError
from kernode.graph import Graph, positions
from kernode.graph.names import as_nodes, as_pairs
from kernode.kernels import NodeKernel
from kernode.metrics.ranking import link_metrics

if TYPE_CHECKING:
    from kernode.link_prediction.model import LinkModel


@dataclass(frozen=True)
class LinkModelOnGraph:
    """Scores for any pair, the likeliest missing links of a node. What it computes it keeps."""

    model: LinkModel
    graph: Graph  # training edges only
    place: Place
    prepared: Any = field(default=None, compare=False, repr=False)  # by the map while training, used once

    @cached_property
    @torch.no_grad()
    def kernel(self) -> NodeKernel:
        """K(u, v) of the learned map, the mean over runs."""
        method = self.model.method
        prepared = method.map.prepare(self.graph, self.place) if self.prepared is None else self.prepared
        g = method.represent(self.parameters, prepared).expand(len(self.model.seeds), -1, -1)
        object.__setattr__(self, "prepared", None)  # it is larger than g, and has served
        return NodeKernel(method.kernel, g, part(self.parameters, "kernel."), self.graph.node_names)

    @torch.no_grad()
    def logits(self, pairs: Any) -> np.ndarray:
        """log-odds of links, run by run: r × m for pairs (m × 2) of names or indices."""
        rows = torch.from_numpy(self.graph.find(as_pairs(pairs))).to(self.place.device)
        return self.model.method.logits(self.parameters, self.kernel.embedded, rows[None]).cpu().numpy()

    def score_pairs(self, pairs: Any) -> np.ndarray:
        """Probability of a link, the mean over runs: m numbers for pairs (m × 2)."""
        return (1 / (1 + np.exp(-self.logits(pairs).astype(np.float64)))).mean(axis=0)

    def log_odds(self, pairs: Any) -> np.ndarray:
        """log p / (1 − p) of those probabilities: m numbers, finite where p rounds to 0 or 1."""
        logits = self.logits(pairs).astype(np.float64)
        return np.logaddexp.reduce(-np.logaddexp(0, -logits), axis=0) - np.logaddexp.reduce(
            -np.logaddexp(0, logits), axis=0
        )

    def missing_links(self, node: Any, k: int = 10) -> list[tuple[Any, float]]:
        """The k likeliest links that a node does not have, with their probabilities."""
        (node,) = self.graph.find(as_nodes([node])).tolist()
        if k < 1:
            raise InputError(f"k must be an integer ≥ 1. Got {k}.")
        others = np.setdiff1d(np.arange(self.graph.n_nodes), [node, *self._neighbours(node)])
        scores = self.score_pairs(positions(np.stack([np.full_like(others, node), others], axis=1)))
        best = np.argsort(-scores, kind="stable")[:k]
        names = self.graph.node_names
        found = others[best] if names is None else names[others[best]]
        return list(zip(found.tolist(), scores[best].tolist(), strict=True))

    def _neighbours(self, node: int) -> np.ndarray:
        adjacency = self.graph.adjacency
        return adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]]

    def evaluate(self, edges: Any, negatives: Any) -> list[dict[str, float]]:
        """AUC, AP, Hits@k and MRR of every run, in percent."""
        pairs = zip(self.logits(edges), self.logits(negatives), strict=True)
        return [link_metrics(positive, negative) for positive, negative in pairs]

    @cached_property
    def parameters(self) -> Parameters:
        """The model's parameters, where they are computed with."""
        return {name: value.to(self.place.device) for name, value in self.model.parameters.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again, for a pickle."""
        return {one.name: getattr(self, one.name) for one in fields(self)} | {"prepared": None}
