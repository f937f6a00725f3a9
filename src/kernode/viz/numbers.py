"""Everything that pictures, the report and the explorer need of a model of numbers on a graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from kernode.errors import InputError
from kernode.graph.lookup import require_aligned
from kernode.tasks.numbers.evaluation import COVERAGE, evaluate
from kernode.tasks.numbers.model import Interval, NumberModel, NumbersOnGraph
from kernode.viz.evaluation import EvaluationData, NodeParts, NodesInPlane, warn_of_training
from kernode.viz.layout import Layout


@dataclass(frozen=True)
class NumberEvaluation(NodesInPlane):
    """A model of numbers on a graph of n nodes: parts of the split, predictions."""

    about: ClassVar = "numbers"

    on: NumbersOnGraph
    parts: NodeParts
    truth: np.ndarray | None  # t true numbers of the test nodes
    layout: Layout = "tsne"

    @classmethod
    def of(cls, on: NumbersOnGraph, X: Any = None, y: Any = None, *, layout: Layout = "tsne") -> Self:
        """Evaluate on the model's test nodes, or on nodes X with numbers y (default: those of the graph)."""
        targets, model = on.graph.targets, on.model
        if X is not None:
            parts = NodeParts(model.train, model.held, None)
            nodes, truth = _given_nodes(on, X, y)
            warn_of_training(parts, on.graph, nodes)
            return cls(on, NodeParts(model.train, model.held, nodes[None]), truth, layout)
        if y is not None:
            raise InputError("y has the numbers of the nodes in X: give X, too.", "missing", setting="X")
        test, why = model.tested, ""
        if test is None or not test.shape[1]:
            why = "the model has no test nodes"
        elif np.isin(test, model.train).any():
            why = "its test nodes have been used for training since"
        elif targets is None or not np.isfinite(targets[test]).all():
            why = "the graph does not have the numbers of its test nodes"
        if why or test is None or targets is None:
            return cls(on, NodeParts(model.train, model.held, None, why), None, layout)
        return cls(on, NodeParts(model.train, model.held, test), targets[test[0]], layout)

    @property
    def model(self) -> NumberModel:
        """The fitted model."""
        return self.on.model

    @property
    def target(self) -> str:
        """What the numbers are."""
        return self.model.target_name or "number"

    @cached_property
    def known(self) -> np.ndarray:
        """Number of each node in the graph or the model, NaN if unknown: n."""
        own = self.graph.targets
        found = np.full(self.graph.n_nodes, np.nan) if own is None else own.copy()
        found[self.model.train[0]] = self.model.targets[0]
        if self.truth is not None:
            found[self.test_nodes] = self.truth
        return found

    @cached_property
    def numbers(self) -> np.ndarray:
        """Predicted number of every node: n."""
        return self.on.numbers(np.arange(self.graph.n_nodes))

    @cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviation of the number of every node: n."""
        return self.on.deviations(np.arange(self.graph.n_nodes))

    @property
    def test_nodes(self) -> np.ndarray:
        """The test nodes: t."""
        if self.parts.test is None or self.truth is None:
            raise self.without_test()
        return self.parts.test[0]

    @property
    def residuals(self) -> np.ndarray:
        """True minus predicted numbers of the test nodes: t."""
        nodes = self.test_nodes
        assert self.truth is not None
        return self.truth - self.numbers[nodes]

    @property
    def interval(self) -> Interval:
        """The method of intervals that are shown: the first with enough errors."""
        return self.on.interval_for(COVERAGE)

    @cached_property
    def intervals(self) -> np.ndarray:
        """90 % interval of every node: n × 2."""
        return self.on.intervals(np.arange(self.graph.n_nodes), COVERAGE, self.interval)

    @cached_property
    def scores(self) -> dict[str, Any]:
        """Test scores and baselines, as a report has them."""
        nodes = self.test_nodes
        assert self.truth is not None
        return evaluate(self.on, nodes, self.truth)


def _given_nodes(on: NumbersOnGraph, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Nodes X and their numbers, y or those of the graph."""
    from kernode.estimators.regressor import as_numbers

    require_aligned(X, y=y)
    nodes = on.find(X)
    if y is not None:
        return nodes, as_numbers(y, len(nodes))
    targets = on.graph.targets
    if targets is None or not len(nodes) or not np.isfinite(targets[nodes]).all():
        raise InputError("X is empty, or has a node without a known number. Give y.", "missing", setting="y")
    return nodes, targets[nodes]


def about_of(on: Any) -> str:
    """What a model on a graph predicts: "classes" or "numbers"."""
    return "numbers" if isinstance(on, NumbersOnGraph) else "classes"


def evaluation_of(
    on: Any, X: Any = None, y: Any = None, *, layout: Layout = "tsne"
) -> EvaluationData | NumberEvaluation:
    """Evaluate a model of classes or of numbers."""
    if isinstance(on, NumbersOnGraph):
        return NumberEvaluation.of(on, X, y, layout=layout)
    return EvaluationData.of(on, X, y, layout=layout)
