"""A trained link predictor: scores for any pair, the likeliest missing links of a node."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part
from kernode.data.edge_split import EdgeSplit, split_edges
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.names import as_nodes, as_pairs
from kernode.kernels.node_kernel import NodeKernel
from kernode.link_prediction.method import LinkMethod
from kernode.link_prediction.trainer import train_links
from kernode.metrics.ranking import link_metrics
from kernode.storage import read_tensors, write_tensors
from kernode.training.loop import Progress
from kernode.training.settings import Training
from kernode.version import __version__


@dataclass(frozen=True)
class LinkModel:
    """Learned parameters of r replicas, and the graph of training edges that they see."""

    method: LinkMethod
    training: Training
    parameters: Parameters
    graph: Graph  # training edges only
    seeds: tuple[int, ...]
    precision: int
    facts: dict[str, Any]  # data set, fingerprint of the whole graph, seed of the split
    history: dict[str, np.ndarray] = field(default_factory=dict)
    device: str = "cpu"
    seconds: float = field(default=0.0, compare=False)

    @classmethod
    def learn(
        cls,
        whole: Graph,
        split: EdgeSplit,
        method: LinkMethod,
        training: Training,
        seeds: list[int],
        place: Place,
        *,
        others: np.ndarray | None = None,
        progress: Progress | None = None,
        **facts: Any,
    ) -> LinkModel:
        """Train one replica per seed; ``others`` (p × 2) are known to be no links."""
        trained = train_links(split, method, training, seeds, place, others=others, progress=progress)
        return cls(
            method,
            training,
            {name: value.cpu() for name, value in trained.parameters.items()},
            split.graph,
            tuple(seeds),
            64 if place.dtype == torch.float64 else 32,
            {"dataset": whole.name, "fingerprint": whole.fingerprint, **facts},
            trained.history,
            place.device.type,
            trained.seconds,
        )

    @torch.no_grad()
    def logits(self, pairs: Any) -> np.ndarray:
        """log-odds of links, run by run: r × m for pairs (m × 2) of names or indices."""
        rows = torch.from_numpy(self.graph.find(as_pairs(pairs))).to(self._place.device)
        return self.method.logits(self._on_place, self.kernel.embedded, rows[None]).cpu().numpy()

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
        scores = self.score_pairs(np.stack([np.full_like(others, node), others], axis=1))
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

    def save(self, path: str | Path) -> Path:
        """Write one .safetensors file; the training edges follow from the graph and the split's seed."""
        tensors = {f"parameters.{name}": value for name, value in self.parameters.items()}
        tensors |= {
            f"history.{n}": torch.from_numpy(np.ascontiguousarray(v)) for n, v in self.history.items()
        }
        facts = {
            "kernode": __version__,
            "method": self.method.to_json(),
            "training": self.training.to_json(),
            "seeds": self.seeds,
            "precision": self.precision,
            "facts": self.facts,
        }
        return write_tensors(path, "link predictor", tensors, facts)

    @classmethod
    def load(cls, path: str | Path, whole: Graph, device: str = "cpu") -> LinkModel:
        """Read what :meth:`save` wrote, with the graph it was fitted on: an own split's training graph."""
        tensors, facts = read_tensors(path, "link predictor")
        if facts["facts"]["fingerprint"] != whole.fingerprint:
            raise InputError(
                f"{path} was trained on {facts['facts']['dataset']!r}, another graph. Give that one."
            )
        return cls(
            LinkMethod.from_json(facts["method"]),
            Training.from_json(facts["training"]),
            part(tensors, "parameters."),
            _training_graph(whole, facts["facts"]["split_seed"]),
            tuple(facts["seeds"]),
            facts["precision"],
            facts["facts"],
            {name: value.numpy() for name, value in part(tensors, "history.").items()},
            device,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again, for a pickle."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def _place(self) -> Place:
        return Place.of(self.precision, self.device)

    @cached_property
    def _on_place(self) -> Parameters:
        return {name: value.to(self._place.device) for name, value in self.parameters.items()}

    @cached_property
    @torch.no_grad()
    def kernel(self) -> NodeKernel:
        """K(u, v) of the learned map, the mean over runs."""
        g = self.method.represent(self._on_place, self.method.map.prepare(self.graph, self._place))
        return NodeKernel(self.method.kernel, g, part(self._on_place, "kernel."), self.graph.node_names)


def _training_graph(whole: Graph, split_seed: int | None) -> Graph:
    """The edges a model saw: those of the seeded split, or all where the split was its user's own."""
    return whole if split_seed is None else split_edges(whole, split_seed).graph
