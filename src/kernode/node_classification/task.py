"""What is to be learned: a graph, the nodes that train and those that validate, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io import Split
from kernode.training.run import Run

ALL_LABELLED = "all labelled nodes"  # what a model says of its split where nothing was held out


@dataclass(frozen=True)
class LabelledNodes:
    """Nodes that train and nodes that validate: arrays q × m, q = 1 where all replicas share them, else r."""

    train: np.ndarray
    train_labels: np.ndarray
    validation: np.ndarray
    validation_labels: np.ndarray  # −1: a class that no training node has, wrong whatever is answered

    def __post_init__(self) -> None:
        for nodes, labels in (
            (self.train, self.train_labels),
            (self.validation, self.validation_labels),
        ):
            if nodes.shape != labels.shape or nodes.ndim != 2:
                raise InputError(f"nodes and labels must have one shape. Got {nodes.shape}, {labels.shape}.")
        if (self.train_labels < 0).any():
            node = self.train[self.train_labels < 0][0]
            raise InputError(f"node {node} has no label: keep it out of the training nodes.")
        if self.train.shape[1] == 0:
            raise InputError("there are no training nodes. Give at least one labelled node per class.")

    @classmethod
    def without_validation(cls, nodes: np.ndarray, labels: np.ndarray) -> LabelledNodes:
        """All nodes (m) train."""
        none = np.empty((1, 0), np.int64)
        return cls(nodes[None], labels[None], none, none)

    @property
    def validates(self) -> bool:
        """Whether there are validation nodes."""
        return self.validation.shape[1] > 0

    def of(self, replicas: slice | np.ndarray) -> LabelledNodes:
        """The nodes of some of the replicas."""
        if len(self.train) == 1 and len(self.validation) == 1:
            return self
        return LabelledNodes(
            self.train[replicas],
            self.train_labels[replicas],
            self.validation[replicas],
            self.validation_labels[replicas],
        )

    def repeated(self, times: int) -> LabelledNodes:
        """The same rows so many times, for as many more replicas."""
        return self.of(np.tile(np.arange(len(self.train)), times))


@dataclass(frozen=True)
class NodeTask:
    """The classes of a graph's nodes, to be learned from some of them."""

    graph: Graph
    nodes: LabelledNodes
    classes: tuple[Any, ...]  # what the c class numbers of the nodes stand for
    run: Run
    weights: np.ndarray | None = None  # n: how much each node counts where it trains; None: all alike

    @classmethod
    def of_splits(cls, graph: Graph, splits: list[Split], run: Run) -> NodeTask:
        """Training and validation nodes of every replica; one row where all share a split.

        Only training nodes say which classes there are: no other label may shape a model.
        """
        distinct = splits[:1] if all(split is splits[0] for split in splits) else splits
        train = np.stack([split.train for split in distinct])
        validation = np.stack([split.validation for split in distinct])
        labels = np.unique(graph.labels[train])
        labels = labels[labels >= 0]
        numbers = np.full(graph.n_classes + 1, -1)  # its last entry is for −1, no label
        numbers[labels] = np.arange(len(labels))
        nodes = LabelledNodes(
            train, numbers[graph.labels[train]], validation, numbers[graph.labels[validation]]
        )
        return cls(graph, nodes, tuple(graph.class_names[label] for label in labels), run)

    @property
    def train_weights(self) -> np.ndarray | None:
        """Weights of the training nodes, q × m; None where all count alike."""
        return None if self.weights is None else self.weights[self.nodes.train]

    def of(self, replicas: slice) -> NodeTask:
        """The same for some of the replicas."""
        own = self.run.with_seeds(self.run.seeds[replicas])
        return replace(self, nodes=self.nodes.of(replicas), run=own)

    def with_run(self, run: Run) -> NodeTask:
        """The same, run otherwise."""
        return replace(self, run=run)

    def single_node_classes(self) -> list[Any]:
        """Classes with a single training node in some replica."""
        rows = (np.bincount(row, minlength=len(self.classes)) for row in self.nodes.train_labels)
        return [self.classes[i] for i in np.flatnonzero((np.stack(list(rows)) == 1).any(axis=0))]
