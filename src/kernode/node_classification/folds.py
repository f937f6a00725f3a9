"""A choice without validation nodes: parts of the training nodes are held out in turn, then all train."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernode.compute.replicas import seeds_from, whole
from kernode.errors import InputError
from kernode.node_classification.advice import advise_longer_training
from kernode.node_classification.choosing import fit_best
from kernode.node_classification.fitting import Candidates, fit_again, fit_first
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.task import LabelledNodes, NodeTask


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
