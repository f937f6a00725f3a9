"""What both scikit-learn estimators share: settings, fitting, and answers about the nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernode.compute.place import Place
from kernode.compute.replicas import PerReplica, RandomState, seed_from, seeds_from
from kernode.data.exchange import require_graph
from kernode.data.tables import extend
from kernode.errors import InputError
from kernode.graph import Graph, positions
from kernode.graph.lookup import as_classes, as_nodes, found, require_aligned
from kernode.kernels import BaseKernel
from kernode.losses import KernelLoss, Objective
from kernode.maps import FeatureMap
from kernode.node_classification.advice import advise_longer_training, warn_of_single_nodes
from kernode.node_classification.asked import Asked
from kernode.node_classification.choosing import fit_best
from kernode.node_classification.experiment import settings_key
from kernode.node_classification.folds import fit_in_folds
from kernode.node_classification.given import labelled, require_classes
from kernode.node_classification.model import Model
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.new_labels import with_labels
from kernode.node_classification.sample_weights import as_weights, by_node
from kernode.node_classification.task import NodeTask
from kernode.node_classification.variants import candidates
from kernode.training.checkpoint import Checkpoint
from kernode.training.life_signs import life_signs, with_life_signs
from kernode.training.notebook import ShownInNotebooks
from kernode.training.part_parameters import PartParameters
from kernode.training.run import Run


class NodeKernelEstimator(Asked, ShownInNotebooks, PartParameters):
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
        kernel_loss: str | KernelLoss | None = None,
        hops: int | None = None,
        layers: int | None = None,
        hidden: Sequence[int] | int | None = None,
        powers: Literal["each", "last", "released", "plain"] | None = None,
        hop_weights: Literal["learned", "pagerank"] | float | None = None,
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
        averaging: float | None = None,
        class_weights: Literal["balanced"] | None = None,
        replicas: int = 1,
        random_state: RandomState = 0,
        folds: int = 3,
        precision: int = 32,
        device: str = "auto",
        checkpoint: Checkpoint | None = None,
        threads: int | None = None,
        verbose: int = 0,
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
        self.averaging = averaging
        self.class_weights = class_weights
        self.replicas = replicas
        self.random_state = random_state
        self.folds = folds
        self.precision = precision
        self.device = device
        self.checkpoint = checkpoint
        self.threads = threads
        self.verbose = verbose

    _PARTS = {"map": FeatureMap, "kernel": BaseKernel, "kernel_loss": KernelLoss}  # noqa: RUF012
    _OWN = ("variant", "replicas", "random_state", "folds", "precision", "device", "checkpoint", "threads",
            "verbose")  # fmt: skip

    @with_life_signs
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: Graph | None = None,
        validation: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from nodes X and their classes y.

        X: names, indices (:func:`kernode.positions` where names are integers, too), or a mask of all nodes.

        ``validation``: nodes that choose the epoch and, for "auto", the method, with the graph's own labels,
        or a pair (nodes, classes). Without them X chooses, fold by fold, and then all of it trains.

        ``sample_weight``: how much each node of X teaches, m numbers ≥ 0 of which only the ratios matter. One
        with weight 0 is as if it were not in X; with weight 2, as if it were there twice: it counts twice in
        L_Y and in a class's mean, and is drawn twice as often into the triplets of L_K, in which classes
        have equal shares still. ``class_weights`` multiply. Nodes that choose, in folds or as
        ``validation``, count once each.
        """
        require_aligned(X, y=y, sample_weight=sample_weight)
        if isinstance(validation, tuple) and len(validation) == 2:
            require_aligned(validation[0], y=validation[1])
        asked = as_nodes(X)
        if y is None:
            who = type(self).__name__
            raise InputError(f"{who} requires y to be passed, but the target y is None: pass the classes.")
        y = as_classes(y)
        graph = require_graph(graph)
        seeds = seeds_from(seed_from(self.random_state), self.replicas)
        place = Place.of(self.precision, self.device)
        changes = {name: getattr(self, name) for name in self._get_param_names() if name not in self._OWN}
        methods = candidates(self.variant, settings_key(graph), tuned=False, **changes)
        nodes, y = found(graph, asked, y)
        weights = as_weights(sample_weight, asked, len(nodes))
        if weights is not None and y.shape == nodes.shape:
            counts = weights > 0
            nodes, y, weights = positions(nodes[counts]), y[counts], weights[counts]
        classes, given = labelled(nodes, y, graph, validation)
        run = Run(seeds, place, life_signs(self.verbose), self.checkpoint, threads=self.threads)
        task = NodeTask(graph, given, tuple(classes.tolist()), run, by_node(weights, nodes, graph.n_nodes))
        warn_of_single_nodes(task)
        fitted = fit_in_folds(task, methods, self.folds) if validation is None else fit_best(task, methods)
        advise_longer_training(fitted.model)
        self._take(fitted, classes)
        self._validation = given.validation, given.validation_labels
        return self

    def _take(self, on: ModelOnGraph, classes: np.ndarray) -> Self:
        """Become the estimator of a model on the graph it learned from."""
        return self._become(on.model, classes, str(on.place.device), on)

    def _become(self, model: Model, classes: np.ndarray, device: str, on: ModelOnGraph | None = None) -> Self:
        """Become the estimator of a model, whose graph need not be at hand."""
        self.model_, self.classes_, self.history_ = model, classes, model.history
        # random_state=seeds_[0] and threads=threads_ repeat the run; a file does not say its threads.
        self.seeds_, self.threads_ = model.seeds, model.threads
        self.n_features_in_ = 1  # X is one column: the node
        self._device, self._on_own_graph = device, on
        self._validation = np.empty((1, 0), np.int64), np.empty((1, 0), np.int64)  # nodes, class numbers
        self._on_other_graph: ModelOnGraph | None = None  # the last that was asked about
        return self

    def add_labels(self, X: Any, y: Any) -> Self:
        """The same model with more labelled nodes, of known classes or new ones, without training.

        For models that answer by nearest centroids (k1, k2, similarity, objective="kernel"): a class is the
        mean of its labelled nodes, so that a few of a new class make one. This estimator stays as it is.
        """
        known = self._on(None)
        nodes, classes = found(known.graph, as_nodes(X), as_classes(y))
        require_classes(nodes, classes, known.graph, "labelled", self.classes_)
        told = with_labels(known, nodes, classes)
        grown = copy(self)
        return grown._become(told.model, np.array(told.model.classes), str(told.place.device), told)

    def extend(
        self, graph: Graph | None, nodes: Any, edges: Any, *, names: Any = None, encoding: str | None = None
    ) -> Self:
        """The same model after nodes and edges arrived, as :func:`kernode.extend` takes them.

        Answers equal those computed on the whole larger graph, degrees of old neighbours included; computed
        anew is only what can differ (``recomputed_``: those nodes). ``graph`` is the one that grows, None for
        the one that was learned from; ``graph_`` of what comes back is the larger one. Nearest centroids are
        means of the training nodes as they are in the larger graph; ``predict(…, graph=larger)`` has them as
        they were trained. This estimator stays as it is.
        """
        known = self._on(graph)
        grown = copy(self)
        grown._on_own_graph = known.extended(
            extend(known.graph, nodes, edges, names=names, encoding=encoding)
        )
        grown._on_other_graph = None
        return grown

    @property
    def graph_(self) -> Graph:
        """The graph that answers are about where no other is given."""
        return self._on(None).graph

    @property
    def recomputed_(self) -> np.ndarray:
        """Nodes whose vectors were computed when the graph last grew; all of them where it did not."""
        found = self._on(None).recomputed
        return np.arange(self.graph_.n_nodes) if found is None else found

    def save(self, path: str | Path, *, with_graph: bool = False) -> Path:
        """Write the model to one .safetensors file, which :func:`kernode.load_model` reads.

        It holds weights, settings, class names and what was done to a table's columns. ``with_graph``: also
        ``graph_`` with all that it holds, labels included; whoever reads the file then needs no other, and
        can :meth:`extend` it.
        """
        check_is_fitted(self, "model_")
        if not with_graph:
            return self.model_.save(path)
        on = self._on(None)
        if not on.has_training_nodes:
            raise InputError(
                f"the model was read with {on.graph.name!r}, which is not the graph it learned from. Save it "
                f"without with_graph=, or read it with {self.model_.dataset!r}."
            )
        return self.model_.save(path, on.graph)

    def _on(self, graph: Graph | None) -> ModelOnGraph:
        """The model on a graph; None is the one that was learned from."""
        check_is_fitted(self, "model_")
        own, other = self._on_own_graph, self._on_other_graph
        if graph is None and own is None:
            raise InputError(
                f"the model was read without {self.model_.dataset!r}, the graph it learned from. Pass "
                "graph=, or read it with load_model(…, graph=…); save(…, with_graph=True) keeps it."
            )
        if own is not None and (graph is None or graph is own.graph):
            return own
        graph = require_graph(graph)
        if other is None or other.graph is not graph:
            # Where it computes now: a pickle may have come from a machine with another device.
            device = self._device if own is None else str(own.place.device)
            other = self._on_other_graph = self.model_.on(graph, device)
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Without what is known of the last other graph: it can be asked about again."""
        state = dict(super().__getstate__())
        return state | {"_on_other_graph": None} if "_on_other_graph" in state else state

    def __sklearn_tags__(self) -> Any:
        """One list or column of names or indices, from 0 on, and the class of each."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        given = tags.input_tags
        given.one_d_array = given.two_d_array = given.string = given.categorical = given.positive_only = True
        return tags
