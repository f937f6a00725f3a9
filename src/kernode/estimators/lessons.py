"""From nodes and their classes to a lesson: which nodes teach, which choose the epoch."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.lesson import Lesson
from kernode.nodes import as_nodes


def teach(
    nodes: np.ndarray, y: np.ndarray, graph: Graph, validation: Any, holdout: float | None, seed: int
) -> tuple[np.ndarray, Lesson]:
    """The classes that there are, and the lesson about them.

    Where no validation nodes are given, a seeded share of the nodes (``holdout``) chooses the epoch; None
    where nothing is to be chosen.
    """
    if y.shape != nodes.shape:
        raise InputError(f"nodes and y must be two lists of one length. Got {nodes.shape} and {y.shape}.")
    if len(nodes) == 0:
        raise InputError("there are no training nodes. Give at least one labelled node per class.")
    if y.dtype.kind in "iu" and (y < 0).any():
        raise InputError(f"node {nodes[y < 0][0]} has no label: keep it out of the training nodes.")
    if validation is None and holdout is not None:
        held_out = _held_out(y, holdout, seed)
        validation = nodes[held_out], y[held_out]
        nodes, y = nodes[~held_out], y[~held_out]
    classes = np.unique(y)
    chosen, chosen_labels = _with_labels(validation, y, graph)
    lesson = Lesson(
        nodes[None],
        np.searchsorted(classes, y)[None],
        chosen[None],
        _numbered(chosen_labels, classes)[None],
        len(classes),
    )
    return classes, lesson


def _held_out(y: np.ndarray, share: float, seed: int) -> np.ndarray:
    """A seeded part of the training nodes, never a class's last one."""
    if not 0 < share < 1:
        raise InputError(f"holdout must be a share between 0 and 1. Got {share}.")
    random = np.random.Generator(np.random.PCG64(seed))
    held_out = np.zeros(len(y), dtype=bool)
    for members in (np.flatnonzero(y == one) for one in np.unique(y)):
        count = min(len(members) - 1, round(share * len(members)))
        held_out[random.permutation(members)[:count]] = True
    if not held_out.any():
        raise InputError(
            f"{len(y)} training nodes (n_samples={len(y)}) are too few to hold some out. "
            "Pass validation= or selection='last'."
        )
    return held_out


def _with_labels(validation: Any, y: np.ndarray, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Validation nodes and their classes: as given in a pair, or the graph's own."""
    if validation is None:
        return np.empty(0, np.int64), y[:0]
    if isinstance(validation, tuple) and len(validation) == 2 and np.ndim(validation[0]) == 1:
        nodes, labels = graph.find(as_nodes(validation[0])), np.asarray(validation[1])
        if nodes.shape != labels.shape:
            raise InputError(f"validation nodes and classes must match. Got {nodes.shape}, {labels.shape}.")
        return nodes, labels
    nodes = graph.find(as_nodes(validation))
    if (graph.labels[nodes] < 0).any():
        node = nodes[graph.labels[nodes] < 0][0]
        raise InputError(f"node {node} has no label: keep it out of the validation nodes.")
    if y.dtype.kind in "iu":
        return nodes, graph.labels[nodes]
    if y.dtype.kind in "UO" and all(isinstance(one, str) for one in y.tolist()):
        return nodes, np.array(graph.class_names)[graph.labels[nodes]].astype(y.dtype)
    raise InputError(f"classes of type {y.dtype} are not the graph's own: pass validation=(nodes, classes).")


def _numbered(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Positions of labels among the classes, −1 for a class that is not there."""
    at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[at] == labels, at, -1)
