"""What the estimators share: settings, learning, and answers about the nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernode.compute.place import Place
from kernode.data.tables import extend
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.names import as_classes, as_nodes
from kernode.kernels import BaseKernel
from kernode.kernels.node_kernel import NodeKernel
from kernode.maps import FeatureMap
from kernode.node_classification.answering import Answering, OnGraph
from kernode.node_classification.experiment import settings_key
from kernode.node_classification.folds import in_folds, teach
from kernode.node_classification.method import Objective
from kernode.node_classification.model import Answers, Model
from kernode.node_classification.selection import learn_again, learn_best
from kernode.node_classification.variants import candidates
from kernode.training.checkpoint import Checkpoint
from kernode.training.settings import PER_REPLICA, PerReplica, seeds_from


class NodeKernelEstimator(BaseEstimator):
    """Learns a kernel on the nodes of a graph from the classes of some."""

    # With metadata routing, the graph goes to every method that takes one, without a set_…_request.
    __metadata_request__fit = {"graph": True}  # noqa: RUF012 (scikit-learn reads it from the class)

    def __init__(
        self,
        variant: str = "auto",
        *,
        map: FeatureMap | None = None,
        kernel: BaseKernel | None = None,
        objective: Objective | None = None,
        kernel_loss: str | None = None,
        hops: int | None = None,
        layers: int | None = None,
        hidden: Sequence[int] | int | None = None,
        powers: Literal["each", "last", "plain"] | None = None,
        hop_weights: Literal["learned"] | float | None = None,
        epochs: int | None = None,
        learning_rate: PerReplica | None = None,
        weight_decay: PerReplica | None = None,
        dropout: PerReplica | None = None,
        input_dropout: PerReplica | None = None,
        kernel_weight: PerReplica | None = None,
        margin: PerReplica | None = None,
        triplets: int | None = None,
        selection: Literal["best", "last"] | None = None,
        select_by: Literal["accuracy", "map"] | None = None,
        patience: int | None = None,
        class_weights: Literal["balanced"] | None = None,
        replicas: int = 1,
        random_state: int = 0,
        folds: int = 3,
        precision: int = 32,
        device: str = "auto",
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.variant = variant
        self.map = map
        self.kernel = kernel
        self.objective = objective
        self.kernel_loss = kernel_loss
        self.hops = hops
        self.layers = layers
        self.hidden = hidden
        self.powers = powers
        self.hop_weights = hop_weights
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.kernel_weight = kernel_weight
        self.margin = margin
        self.triplets = triplets
        self.selection = selection
        self.select_by = select_by
        self.patience = patience
        self.class_weights = class_weights
        self.replicas = replicas
        self.random_state = random_state
        self.folds = folds
        self.precision = precision
        self.device = device
        self.checkpoint = checkpoint

    _OWN = ("variant", "replicas", "random_state", "folds", "precision", "device", "checkpoint")

    def fit(self, X: Any, y: Any = None, *, graph: Graph | None = None, validation: Any = None) -> Self:
        """Learn from nodes X (m names or indices of the graph) and their classes y.

        ``validation``: nodes that choose the epoch and, for "auto", the method, with the graph's own labels,
        or a pair (nodes, classes). Without them X chooses, fold by fold, and then all of it teaches.
        """
        nodes = as_nodes(X)
        if y is None:
            who = type(self).__name__
            raise InputError(f"{who} requires y to be passed, but the target y is None: pass the classes.")
        y = as_classes(y)
        if not isinstance(graph, Graph):
            raise InputError(f"graph must be a kernode.Graph: pass graph=. Got {type(graph).__name__}.")
        seeds = seeds_from(self.random_state, self.replicas)
        changes = {name: getattr(self, name) for name in self._get_param_names() if name not in self._OWN}
        methods = candidates(self.variant, settings_key(graph), tuned=False, **changes)
        place, nodes = Place.of(self.precision, self.device), graph.find(nodes)
        classes, lesson = teach(nodes, y, graph, validation)
        names = tuple(classes.tolist())
        chooses = validation is None and any(training.selection == "best" for _, training in methods.values())
        if not chooses:
            model = learn_best(graph, methods, lesson, seeds, place, names, checkpoint=self.checkpoint)
            return self._take(model, classes, graph, place.device.type)
        own = any(np.ndim(changes[name] or 0) for name in PER_REPLICA)  # settings that belong to replicas
        parts = in_folds(lesson, self.folds, seeds[0], len(seeds) if own else None)
        stack = seeds_from(self.random_state, len(parts.train))
        best = learn_best(graph, methods, parts, stack, place, names, checkpoint=self.checkpoint)
        model = learn_again(graph, best, lesson, seeds, place, checkpoint=self.checkpoint)
        return self._take(model, classes, graph, place.device.type)

    def _take(self, model: Model, classes: np.ndarray, graph: Graph | None, device: str) -> Self:
        """Become the estimator of a trained model."""
        self.model_, self.classes_, self.history_ = model, classes, model.history
        self.n_features_in_ = 1  # X is one column: the node
        self._answering = Answering(model, None if graph is None else model.on(graph, device), device)
        return self

    @property
    def kernel_(self) -> NodeKernel:
        """K(u, v) on the graph's nodes: p.s.d., for any kernel machine."""
        return self._on(None).kernel

    def similar(self, node: Any, k: int = 10) -> list[tuple[Any, float]]:
        """The k nodes most alike to one, with K̄ of each, the mean over replicas: [(node, similarity), …].

        Exact: the node is compared with every other. Nodes have their names where the graph has names.
        """
        return self.kernel_.similar(node, k)

    def extend(self, graph: Graph | None, nodes: Any, edges: Any, *, names: Any = None) -> Self:
        """The same model after nodes and edges arrived, as :func:`kernode.extend` takes them.

        Answers equal those computed on the whole larger graph, degrees of old neighbours included; computed
        anew is only what can differ (``recomputed_``: those nodes). ``graph`` is the one that grows, None for
        the one that was learned from; ``graph_`` of what comes back is the larger one. Nearest centroids are
        means of the training nodes as they are in the larger graph; ``predict(…, graph=larger)`` has them as
        they were trained. This estimator stays as it is.
        """
        known = self._on(graph).answers
        larger = extend(known.graph, nodes, edges, names=names)
        grown = copy(self)
        grown._answering = Answering(known.model, known.on_extended(larger), known.place.device.type)
        return grown

    @property
    def graph_(self) -> Graph:
        """The graph that answers are about where no other is given."""
        return self._answers.graph

    @property
    def recomputed_(self) -> np.ndarray:
        """Nodes whose vectors were computed when the graph last grew; all of them where it did not."""
        found = self._answers.recomputed
        return np.arange(self.graph_.n_nodes) if found is None else found

    def save(self, path: str | Path) -> Path:
        """Write the model to one .safetensors file, which :func:`kernode.load_model` reads.

        It holds weights, settings, class names and what was done to a table's columns; not the graph.
        """
        check_is_fitted(self, "model_")
        return self.model_.save(path)

    @property
    def _answers(self) -> Answers:
        """On the graph it learned from."""
        return self._on(None).answers

    def _on(self, graph: Graph | None) -> OnGraph:
        check_is_fitted(self, "model_")
        return self._answering.on(graph)

    def __sklearn_tags__(self) -> Any:
        """One list or column of names or indices, from 0 on, and the class of each."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        given = tags.input_tags
        given.one_d_array = given.two_d_array = given.string = given.categorical = given.positive_only = True
        return tags
