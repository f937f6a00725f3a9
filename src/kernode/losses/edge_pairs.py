"""Who is compared with whom on links: the training edges, and pairs that are none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.draws import PAIRS, Draws, below
from kernode.graph import Graph


@dataclass(frozen=True)
class EdgePairs:
    """The training edges, and a way to draw pairs that are none."""

    edges: Tensor  # m × 2
    keys: Tensor  # sorted u·n + v of both directions
    nodes: int
    others: Tensor | None = None  # p × 2, pairs known to be none, beside those that are drawn

    @classmethod
    def of(cls, graph: Graph, device: torch.device, others: np.ndarray | None = None) -> EdgePairs:
        """Read the edges of a training graph; ``others`` (p × 2) are pairs known to be none."""
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
        nobody knows them while training. Pairs known to be none come after those drawn, and all count.
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
