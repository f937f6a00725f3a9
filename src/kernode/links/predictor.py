"""The link predictor as people use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernode.data.edge_split import EdgeSplit, split_edges
from kernode.data.registry import identify
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.links.experiment import configure_links
from kernode.links.model import LinkModel
from kernode.settings import PerReplica, seeds_from
from kernode.sparse import Place


class LinkPredictor(BaseEstimator):
    """Learns which pairs of nodes are linked.

    ``fit`` takes a graph, of which 5 % of the edges are held out to choose the epoch and 10 % to test, or
    an :class:`~kernode.data.edge_split.EdgeSplit` of your own. Held-out edges never reach the operator.

    >>> import kernode as kn
    >>> graph, _ = kn.load("cora")
    >>> links = kn.LinkPredictor(epochs=20).fit(graph)
    >>> links.evaluate()["auc"] > 85
    True
    >>> len(links.missing_links(0, k=3)), links.score_pairs([(0, 1), (2, 3)]).shape
    (3, (2,))
    """

    def __init__(
        self,
        method: str = "kernel",
        *,
        epochs: int | None = None,
        learning_rate: PerReplica | None = None,
        weight_decay: PerReplica | None = None,
        dropout: PerReplica | None = None,
        replicas: int = 1,
        random_state: int = 0,
        precision: int = 32,
        device: str = "auto",
    ) -> None:
        self.method = method
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.replicas = replicas
        self.random_state = random_state
        self.precision = precision
        self.device = device

    def fit(self, graph: Graph | EdgeSplit) -> Self:
        """Learn from the edges of a graph."""
        seeds = seeds_from(self.random_state, self.replicas)
        entry = identify(graph) if isinstance(graph, Graph) and seeds[0] == 0 else None
        method, training = configure_links(
            self.method,
            entry.name if entry else "",
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
        )
        if isinstance(graph, EdgeSplit):
            split, whole, seed = graph, graph.graph, None  # an own split cannot be made again from a seed
        elif isinstance(graph, Graph):
            split, whole, seed = split_edges(graph, seeds[0]), graph, seeds[0]
        else:
            raise InputError(f"graph must be a kernode.Graph or an EdgeSplit. Got {type(graph).__name__}.")
        place = Place.of(self.precision, self.device)
        self.split_ = split
        self.model_ = LinkModel.learn(
            whole, split, method, training, seeds, place, split_seed=seed, name=self.method
        )
        self.history_ = self.model_.history
        return self

    def score_pairs(self, pairs: Any) -> np.ndarray:
        """Probability of a link between the two nodes of each pair (m × 2), the mean over runs."""
        check_is_fitted(self, "model_")
        return self.model_.score_pairs(pairs)

    def missing_links(self, node: int, k: int = 10) -> list[tuple[int, float]]:
        """The k likeliest links that a node does not have among the training edges."""
        check_is_fitted(self, "model_")
        return self.model_.missing_links(node, k)

    def evaluate(self, edges: Any = None, negatives: Any = None) -> dict[str, float]:
        """AUC, AP, Hits@k and MRR in percent, the mean over runs; by default on the held-out test edges."""
        check_is_fitted(self, "model_")
        edges = self.split_.test if edges is None else edges
        negatives = self.split_.test_negatives if negatives is None else negatives
        runs = self.model_.evaluate(edges, negatives)
        return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}

    def save(self, path: str | Path) -> Path:
        """Write the model to one .safetensors file."""
        check_is_fitted(self, "model_")
        return self.model_.save(path)
