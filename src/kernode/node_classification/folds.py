"""From nodes and their classes, as an estimator gets them, to labelled nodes; folds where none validate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernode.compute.replicas import seeds_from, whole
from kernode.errors import InputError, warn
from kernode.graph import Graph
from kernode.graph.names import as_nodes
from kernode.graph.twins import warn_of_twins
from kernode.node_classification.advice import advise_longer_training
from kernode.node_classification.fitting import Candidates, fit_again, fit_best, fit_first
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.task import LabelledNodes, NodeTask


def labelled(
    nodes: np.ndarray, y: np.ndarray, graph: Graph, validation: Any
) -> tuple[np.ndarray, LabelledNodes]:
    """The classes that there are, and the nodes as numbers of them: all train, validation nodes validate."""
    if y.shape != nodes.shape:
        raise InputError(f"nodes and y must be two lists of one length. Got {nodes.shape} and {y.shape}.")
    if len(nodes) == 0:
        raise InputError("there are no training nodes. Give at least one labelled node per class.")
    require_classes(nodes, y, graph, "training")
    _require_one_class_each(nodes, y, graph)
    classes = np.unique(y)
    _question(classes.tolist())
    chosen, chosen_labels = _with_labels(validation, y, graph)
    return classes, LabelledNodes(
        nodes[None],
        np.searchsorted(classes, y)[None],
        chosen[None],
        _numbered(chosen_labels, classes)[None],
    )


def require_classes(nodes: np.ndarray, y: np.ndarray, graph: Graph, part: str) -> None:
    """Raise where a class is none: empty, or −1, unless −1 and 1 are two classes of nodes that have one."""
    if y.dtype.kind in "iu":
        without = y < 0
        if set(np.unique(y).tolist()) == {-1, 1}:
            without &= graph.labels[nodes] < 0
    else:
        without = np.array([_is_none(one) for one in y.tolist()], bool)
    if without.any():
        more = f" (and {without.sum() - 1:,} others)" if without.sum() > 1 else ""
        node = graph.lookup.name(nodes[without][0])
        raise InputError(f"node {node}{more} has no label: keep it out of the {part} nodes.")


def _is_none(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _require_one_class_each(nodes: np.ndarray, y: np.ndarray, graph: Graph) -> None:
    order = np.argsort(nodes, kind="stable")
    again = order[1:][(nodes[order[1:]] == nodes[order[:-1]]) & (y[order[1:]] != y[order[:-1]])]
    if len(again):
        node = nodes[again[0]]
        one, other = np.unique(y[nodes == node])[:2].tolist()
        raise InputError(
            f"node {graph.lookup.name(node)} is given two classes, {one!r} and {other!r}. Keep the right one."
        )


def _question(classes: list[Any]) -> None:
    """Warn of classes that may be none, or one written in two ways."""
    names = [name for name in classes if isinstance(name, str)]
    warn_of_twins("y", names)
    for name in names:
        if name.strip().lower() in ("unknown", "n/a", "nan"):
            warn(f"y holds {name!r}, which is a class here. Leave those nodes out if it means not known.")


def can_hold_out(given: LabelledNodes) -> bool:
    """Whether some training nodes can be held out, with others of their class left to train."""
    return bool((np.bincount(given.train_labels[0]) > 1).any())


def fit_in_folds(task: NodeTask, candidates: Candidates, folds: int = 3) -> ModelOnGraph:
    """Where no node validates: parts of the training nodes choose in turn, and then all of them train."""
    if all(training.selection != "best" for _, training in candidates.values()):
        return fit_best(task, candidates)  # nothing is to be chosen
    if not can_hold_out(task.nodes):
        return fit_first(task, candidates)
    seeds = task.run.seeds
    own = any(method.varies_by_replica(training) for method, training in candidates.values())
    parts = in_folds(task.nodes, folds, seeds[0], len(seeds) if own else None)
    stack = task.run.with_seeds(seeds_from(seeds[0], len(parts.train)))
    best = fit_best(replace(task, nodes=parts, run=stack), candidates)
    advise_longer_training(best.model)
    return fit_again(task, best.model)


def in_folds(given: LabelledNodes, folds: int, seed: int, replicas: int | None = None) -> LabelledNodes:
    """The same nodes for a choice without validation nodes: each replica has a fold of its own held out.

    There are as many replicas as folds, or as many as are asked for, which then take the folds in turn.
    Classes are dealt out evenly, and no fold holds the last node of a class.
    """
    if whole("folds", folds) < 2:
        raise InputError(f"folds must be an integer ≥ 2. Got {folds}.")
    y = given.train_labels[0]
    random = np.random.Generator(np.random.PCG64(seed))
    order = random.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]  # class by class, each in random order
    order = order[np.bincount(y)[y[order]] > 1]
    count = min(folds, len(order))
    size = len(order) // count
    held_out = np.stack([order[fold::count][:size] for fold in range(count)])
    held_out = held_out[np.arange(count if replicas is None else replicas) % count]
    training = np.stack([np.setdiff1d(np.arange(len(y)), fold) for fold in held_out])
    nodes = given.train[0]
    return LabelledNodes(nodes[training], y[training], nodes[held_out], y[held_out])


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
