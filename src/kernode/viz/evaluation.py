"""Everything that pictures, the report and the explorer need of a model of classes on a graph.

This is the one place that knows how a model stores its classes, its split and its probabilities;
``viz/numbers.py`` is that of a model of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from kernode.errors import InputError, warn
from kernode.explain.explain import names_of
from kernode.graph import Graph
from kernode.metrics.accuracy import accuracy
from kernode.tasks.classes.evaluation import evaluate
from kernode.tasks.classes.labels import nodes_and_classes
from kernode.tasks.classes.model import ClassNames, NodeModel
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.task import LabelledNodes
from kernode.viz.layout import Layout, node_positions

TRAIN, VALIDATION, TEST, OTHER = range(4)
PARTS = ("training", "validation", "test", "in no part")
_NONE = np.empty((1, 0), np.int64)


@dataclass(frozen=True)
class NodeParts:
    """Training, validation and test nodes: one row per replica, or a single row that all replicas share."""

    train: np.ndarray  # q × m
    validation: np.ndarray | None  # q × v; None: not known
    test: np.ndarray | None  # q × t; None: not known, or there are none
    without_test: str = ""  # the reason why there are no test nodes

    @classmethod
    def of(cls, on: NodeModelOnGraph) -> NodeParts:
        """Read the parts from the model."""
        model, graph = on.model, on.graph
        if not on.has_training_nodes:
            why = f"{graph.name!r} is not {model.dataset!r}, the graph that the model learned from"
            return cls(_NONE, None, None, why)
        train, test, why = np.asarray(model.train), model.tested, ""
        if test is None or not test.shape[1]:
            why = (
                "the model file does not list its test nodes"
                if model.split
                else "the model has no test nodes"
            )
            if len(np.unique(train)) >= int((graph.labels >= 0).sum()):
                why = "every labelled node is a training node"
        elif any(np.isin(own, taught).any() for own, taught in zip(test, train, strict=True)):
            why = "its test nodes have been used for training since"
        elif (on.classes.known[test] < 0).any():
            why = "some test nodes have no class of the model in this graph"
        return cls(train, model.validation, None if why else test, why)

    @property
    def own_splits(self) -> bool:
        """True if replicas have their own splits: a test node of one may be a training node of another."""
        return len(self.train) > 1

    def of_nodes(self, n: int, run: int = 0) -> np.ndarray:
        """Return the part of each node in one run: n of :data:`TRAIN`, :data:`VALIDATION`, …"""
        part = np.full(n, OTHER)
        for code, rows in ((TEST, self.test), (VALIDATION, self.validation), (TRAIN, self.train)):
            if rows is not None:
                part[rows[min(run, len(rows) - 1)]] = code
        return part

    def is_training(self, n: int) -> np.ndarray:
        """Return a mask of the nodes that any run was trained on: n."""
        mask = np.zeros(n, bool)
        mask[self.train.ravel()] = True
        return mask


@dataclass(frozen=True)
class Predictions:
    """Predictions for the test nodes, those of all replicas in a row if their splits differ: m each."""

    truth: np.ndarray
    predicted: np.ndarray
    confidence: np.ndarray
    of: str  # which runs made them

    @property
    def correct(self) -> np.ndarray:
        """Mask of the correct predictions."""
        return self.truth == self.predicted

    @property
    def accuracy(self) -> float:
        """Percent."""
        return float(accuracy(self.predicted, self.truth))


class NodesInPlane:
    """What models of classes and of numbers share: the graph, a layout of its nodes, their names."""

    on: Any
    parts: NodeParts
    layout: Layout

    @property
    def graph(self) -> Graph:
        """The graph that the model is applied to."""
        return self.on.graph

    @property
    def shown(self) -> Any:
        """The model whose similarities lay nodes out."""
        return self.on

    @cached_property
    def points(self) -> np.ndarray:
        """Coordinates of every node in the plane: n × 2."""
        return node_positions(self.shown, self.layout)

    def names(self, nodes: Any) -> list[str]:
        """Names of nodes as text, or their numbers if the graph has no names."""
        return [str(name) for name in names_of(self.graph, nodes)]

    def without_test(self) -> InputError:
        """The error where test nodes are needed and there are none."""
        why = self.parts.without_test
        return InputError(f"there are no test nodes to evaluate: {why}.", "missing", setting="X")


@dataclass(frozen=True)
class EvaluationData(NodesInPlane):
    """A model of classes on a graph of n nodes: classes, parts of the split, predictions.

    Class numbers are positions in ``class_names``: the model's c classes first, then classes that only the
    graph has.
    """

    about: ClassVar = "classes"

    on: NodeModelOnGraph
    classes: ClassNames
    parts: NodeParts
    truth: np.ndarray | None  # q × t: the true classes of the test nodes
    layout: Layout = "tsne"  # how nodes are laid out

    @classmethod
    def of(cls, on: NodeModelOnGraph, X: Any = None, y: Any = None, *, layout: Layout = "tsne") -> Self:
        """Evaluate on the model's test nodes, or on nodes X with classes y (default: those of the graph)."""
        parts = NodeParts.of(on)
        if X is not None:
            classes, nodes, truth = _given_nodes(on, parts, X, y)
            return cls(on, classes, NodeParts(parts.train, parts.validation, nodes), truth, layout)
        if y is not None:
            raise InputError("y has the classes of the nodes in X: give X, too.", "missing", setting="X")
        return cls(
            on, on.classes, parts, None if parts.test is None else on.classes.known[parts.test], layout
        )

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of all classes, by number."""
        return self.classes.names

    @property
    def known(self) -> np.ndarray:
        """The class of each node in the graph, −1 if unknown: n."""
        return self.classes.known

    @property
    def model(self) -> NodeModel:
        """The trained model."""
        return self.on.model

    @cached_property
    def chances(self) -> np.ndarray:
        """Calibrated class probabilities, the mean of all replicas: n × c."""
        return self.on.calibrated()

    @cached_property
    def shown(self) -> NodeModelOnGraph:
        """The replicas that embedding and Gram matrix show: all, or the first of several with own splits.

        A test node of one run may be a training node of another, so that the mean of all replicas knows it.
        """
        return self.on.of_replicas([0]) if self.parts.own_splits else self.on

    @property
    def shown_runs(self) -> str:
        """The same in words."""
        r = len(self.model.seeds)
        if r == 1:
            return "one replica"
        return f"the first of {r} replicas" if len(self.shown.model.seeds) == 1 else f"{r} replicas together"

    @property
    def test_nodes(self) -> np.ndarray:
        """The test nodes: q × t."""
        if self.parts.test is None or self.truth is None:
            raise self.without_test()
        return self.parts.test

    @cached_property
    def probabilities_on_test(self) -> np.ndarray:
        """Probabilities of every run for the test nodes: r × t × c."""
        return self.on.probabilities(self.test_nodes)

    @cached_property
    def predictions(self) -> Predictions:
        """Predictions for the test nodes: the mean of all replicas, or of each if test nodes differ."""
        by_run, shared = self.probabilities_on_test, len(self.test_nodes) == 1
        assert self.truth is not None
        r, c = len(by_run), by_run.shape[-1]
        chances = self.model.answers(by_run, shared=shared).reshape(-1, c)
        of = f"{r} replicas together" if shared else f"{r} replicas, each on test nodes of its own"
        confidence = chances.max(axis=1).astype(np.float64)
        return Predictions(
            self.truth.ravel(), chances.argmax(axis=1), confidence, "one replica" if r == 1 else of
        )

    @cached_property
    def scores(self) -> dict[str, Any]:
        """Test scores and baselines, as ``kernode fit --json`` prints them."""
        nodes = self.test_nodes
        assert self.truth is not None
        return evaluate(self.on, nodes, self.truth, self.class_names, self.labelled)

    @property
    def labelled(self) -> LabelledNodes:
        """Training and validation nodes; no validation nodes if the graph does not label them."""
        model, validation = self.model, self.parts.validation
        if validation is None or not validation.shape[1] or (self.known[validation] < 0).any():
            validation = _NONE
        labels = self.known[validation]
        labels = np.where(labels < len(model.classes), labels, -1)
        return LabelledNodes(np.asarray(model.train), model.train_labels, validation, labels)


def _given_nodes(
    on: NodeModelOnGraph, parts: NodeParts, X: Any, y: Any
) -> tuple[ClassNames, np.ndarray, np.ndarray]:
    """Classes, nodes (1 × t) and true classes (1 × t) for nodes X with classes y."""
    classes = on.classes
    if y is None:
        nodes = np.asarray(on.find(X))
        truth = classes.known[nodes]
        if not len(nodes) or (truth < 0).any():
            raise InputError(
                "X is empty, or has a node without a known class. Give y.", "missing", setting="y"
            )
    else:
        nodes, given = nodes_and_classes(on.graph, X, y)
        classes, truth = classes.numbered(given.tolist())
        if truth.min() >= len(on.classes.classes):
            raise on.classes.unknown(given.tolist()[0])
    warn_of_training(parts, on.graph, nodes)
    return classes, np.asarray(nodes)[None], truth[None]


def warn_of_training(parts: NodeParts, graph: Graph, nodes: np.ndarray) -> None:
    """Warn where nodes that are evaluated were learned from."""
    if count := int(parts.is_training(graph.n_nodes)[nodes].sum()):
        warn(f"{count:,} of the {len(nodes):,} nodes are training nodes: the picture is optimistic.")
