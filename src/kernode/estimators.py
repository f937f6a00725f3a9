"""scikit-learn's contract at the front: X is an array of nodes, the graph a keyword of ``fit``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kernode.checkpoint import Checkpoint
from kernode.data import load_graph
from kernode.data.registry import is_registered
from kernode.errors import InputError
from kernode.experiment import settings_key
from kernode.graph import Graph, checked_nodes
from kernode.kernels import BaseKernel
from kernode.lesson import Lesson
from kernode.maps import FeatureMap
from kernode.method import Objective
from kernode.model import Answers, Model
from kernode.node_kernel import NodeKernel
from kernode.settings import PerReplica, seeds_from
from kernode.sparse import Place
from kernode.variants import configure


class NodeKernelClassifier(ClassifierMixin, BaseEstimator):
    """Learns a kernel on the nodes of a graph and classifies nodes with it.

    Start from a ``variant`` of the paper and change what you like; None leaves a setting as the variant
    has it. With ``replicas`` > 1 that many models train together, with seeds ``random_state`` + i, and
    answers are the mean over them. Without validation nodes a seeded part of the training nodes
    (``holdout``) is held out to choose the epoch.

    >>> import kernode as kn
    >>> graph, split = kn.load("cora", split="fastgcn")
    >>> model = kn.NodeKernelClassifier(variant="n1", epochs=30)
    >>> model = model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    >>> bool(model.score(split.test, graph.labels[split.test]) > 0.7)
    True
    >>> model.kernel_.gram(split.test[:3]).shape
    (3, 3)
    """

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

    def fit(self, nodes: Any, y: Any, *, graph: Graph, validation: Any = None) -> Self:
        """Learn from nodes (m indices) and their classes y.

        ``validation``: nodes that choose the epoch, with the graph's own labels, or a pair (nodes, classes).
        """
        if not isinstance(graph, Graph):
            raise InputError(f"graph must be a kernode.Graph. Got {type(graph).__name__}.")
        seeds = seeds_from(self.random_state, self.replicas)
        changes = {name: getattr(self, name) for name in self._get_param_names() if name not in self._OWN}
        method, training = configure(self.variant, settings_key(graph), tuned=False, **changes)
        place = Place.of(self.precision, self.device)
        nodes = checked_nodes(nodes, graph.n_nodes)
        lesson = self._lesson(nodes, np.asarray(y), graph, validation, training.selection)
        self.model_ = Model.learn(
            graph, method, training, lesson, seeds, place, tuple(self.classes_.tolist()),
            checkpoint=self.checkpoint, variant=self.variant,
        )  # fmt: skip
        self._answers = self.model_.on(graph, place.device.type)
        self.history_ = self.model_.history
        return self

    def _lesson(
        self, nodes: np.ndarray, y: np.ndarray, graph: Graph, validation: Any, selection: str
    ) -> Lesson:
        if nodes.ndim != 1 or y.shape != nodes.shape:
            raise InputError(f"nodes and y must be two lists of one length. Got {nodes.shape} and {y.shape}.")
        if len(nodes) == 0:
            raise InputError("there are no training nodes. Give at least one labelled node per class.")
        if y.dtype.kind in "iu" and (y < 0).any():
            raise InputError(f"node {nodes[y < 0][0]} has no label: keep it out of the training nodes.")
        if validation is None and selection == "best":
            held_out = self._held_out(y)
            validation = nodes[held_out], y[held_out]
            nodes, y = nodes[~held_out], y[~held_out]
        self.classes_ = np.unique(y)
        chosen, chosen_labels = _with_labels(validation, y, graph)
        return Lesson(
            nodes[None],
            np.searchsorted(self.classes_, y)[None],
            chosen[None],
            _numbered(chosen_labels, self.classes_)[None],
            len(self.classes_),
        )

    def _held_out(self, y: np.ndarray) -> np.ndarray:
        """A seeded part of the training nodes, never a class's last one."""
        if not 0 < self.holdout < 1:
            raise InputError(f"holdout must be a share between 0 and 1. Got {self.holdout}.")
        random = np.random.Generator(np.random.PCG64(self.random_state))
        held_out = np.zeros(len(y), dtype=bool)
        for members in (np.flatnonzero(y == one) for one in np.unique(y)):
            count = min(len(members) - 1, round(self.holdout * len(members)))
            held_out[random.permutation(members)[:count]] = True
        if not held_out.any():
            raise InputError(
                f"{len(y)} training nodes are too few to hold some out. Pass validation= or selection='last'."
            )
        return held_out

    def predict_proba(self, nodes: Any) -> np.ndarray:
        """Class probabilities, the mean over replicas: m × c."""
        answers = self._on_graph()
        nodes = checked_nodes(nodes, answers.graph.n_nodes)
        if nodes.ndim != 1:
            raise InputError(f"nodes must be one list of indices. Got shape {nodes.shape}.")
        return answers.probabilities(nodes).mean(axis=0)

    def predict(self, nodes: Any) -> np.ndarray:
        """The most probable class of each node."""
        best = self.predict_proba(nodes).argmax(axis=1)
        return self.classes_[best]

    def score(self, nodes: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy as scikit-learn has it: a fraction, for cross_val_score and GridSearchCV.

        Everything that kernode itself prints or writes is in percent. Where the model knows classes by
        name (as ``kernode fit`` trains it), y may hold the graph's numbers.
        """
        y, answers = np.asarray(y), self._on_graph()
        if y.dtype.kind in "iu" and self.classes_.dtype.kind == "U":
            y = np.array([*answers.graph.class_names, ""])[y]
        return float(super().score(nodes, y, sample_weight))

    @property
    def kernel_(self) -> NodeKernel:
        """K(u, v) on the graph's nodes: p.s.d., for any kernel machine."""
        return self._on_graph().kernel

    def save(self, path: str | Path) -> Path:
        """Write the model to one .safetensors file."""
        check_is_fitted(self, "model_")
        return self.model_.save(path)

    def _on_graph(self) -> Answers:
        check_is_fitted(self, "model_")
        return self._answers


def load_model(path: str | Path, graph: Graph | None = None, device: str = "cpu") -> NodeKernelClassifier:
    """Read a model that :meth:`NodeKernelClassifier.save` or ``kernode fit`` wrote.

    The graph of a built-in data set is found by its name; any other must be given.
    """
    model = Model.load(path)
    if graph is None:
        if not is_registered(model.dataset):
            raise InputError(f"{path} was trained on {model.dataset!r}: pass that graph as graph=.")
        graph = load_graph(model.dataset)
    settings = {
        name: value
        for piece in (model.method, model.training)
        for name, value in vars(piece).items()
        if name in NodeKernelClassifier._get_param_names()
    }
    estimator = NodeKernelClassifier(
        model.labels_of_choice.get("variant", "k3"),
        **settings,
        replicas=len(model.seeds),
        random_state=model.seeds[0],
        precision=model.precision,
        device=device,
    )
    estimator.model_ = model
    estimator.classes_ = np.array(model.classes)
    estimator.history_ = model.history
    estimator._answers = model.on(graph, Place.of(model.precision, device).device.type)
    return estimator


def _with_labels(validation: Any, y: np.ndarray, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Validation nodes and their classes: as given in a pair, or the graph's own."""
    if validation is None:
        return np.empty(0, np.int64), y[:0]
    if isinstance(validation, tuple) and len(validation) == 2 and np.ndim(validation[0]) == 1:
        nodes, labels = checked_nodes(validation[0], graph.n_nodes), np.asarray(validation[1])
        if nodes.shape != labels.shape:
            raise InputError(f"validation nodes and classes must match. Got {nodes.shape}, {labels.shape}.")
        return nodes, labels
    nodes = checked_nodes(validation, graph.n_nodes)
    if (graph.labels[nodes] < 0).any():
        node = nodes[graph.labels[nodes] < 0][0]
        raise InputError(f"node {node} has no label: keep it out of the validation nodes.")
    if y.dtype.kind in "iu":
        return nodes, graph.labels[nodes]
    if y.dtype.kind == "U":
        return nodes, np.array(graph.class_names)[graph.labels[nodes]]
    raise InputError(f"classes of type {y.dtype} are not the graph's own: pass validation=(nodes, classes).")


def _numbered(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Positions of labels among the classes, −1 for a class that is not there."""
    at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[at] == labels, at, -1)
