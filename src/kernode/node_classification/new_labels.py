"""Labels that come after training: nearest centroids take them as they are, new classes included."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.errors import InputError
from kernode.losses.nodes_by_class import NodesByClass
from kernode.node_classification.centroids import references
from kernode.node_classification.method import Method

if TYPE_CHECKING:
    from kernode.node_classification.model_on_graph import ModelOnGraph


def with_labels(on: ModelOnGraph, nodes: np.ndarray, y: np.ndarray) -> ModelOnGraph:
    """The same model with more labelled nodes: centroids are means over these, too, and g stays as it is.

    A node that has been labelled before takes its new class. Classes that are new come last.
    Probabilities are not calibrated any more.
    """
    method, model = on.model.method, on.model
    if not isinstance(method, Method) or method.classifier != "centroid":
        raise InputError(
            f"{model.variant or method.title} does not answer by nearest centroids: it learns its classes in "
            "training. Train with variant='k1' or 'similarity', or objective='kernel', to add labels later."
        )
    if not on.has_training_nodes:
        raise InputError(f"labels are added to {model.dataset!r}, the graph that the model learned from.")
    if nodes.shape != y.shape or not len(nodes):
        raise InputError(f"nodes and y must be two lists of one length. Got {nodes.shape} and {y.shape}.")
    if len(np.unique(nodes)) < len(nodes):
        raise InputError("a node is given twice. List each node once.")
    known = list(model.classes)
    if known and isinstance(known[0], str) != isinstance(y.tolist()[0], str):
        raise InputError(
            f"classes such as {y.tolist()[0]!r} are not of the kind of the model's, such as {known[0]!r}. "
            "Give them as the model has them."
        )
    new: list[Any] = [one for one in dict.fromkeys(y.tolist()) if one not in known]
    classes = (*known, *new)
    numbers = np.array([classes.index(one) for one in y.tolist()])
    train, labels, weights = _joined(model.train, model.train_labels, model.train_weights, nodes, numbers)
    members = NodesByClass.of(train, labels, len(classes), on.place.device, weights)
    held = references(method.kernel, on.g, members).cpu()
    told = replace(
        model, train=train, train_labels=labels, train_weights=weights, classes=classes, references=held,
        calibration=None,  # it was fitted on answers by other centroids
    )  # fmt: skip
    return replace(on, model=told, known_g=on.g, prepared=None)


def _joined(
    train: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, nodes: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Training nodes (q × m) and labels with more of them; who has a new class has it in every row."""
    labels = labels.copy()
    for node, number in zip(nodes.tolist(), numbers.tolist(), strict=True):
        labels[train == node] = number
    # A node may train in some replicas alone: as rows must be of one length, it then counts twice in none.
    inside = np.array([np.isin(nodes, row) for row in train])  # q × new
    if (inside.any(axis=0) != inside.all(axis=0)).any():
        raise InputError(
            "some of these nodes trained some runs and not others, as runs had splits of their own. "
            "Leave them out, or train with one split."
        )
    fresh = ~inside[0]
    q = len(train)
    more = np.tile(nodes[fresh], (q, 1)), np.tile(numbers[fresh], (q, 1))
    if weights is not None:
        weights = np.concatenate([weights, np.ones((q, int(fresh.sum())))], axis=1)
    return np.concatenate([train, more[0]], axis=1), np.concatenate([labels, more[1]], axis=1), weights
