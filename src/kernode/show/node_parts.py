"""Which nodes taught a model, which chose its epoch, and which were kept for a test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernode.errors import InputError
from kernode.io import Split, split_nodes
from kernode.io.split_file import is_split_file
from kernode.node_classification.model_on_graph import ModelOnGraph

# How a node is marked in pictures, in words.
TRAIN, VALIDATION, TEST, OTHER = range(4)
PARTS = ("training", "validation", "test", "in no part")
_NONE = np.empty((1, 0), np.int64)


@dataclass(frozen=True)
class NodeParts:
    """Nodes by what they were used for: rows are runs, one row where all runs share them."""

    train: np.ndarray  # q × m
    validation: np.ndarray | None  # q × v; None: not known
    test: np.ndarray | None  # q × t; None: not known, or there are none
    without_test: str = ""  # why there are no test nodes, in a sentence

    @classmethod
    def of(cls, on: ModelOnGraph) -> NodeParts:
        """As the model's file says, or as the split of that name comes out again."""
        model = on.model
        if not on.has_training_nodes:
            return cls(_NONE, None, None, _ANOTHER_GRAPH.format(graph=on.graph.name, own=model.dataset))
        train, validation, test = np.asarray(model.train), model.validation, model.tested
        if validation is None:
            validation, test = _split_again(on)
        if test is None or not test.shape[1]:
            return cls(train, validation, None, _why(on, train))
        if any(np.isin(own, taught).any() for own, taught in zip(test, train, strict=True)):
            return cls(train, validation, None, "nodes that were kept for a test have taught the model since")
        if (on.graph.labels[test] < 0).any():
            return cls(train, validation, None, "some test nodes have no class in this graph")
        return cls(train, validation, test)

    @property
    def own_splits(self) -> bool:
        """Whether every run has nodes of its own, so that a node may teach one and test another."""
        return len(self.train) > 1

    def of_nodes(self, n: int, run: int = 0) -> np.ndarray:
        """The part of each node in one run: n of :data:`TRAIN`, :data:`VALIDATION`, …"""
        part = np.full(n, OTHER)
        for code, rows in ((TEST, self.test), (VALIDATION, self.validation), (TRAIN, self.train)):
            if rows is not None:
                part[rows[min(run, len(rows) - 1)]] = code
        return part

    def taught(self, n: int) -> np.ndarray:
        """Whether each node taught any run: n."""
        found = np.zeros(n, bool)
        found[self.train.ravel()] = True
        return found


_ANOTHER_GRAPH = "{graph!r} is not {own!r}, the graph that the model learned from"


def _split_again(on: ModelOnGraph) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Validation and test nodes of a file of before that holds neither: its split by name and seeds.

    Splits depend on labels, which a graph's fingerprint leaves out: only one with the same training nodes is
    the same.
    """
    model = on.model
    if not model.split or is_split_file(model.split):
        return None, None
    try:
        splits = split_nodes(on.graph, model.split, model.seeds)
    except InputError:
        return None, None
    distinct = splits[:1] if len(model.train) == 1 else splits
    same = [
        np.array_equal(split.train, np.sort(row)) for split, row in zip(distinct, model.train, strict=True)
    ]
    return _stacked(distinct) if all(same) else (None, None)


def _stacked(splits: list[Split]) -> tuple[np.ndarray, np.ndarray]:
    parts = ("validation", "test")
    validation, test = (np.stack([np.asarray(getattr(one, part)) for one in splits]) for part in parts)
    return validation, test


def _why(on: ModelOnGraph, train: np.ndarray) -> str:
    """Why no test nodes are known."""
    labelled = int((on.graph.labels >= 0).sum())
    if len(np.unique(train)) >= labelled:
        return "every node with a known class taught the model"
    if on.model.split:  # trained by the command
        return "the model does not say which nodes were kept for a test"
    return "the model was not told of test nodes"
