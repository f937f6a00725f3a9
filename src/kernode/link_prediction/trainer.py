"""Training on links: all training edges against as many sampled pairs, never n × n."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from kernode.compute.draws import PAIRS, Draws, Dropout, below
from kernode.compute.fused import fused
from kernode.compute.place import Place
from kernode.data.edge_split import EdgeSplit
from kernode.link_prediction.method import LinkMethod
from kernode.maps.base import input_rates
from kernode.training.loop import Learner, Progress, Trained, run_epochs, stack_slices
from kernode.training.settings import Training


@dataclass(frozen=True)
class EdgePairs:
    """The training edges, and a way to draw pairs that are none."""

    edges: Tensor  # m × 2
    keys: Tensor  # sorted u·n + v of both directions
    nodes: int
    others: Tensor | None = None  # p × 2, pairs known to be none, beside those that are drawn

    @classmethod
    def of(cls, split: EdgeSplit, device: torch.device, others: np.ndarray | None = None) -> EdgePairs:
        """Read the edges of the training graph."""
        n = split.graph.n_nodes
        upper = sparse.triu(split.graph.adjacency).tocoo()
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


class LinkStack(Learner):
    """Replicas that learn the links of a graph."""

    score = "validation_auc"

    def __init__(
        self,
        prepared: Any,
        method: LinkMethod,
        training: Training,
        split: EdgeSplit,
        pairs: EdgePairs,
        seeds: list[int],
        place: Place,
        replicas: slice,
    ) -> None:
        own = {name: values[replicas] for name, values in training.by_replica(len(seeds), place).items()}
        self.prepared, self.method, self.pairs = prepared, method, pairs
        self.seeds = torch.tensor(seeds[replicas], dtype=torch.int64, device=place.device)
        self.dropout = Dropout(
            Draws(self.seeds), own["dropout"], input_rates(method.map, own["input_dropout"])
        )
        self.validation = torch.tensor(split.validation, device=place.device)[None]
        self.validation_negatives = torch.tensor(split.validation_negatives, device=place.device)[None]
        super().__init__(method.initial(prepared, Draws(self.seeds), place), training, own, place)

    @property
    def capturable(self) -> bool:  # type: ignore[override]
        """On a GPU, where the map's own code never waits for it."""
        return self.seeds.is_cuda and self.method.map.capturable and fused(self.seeds) is not None

    def losses(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """Binary cross-entropy (Eq. 15), a mean over edges and as many non-edges."""
        draws = Draws(self.seeds, epoch)
        embedded, divergence = self.method.embed(self.parameters, self.prepared, self.dropout.at(draws))
        negatives, counts = self.pairs.draw_negatives(draws)
        on_edges = functional.softplus(-self.method.logits(self.parameters, embedded, self.pairs.edges[None]))
        on_others = functional.softplus(self.method.logits(self.parameters, embedded, negatives)) * counts
        loss = (on_edges.mean(dim=1) + on_others.sum(dim=1) / counts.sum(dim=1).clamp_min(1)) / 2
        return {"loss": loss if divergence is None else loss + divergence}

    @torch.no_grad()
    def evaluate(self) -> dict[str, Tensor]:
        """AUC and cross-entropy on the validation edges and non-edges."""
        embedded, _ = self.method.embed(self.parameters, self.prepared)
        linked = self.method.logits(self.parameters, embedded, self.validation)
        others = self.method.logits(self.parameters, embedded, self.validation_negatives)
        loss = (functional.softplus(-linked).mean(dim=1) + functional.softplus(others).mean(dim=1)) / 2
        return {"validation_auc": auc(linked, others), "validation_loss": loss}


def auc(positive: Tensor, negative: Tensor) -> Tensor:
    """Area under the ROC curve in percent, ties counted half: (r × p), (r × q) → r, in float64.

    >>> auc(torch.tensor([[0.9, 0.4]]), torch.tensor([[0.1, 0.4]]))
    tensor([87.5000], dtype=torch.float64)
    """
    ordered = negative.sort(dim=1).values
    below_ = torch.searchsorted(ordered, positive.contiguous())
    up_to = torch.searchsorted(ordered, positive.contiguous(), right=True)
    return 50 * (below_ + up_to).double().mean(dim=1) / negative.shape[1]


def train_links(
    split: EdgeSplit,
    method: LinkMethod,
    training: Training,
    seeds: list[int],
    place: Place,
    *,
    others: np.ndarray | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train one replica per seed on the training edges of a split; validation AUC keeps the epoch.

    ``others`` (p × 2) are pairs known to be no edges, learned from beside those drawn in every epoch.
    """
    started = time.perf_counter()
    prepared = method.map.prepare(split.graph, place)
    pairs = EdgePairs.of(split, place.device, others)
    one = method.initial(prepared, Draws(torch.tensor(seeds[:1], device=place.device)), place)
    stacks = [
        LinkStack(prepared, method, training, split, pairs, seeds, place, replicas)
        for replicas in stack_slices(one, split.graph.n_nodes, len(seeds), place)
    ]
    return run_epochs(stacks, training, progress=progress, started=started)
