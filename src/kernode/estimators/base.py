"""What the estimators share: settings, learning, and answers about the nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernode.checkpoint import Checkpoint
from kernode.errors import InputError
from kernode.estimators.answering import Answering, OnGraph
from kernode.estimators.lessons import teach
from kernode.experiment import settings_key
from kernode.graph import Graph
from kernode.kernels import BaseKernel
from kernode.maps import FeatureMap
from kernode.method import Objective
from kernode.model import Answers, Model
from kernode.node_kernel import NodeKernel
from kernode.nodes import as_classes, as_nodes
from kernode.settings import PerReplica, seeds_from
from kernode.sparse import Place
from kernode.variants import configure


class NodeKernelEstimator(BaseEstimator):
    """Learns a kernel on the nodes of a graph from the classes of some."""

    # With metadata routing, the graph goes to every method that takes one, without a set_…_request.
    __metadata_request__fit = {"graph": True}  # noqa: RUF012 (scikit-learn reads it from the class)

    def __init__(
        self,
        variant: str = "k3-tuned",
        *,
        map: FeatureMap | None = None,
        kernel: BaseKernel | None = None,
        objective: Objective | None = None,
        kernel_loss: str | None = None,
        hops: int | None = None,
        layers: int | None = None,
        hidden: Sequence[int] | int | None = None,
        powers: Literal["each", "last"] | None = None,
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
        holdout: float = 0.2,
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
        self.holdout = holdout
        self.precision = precision
        self.device = device
        self.checkpoint = checkpoint

    _OWN = ("variant", "replicas", "random_state", "holdout", "precision", "device", "checkpoint")

    def fit(self, X: Any, y: Any = None, *, graph: Graph | None = None, validation: Any = None) -> Self:
        """Learn from nodes X (m names or indices of the graph) and their classes y.

        ``validation``: nodes that choose the epoch, with the graph's own labels, or a pair (nodes, classes).
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
        method, training = configure(self.variant, settings_key(graph), tuned=False, **changes)
        place = Place.of(self.precision, self.device)
        holdout = self.holdout if training.selection == "best" else None
        classes, lesson = teach(graph.find(nodes), y, graph, validation, holdout, seeds[0])
        model = Model.learn(
            graph, method, training, lesson, seeds, place, tuple(classes.tolist()),
            checkpoint=self.checkpoint, variant=self.variant,
        )  # fmt: skip
        return self._take(model, classes, graph, place.device.type)

    def _take(self, model: Model, classes: np.ndarray, graph: Graph, device: str) -> Self:
        """Become the estimator of a trained model."""
        self.model_, self.classes_, self.history_ = model, classes, model.history
        self.n_features_in_ = 1  # X is one column: the node
        self._answering = Answering(model.on(graph, device))
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

    def save(self, path: str | Path) -> Path:
        """Write the model to one .safetensors file."""
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
