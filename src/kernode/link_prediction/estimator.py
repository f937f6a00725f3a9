"""The link predictor as people use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kernode.compute.place import Place
from kernode.data.edge_split import EdgeSplit, split_edges
from kernode.data.registry import identify
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.names import as_pairs
from kernode.kernels.node_kernel import NodeKernel
from kernode.link_prediction.experiment import configure_links
from kernode.link_prediction.model import LinkModel
from kernode.link_prediction.task import as_links, split_pairs
from kernode.training.settings import PerReplica, seeds_from


class LinkPredictor(ClassifierMixin, BaseEstimator):
    """Learns which pairs of nodes are linked.

    ``method``: "kernel", the learned kernel, or a baseline, "gae" or "vgae" (Kipf & Welling 2016).

    ``fit(graph)`` holds out 5 % of the edges to choose the epoch and 10 % to test; an
    :class:`~kernode.data.edge_split.EdgeSplit` of your own does in its place. Held-out edges never reach
    the operator.

    ``fit(pairs, y, graph=graph)`` is scikit-learn's form, for cross_val_score and GridSearchCV: the pairs
    with y = 1 are all the edges that are seen, whatever others the graph has.

    >>> import kernode as kn
    >>> graph, _ = kn.load("cora")
    >>> links = kn.LinkPredictor(epochs=20).fit(graph)
    >>> links.evaluate()["auc"] > 85
    True
    >>> len(links.missing_links(0, k=3)), links.score_pairs([(0, 1), (2, 3)]).shape
    (3, (2,))
    >>> links.predict_proba([(0, 1), (2, 3)]).shape, links.kernel_.gram([0, 1]).shape
    ((2, 2), (2, 2))
    """

    # With metadata routing, the graph goes to fit without a set_fit_request.
    __metadata_request__fit = {"graph": True}  # noqa: RUF012 (scikit-learn reads it from the class)

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

    def fit(self, X: Any, y: Any = None, *, graph: Graph | None = None) -> Self:
        """Learn from a graph or an EdgeSplit X; or from pairs X (m × 2 names or indices) of a graph.

        ``y`` is 1 where a pair is linked and 0 where not; without it all pairs are linked. The graph gives
        nodes, features and the weights of linked pairs. A seeded 5 % of these choose the epoch.
        """
        if isinstance(X, Graph | EdgeSplit):
            if y is not None or graph is not None:
                raise InputError("y and graph= belong to pairs. Leave them out beside a graph.")
            return self._learn_from(X)
        if isinstance(X, str):
            raise InputError(f"graph must be a kernode.Graph or an EdgeSplit, or pairs. Got {X!r}.")
        linked = None if y is None else as_links(y)
        pairs = as_pairs(X)
        if not isinstance(graph, Graph):
            raise InputError(f"graph must be a kernode.Graph: pass graph=. Got {type(graph).__name__}.")
        seed = seeds_from(self.random_state, self.replicas)[0]
        split, others = split_pairs(graph, graph.find(pairs), linked, seed)
        return self._learn(split, split.graph, others=others)

    def _learn_from(self, graph: Graph | EdgeSplit) -> Self:
        if isinstance(graph, EdgeSplit):
            return self._learn(graph, graph.graph)
        seed = seeds_from(self.random_state, self.replicas)[0]
        entry = identify(graph) if seed == 0 else None  # a search has seen other splits' test edges
        return self._learn(
            split_edges(graph, seed), graph, dataset=entry.name if entry else "", split_seed=seed
        )

    def _learn(
        self,
        split: EdgeSplit,
        whole: Graph,
        *,
        others: np.ndarray | None = None,
        dataset: str = "",
        split_seed: int | None = None,  # None: an own split cannot be made again from a seed
    ) -> Self:
        method, training = configure_links(
            self.method,
            dataset,
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
        )
        self.model_ = LinkModel.learn(
            whole,
            split,
            method,
            training,
            seeds_from(self.random_state, self.replicas),
            Place.of(self.precision, self.device),
            others=others,
            split_seed=split_seed,
            name=self.method,
        )
        self.split_ = split
        self.history_ = self.model_.history
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = 2  # X is two columns: the nodes of a pair
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of no link and of a link, the mean over runs: m × 2 for pairs (m × 2)."""
        linked = self.score_pairs(X)
        return np.stack([1 - linked, linked], axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """log-odds of a link, log p / (1 − p): m numbers, above 0 where :meth:`predict` says 1."""
        return self._fitted().log_odds(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for each pair whose link is likelier than not, else 0."""
        likelier = self.decision_function(X) > 0
        return self.classes_[likelier.astype(int)]

    def score_pairs(self, pairs: Any) -> np.ndarray:
        """Probability of a link between the two nodes of each pair (m × 2), the mean over runs."""
        return self._fitted().score_pairs(pairs)

    def missing_links(self, node: Any, k: int = 10) -> list[tuple[Any, float]]:
        """The k likeliest links that a node does not have among the training edges: [(node, probability), …].

        Nodes have their names where the graph has names.
        """
        return self._fitted().missing_links(node, k)

    @property
    def kernel_(self) -> NodeKernel:
        """K(u, v) of the learned map on the training edges: its ``gram`` and ``vectors`` suit any machine."""
        return self._fitted().kernel

    def evaluate(self, edges: Any = None, negatives: Any = None) -> dict[str, float]:
        """AUC, AP, Hits@k and MRR in percent, the mean over runs; by default on the held-out test edges."""
        model = self._fitted()
        if not len(self.split_.test) and (edges is None or negatives is None):
            raise InputError("no test edges were held out. Pass edges and negatives to evaluate.")
        edges = self.split_.test if edges is None else edges
        negatives = self.split_.test_negatives if negatives is None else negatives
        runs = model.evaluate(edges, negatives)
        return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}

    def save(self, path: str | Path) -> Path:
        """Write the model to one .safetensors file."""
        return self._fitted().save(path)

    def _fitted(self) -> LinkModel:
        check_is_fitted(self, "model_")
        return self.model_

    def __sklearn_tags__(self) -> Any:
        """Two columns of names or indices, from 0 on; two classes, and y may be missing."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.classifier_tags.multi_class = False
        given = tags.input_tags
        given.string = given.categorical = given.positive_only = True
        return tags
