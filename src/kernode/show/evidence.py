"""All that pictures and the report need of a model on a graph: classes, answers, and who was tested."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernode.errors import InputError, warn
from kernode.graph import Graph, typed_names
from kernode.graph.lookup import as_classes, as_nodes, found
from kernode.metrics.accuracy import class_figures
from kernode.node_classification.model import Model
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.report import judge
from kernode.node_classification.task import LabelledNodes
from kernode.show.node_parts import NodeParts


@dataclass(frozen=True)
class Answers:
    """What was answered about test nodes, those of all runs one after the other where runs differ: m each."""

    truth: np.ndarray
    found: np.ndarray
    confidence: np.ndarray
    of: str  # whose answers they are, in words

    @property
    def right(self) -> np.ndarray:
        """Whether each answer is the true class."""
        return self.truth == self.found

    @property
    def accuracy(self) -> float:
        """Percent."""
        return 100 * float(self.right.mean())


@dataclass(frozen=True)
class Evidence:
    """A model on a graph: n nodes, the classes they are known to have, and the parts they were in.

    Class numbers are those of ``names``: the model's own classes first, then those that no run can find.
    """

    on: ModelOnGraph
    names: tuple[str, ...]
    known: np.ndarray  # n: the class that the graph says, −1 where it says none
    parts: NodeParts
    truth: np.ndarray | None  # q × t: the true classes of the test nodes

    @classmethod
    def of(cls, on: ModelOnGraph, X: Any = None, y: Any = None) -> Evidence:
        """With the test nodes that the model knows of, or nodes X and classes y, the graph's own if None."""
        names, known = known_classes(on)
        parts = NodeParts.of(on)
        if parts.test is not None and (known[parts.test] < 0).any():
            parts = replace(parts, test=None, without_test="the graph's classes are not those of the model")
        if X is None:
            if y is not None:
                raise InputError("y has the classes of the nodes in X: give X, too.")
            return cls(on, names, known, parts, None if parts.test is None else known[parts.test])
        return cls._about(on, names, known, parts, X, y)

    @classmethod
    def _about(
        cls, on: ModelOnGraph, names: tuple[str, ...], known: np.ndarray, parts: NodeParts, X: Any, y: Any
    ) -> Evidence:
        if y is None:
            nodes = np.asarray(on.find(X))
            truth = known[nodes]
            if (truth < 0).any():
                node = node_names(on.graph, nodes[truth < 0][:1])[0]
                raise InputError(f"node {node} has no known class here. Give y, or leave it out of X.")
        else:
            nodes, given = found(on.graph, as_nodes(X), as_classes(y))
            if nodes.shape != given.shape:
                raise InputError(
                    f"X and y must be two lists of one length. Got {nodes.shape}, {given.shape}."
                )
            names, truth = _numbered(names, on, given)
        if not len(nodes):
            raise InputError("X names no node. Give those whose answers are to be judged.")
        if taught := int(parts.taught(on.graph.n_nodes)[nodes].sum()):
            warn(f"{taught:,} of the {len(nodes):,} nodes taught some run: the picture flatters.")
        asked = NodeParts(parts.train, parts.validation, np.asarray(nodes)[None])
        return cls(on, names, known, asked, truth[None])

    @property
    def model(self) -> Model:
        """What was trained."""
        return self.on.model

    @property
    def graph(self) -> Graph:
        """What it is asked about."""
        return self.on.graph

    @cached_property
    def chances(self) -> np.ndarray:
        """How likely each of the model's classes is, by all runs together: n × c."""
        return self.on.chances()

    @cached_property
    def found(self) -> np.ndarray:
        """The most probable class of every node: n."""
        return self.chances.argmax(axis=1)

    @cached_property
    def shown_run(self) -> ModelOnGraph:
        """What is drawn in a plane: all runs together, or the first where runs have splits of their own.

        A node that one run was tested on may have taught another, so that all runs together know it.
        """
        return self.on.of_replicas([0]) if self.parts.own_splits else self.on

    @property
    def tested(self) -> np.ndarray:
        """The test nodes, q × t; a sentence where there are none."""
        if self.parts.test is None or self.truth is None:
            raise InputError(f"there are no test nodes to judge answers by: {self.parts.without_test}.")
        return self.parts.test

    @cached_property
    def answers(self) -> Answers:
        """What is answered about test nodes: by all runs together, or by each where runs differ in them."""
        tested, model = self.tested, self.model
        assert self.truth is not None
        by_run = self.on.probabilities(tested)  # r × t × c
        r = len(by_run)
        if len(tested) == 1:
            chances, truth = model.as_chances(by_run.mean(axis=0)), self.truth[0]
            of = "one run" if r == 1 else f"{r} runs together"
        else:
            by_run = by_run if model.calibration is None else model.calibration.of_runs(by_run)
            chances, truth = by_run.reshape(-1, by_run.shape[-1]), self.truth.ravel()
            of = f"{r} runs, each on test nodes of its own"
        return Answers(truth, chances.argmax(axis=1), chances.max(axis=1).astype(np.float64), of)

    @cached_property
    def confusion(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Who is taken for whom: names of classes that occur, and counts with the true class in the row."""
        truth, answered = self.answers.truth, self.answers.found
        figures = class_figures([truth], [answered], range(len(self.names)))
        present = [one["class"] for one in figures["classes"]]
        return tuple(self.names[c] for c in present), np.array(figures["confusion"])

    @cached_property
    def judged(self) -> dict[str, Any]:
        """Accuracy on test nodes and what stands beside it, as ``kernode fit --json`` prints it."""
        tested = self.tested
        assert self.truth is not None
        return judge(self.on, tested, self.truth, self.given, self.names)

    @property
    def given(self) -> LabelledNodes:
        """Nodes that trained and validated; who chose without a known class is left out."""
        model, validation = self.model, self.parts.validation
        if validation is None or not validation.shape[1] or (self.known[validation] < 0).any():
            validation = np.empty((1, 0), np.int64)
        labels = self.known[validation]
        labels = np.where(labels < len(model.classes), labels, -1)
        return LabelledNodes(np.asarray(model.train), model.train_labels, validation, labels)


def known_classes(on: ModelOnGraph) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of all classes, the model's first, and the class of each node as the graph has it (n, or −1).

    A model may have been taught the graph's classes by name or by number. Where it was taught something else,
    or nobody can tell what its numbers mean here, only its training nodes have a known class.
    """
    graph, model = on.graph, on.model
    own = _as_names(model.classes, graph)
    if own is not None:
        names = (*own, *(name for name in graph.class_names if name not in own))
        numbers = np.array([*(names.index(name) for name in graph.class_names), -1])
        known = numbers[graph.labels]
        if _are_the_graphs(known, on):
            return names, known
    known = np.full(graph.n_nodes, -1)
    if on.has_training_nodes:
        known[model.train.ravel()] = model.train_labels.ravel()
    return tuple(str(one) for one in model.classes), known


def _as_names(classes: tuple[Any, ...], graph: Graph) -> tuple[str, ...] | None:
    """A model's classes as the graph calls them; None where they are neither its names nor its numbers."""
    if all(isinstance(one, str) for one in classes):
        return tuple(classes) if set(classes) & set(graph.class_names) else None
    if all(isinstance(one, int | np.integer) and 0 <= one < graph.n_classes for one in classes):
        return tuple(graph.class_names[one] for one in classes)
    return None


def _are_the_graphs(known: np.ndarray, on: ModelOnGraph) -> bool:
    """Whether the graph's classes, as the model would number them (n), are those that it was taught.

    Training nodes tell, where they are here and some have a class. Where they cannot, names speak for
    themselves, and numbers do not: every other target has a 0 and a 1, too.
    """
    model = on.model
    told = known[model.train] if on.has_training_nodes else np.array([-1])
    there = told >= 0
    if not there.any():
        return isinstance(model.classes[0], str)
    return bool((told[there] == model.train_labels[there]).all())


def _numbered(names: tuple[str, ...], on: ModelOnGraph, y: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Classes as a user gives them, as numbers of the names, to which those that no run knows are added."""
    classes, graph = list(on.model.classes), on.graph
    told: list[str] = []
    for one in y.tolist():
        if one in classes:
            told.append(names[classes.index(one)])
        elif isinstance(one, int) and not isinstance(classes[0], int) and 0 <= one < graph.n_classes:
            told.append(graph.class_names[one])  # the graph's numbers, where the model has names
        else:
            told.append(str(one))
    if not set(told) & set(names):
        raise InputError(
            f"no class in y, such as {y.tolist()[0]!r}, is one of the model's, such as {classes[0]!r}. Give "
            "the classes as the model learned them."
        )
    names = (*names, *(name for name in dict.fromkeys(told) if name not in names))
    number = {name: i for i, name in enumerate(names)}
    return names, np.array([number[name] for name in told])


def node_names(graph: Graph, nodes: np.ndarray) -> list[str]:
    """What nodes are called: their names, or their numbers where they have none."""
    nodes = np.asarray(nodes)
    names = nodes if graph.node_names is None else typed_names(graph.node_names)[nodes]
    return [str(name) for name in names.tolist()]
