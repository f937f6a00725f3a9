"""The loss on links: binary cross-entropy (Eq. 15), with s_G = 1 on edges and 0 elsewhere.

It is not a :class:`~kernode.losses.Loss`: it sees log-odds of pairs, where those see g of nodes with classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from kernode.compute.draws import PAIRS, Draws, below
from kernode.config import Config
from kernode.graph import Graph


@dataclass(frozen=True)
class EdgePairs:
    """The training edges, and a way to draw node pairs without an edge."""

    edges: Tensor  # m × 2
    keys: Tensor  # sorted u·n + v of both directions
    nodes: int
    others: Tensor | None = None  # p × 2, pairs known to have no edge, besides those that are drawn

    @classmethod
    def of(cls, graph: Graph, device: torch.device, others: np.ndarray | None = None) -> EdgePairs:
        """Read the edges of a training graph; ``others`` (p × 2) are pairs known to have no edge."""
        n = graph.n_nodes
        upper = sparse.triu(graph.adjacency).tocoo()
        edges = np.stack([upper.row, upper.col], axis=1).astype(np.int64)
        both = np.concatenate([edges, edges[:, ::-1]])
        keys = np.sort(both[:, 0] * n + both[:, 1])
        known = None if others is None or not len(others) else torch.from_numpy(others).to(device)
        return cls(torch.from_numpy(edges).to(device), torch.from_numpy(keys).to(device), n, known)

    def draw_negatives(self, draws: Draws) -> tuple[Tensor, Tensor]:
        """Uniform pairs, as many as edges: r × m × 2, and which of them count: r × m.

        A pair that is a training edge, or a node with itself, does not count. Held-out edges may be drawn:
        they are not known while training. Pairs known to have no edge come after those drawn, and all count.
        """
        words = draws.words(PAIRS, torch.arange(len(self.edges), device=self.edges.device))  # m × r
        u, v = below(words, self.nodes, 0), below(words, self.nodes, 1)
        key = u * self.nodes + v
        at = torch.searchsorted(self.keys, key).clamp_max(len(self.keys) - 1)
        drawn, counts = torch.stack([u, v], dim=-1).transpose(0, 1), ((u != v) & (self.keys[at] != key)).T
        if self.others is None:
            return drawn, counts
        known = self.others.expand(len(drawn), -1, -1)
        return torch.cat([drawn, known], dim=1), torch.cat([counts, counts.new_ones(known.shape[:2])], dim=1)


@dataclass(frozen=True)
class LinkCrossEntropy(Config):
    """``−log σ(K)`` on edges and ``−log(1 − σ(K))`` on as many sampled pairs: the mean of the two means."""

    prepare = staticmethod(EdgePairs.of)

    def __call__(self, prepared: EdgePairs, logits: Callable[[Tensor], Tensor], draws: Draws) -> Tensor:
        """The loss (r) of log-odds, a function of pairs (q × t × 2) → r × t."""
        negatives, counts = prepared.draw_negatives(draws)
        # Both at once: two gradients of g would have to be added, and g is the largest thing there is.
        edges = prepared.edges.expand(len(negatives), -1, -1)
        linked, others = logits(torch.cat([edges, negatives], dim=1)).split(
            [edges.shape[1], negatives.shape[1]], dim=1
        )
        on_edges = functional.softplus(-linked)
        on_others = functional.softplus(others) * counts
        return (on_edges.mean(dim=1) + on_others.sum(dim=1) / counts.sum(dim=1).clamp_min(1)) / 2

    def on(self, linked: Tensor, others: Tensor) -> Tensor:
        """The same of given pairs, from their log-odds: (r × p), (r × q) → r."""
        return (functional.softplus(-linked).mean(dim=1) + functional.softplus(others).mean(dim=1)) / 2
