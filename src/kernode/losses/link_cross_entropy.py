"""The loss on links: binary cross-entropy (Eq. 15), with s_G = 1 on edges and 0 elsewhere.

It is no :class:`~kernode.losses.Loss`: it sees log-odds of pairs, where those see g of nodes with classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from kernode.compute.draws import Draws
from kernode.config import Config
from kernode.graph import Graph
from kernode.losses.edge_pairs import EdgePairs


@dataclass(frozen=True)
class LinkCrossEntropy(Config):
    """``−log σ(K)`` on edges and ``−log(1 − σ(K))`` on as many sampled pairs: the mean of the two means."""

    def prepare(self, graph: Graph, device: torch.device, others: np.ndarray | None) -> EdgePairs:
        """The edges, and how to draw pairs that are none; ``others`` (p × 2) are known to be none."""
        return EdgePairs.of(graph, device, others)

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
