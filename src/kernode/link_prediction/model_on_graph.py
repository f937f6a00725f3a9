"""A link model together with the graph of its training edges: all that it answers about pairs of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse

from kernode.compute.chunks import chunks
from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part
from kernode.errors import InputError, warn
from kernode.graph import Graph, positions
from kernode.graph.lookup import Positions, as_nodes, as_pairs
from kernode.kernels import NodeKernel
from kernode.link_prediction.missing import likeliest_pairs
from kernode.metrics.ranking import link_metrics
from kernode.training.file_checks import fitting
from kernode.training.run import Run

if TYPE_CHECKING:
    from kernode.link_prediction.model import LinkModel

_NUMBERS = 2**23  # of the vectors that pairs take at a time


@dataclass(frozen=True)
class LinkModelOnGraph:
    """Scores for any pair, the likeliest missing links. What it computes it keeps."""

    model: LinkModel
    graph: Graph  # training edges only
    place: Place
    held_out: np.ndarray | None = field(default=None, compare=False, repr=False)  # m × 2 edges beside these
    prepared: Any = field(default=None, compare=False, repr=False)  # by the map while training, used once

    @cached_property
    @torch.no_grad()
    def kernel(self) -> NodeKernel:
        """K(u, v) of the learned map, the mean over runs."""
        method = self.model.method
        prepared = method.map.prepare(self.graph, self.place) if self.prepared is None else self.prepared
        with fitting(type(method.map).__name__, self.model.parameters, lambda: self._expected(prepared)):
            g = method.represent(self.parameters, prepared).expand(len(self.model.seeds), -1, -1)
        object.__setattr__(self, "prepared", None)  # it is larger than g, and has served
        return NodeKernel(method.kernel, g, part(self.parameters, "kernel."), self.graph.node_names)

    def _expected(self, prepared: Any) -> Parameters:
        """The parameters of one run as the method makes them."""
        return self.model.method.initial(prepared, Run(self.model.seeds[:1], self.place).draws(), self.place)

    @torch.no_grad()
    def logits(self, pairs: Any) -> np.ndarray:
        """log-odds of links, run by run: r × m for pairs (m × 2) of names or indices."""
        rows = torch.from_numpy(self.graph.find(as_pairs(pairs))).to(self.place.device)
        method, embedded = self.model.method, self.kernel.embedded
        each = max(1, _NUMBERS // (len(embedded) * embedded.shape[-1]))
        parts = [rows[None, some] for some in chunks(len(rows), each)] or [rows[None]]
        found = [method.logits(self.parameters, embedded, part) for part in parts]
        return torch.cat(found, dim=1).cpu().numpy()

    def score_pairs(self, pairs: Any) -> np.ndarray:
        """Probability of a link, the mean over runs: m numbers for pairs (m × 2)."""
        return (1 / (1 + np.exp(-self.logits(pairs).astype(np.float64)))).mean(axis=0)

    def log_odds(self, pairs: Any) -> np.ndarray:
        """log p / (1 − p) of those probabilities: m numbers, finite where p rounds to 0 or 1."""
        logits = self.logits(pairs).astype(np.float64)
        return np.logaddexp.reduce(-np.logaddexp(0, -logits), axis=0) - np.logaddexp.reduce(
            -np.logaddexp(0, logits), axis=0
        )

    def missing_links(self, node: Any = None, k: int = 10) -> list[tuple[Any, ...]]:
        """The k likeliest pairs that are no edges, with their probabilities: of a node, or of all nodes.

        Gives (other, probability) of a node, (node, other, probability) of all. Of equals the first.
        """
        found = None if node is None else self._one(node)
        pairs, scores = self.missing_pairs(found, k)
        names = self.graph.node_names
        columns = (pairs if names is None else names[pairs]).T.tolist()
        return list(zip(*columns[0 if node is None else 1 :], scores.tolist(), strict=True))

    def _one(self, node: Any) -> int:
        at = self.graph.find(as_nodes(np.atleast_1d(np.asanyarray(node))))  # positions stay positions
        if len(at) != 1:
            raise InputError(f"missing_links is about one node or about all of them. Got {len(at)} nodes.")
        return int(at[0])

    def missing_pairs(self, node: int | None, k: int) -> tuple[Positions, np.ndarray]:
        """The same by position (m × 2, a node's own first), and m probabilities."""
        if k < 1:
            raise InputError(f"k must be an integer ≥ 1. Got {k}.")
        if self.held_out is None:
            warn(
                f"this model's file does not say which edges of {self.model.dataset!r} were held out: they "
                "may be among the missing links. Train and save it again."
            )
        pairs = likeliest_pairs(self, k) if node is None else self._likeliest_of(node, k)
        return pairs, self.score_pairs(pairs)

    def _likeliest_of(self, node: int, k: int) -> Positions:
        others = np.setdiff1d(np.arange(self.graph.n_nodes), [node, *self.known_edges[[node]].indices])
        pairs = positions(np.column_stack([np.full_like(others, node), others]))
        # Log-odds, because several probabilities round to 1.
        return positions(pairs[np.argsort(-self.log_odds(pairs), kind="stable")[:k]])

    @cached_property
    def known_edges(self) -> sparse.csr_array:
        """All edges that are there, those that trained and those that did not: n × n."""
        if self.held_out is None or not len(self.held_out):
            return self.graph.adjacency
        ends = np.concatenate([self.held_out, self.held_out[:, ::-1]])
        others = sparse.csr_array((np.ones(len(ends), np.float32), tuple(ends.T)), self.graph.adjacency.shape)
        return self.graph.adjacency + others

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
