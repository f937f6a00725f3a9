"""One method on one graph: all splits and candidates as stacks, validation picks, test scored once."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.compute.place import Place
from kernode.data import Split
from kernode.graph import Graph
from kernode.node_classification.experiment import retrieval_of_run, settings_key
from kernode.node_classification.fitting import fit_method
from kernode.node_classification.method import PER_REPLICA
from kernode.node_classification.model import Model
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.task import NodeTask
from kernode.node_classification.variants import configure
from kernode.studies.compare.contestants import Contestant
from kernode.training.run import Run, Telling


def contest(
    graph: Graph, method: Contestant, splits: list[Split], place: Place, progress: Telling | None = None
) -> dict[str, Any]:
    """Figures of a method, one per split, of the candidate that validation picks there."""
    candidates = method.candidates()
    found: list[tuple[np.ndarray, ModelOnGraph, list[int]]] = []
    for numbers in _by_structure(candidates):
        on = _train(graph, method, [candidates[i] for i in numbers], splits, place, progress)
        found.append((_validation(on.model).reshape(len(splits), len(numbers)), on, numbers))
    by_candidate = np.empty((len(splits), len(candidates)))
    for values, _, numbers in found:
        by_candidate[:, numbers] = values
    picked = by_candidate.argmax(axis=1)
    figures: dict[str, Any] = {
        "validation": [round(float(v), 4) for v in by_candidate[np.arange(len(splits)), picked]],
        "chosen": picked.tolist(),
        "accuracy": [0.0] * len(splits),
    }
    similar: dict[int, list[float]] = {}
    for _, on, numbers in found:
        own = [s for s in range(len(splits)) if picked[s] in numbers]
        if own:
            rows = [s * len(numbers) + numbers.index(int(picked[s])) for s in own]
            _score(figures["accuracy"], similar, on.of_replicas(rows), own, splits)
    for at, name in enumerate(("map", "precision_at_10")):  # empty where K̄ is none, or nodes are too many
        figures[name] = [round(similar[s][at], 4) for s in sorted(similar)]
    return figures


def _by_structure(candidates: list[dict[str, Any]]) -> list[list[int]]:
    """Candidates that can be one stack: those that differ only in what replicas may differ in."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, one in enumerate(candidates):
        key = tuple((name, value) for name, value in one.items() if name not in PER_REPLICA)
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def _train(
    graph: Graph,
    method: Contestant,
    candidates: list[dict[str, Any]],
    splits: list[Split],
    place: Place,
    progress: Telling | None,
) -> ModelOnGraph:
    """Replica s · candidates + c has split s and candidate c; the seed is the split's."""
    structure = {name: value for name, value in candidates[0].items() if name not in PER_REPLICA}
    own: dict[str, Any] = {
        name: tuple(candidate[name] for _ in splits for candidate in candidates)
        for name in candidates[0]
        if name in PER_REPLICA
    }
    recipe, training = configure(
        method.variant, settings_key(graph), tuned=False, **{**method.changes, **structure, **own}
    )
    repeated = [split for split in splits for _ in candidates]
    seeds = tuple(s for s in range(len(splits)) for _ in candidates)
    task = NodeTask.of_splits(graph, repeated, Run(seeds, place, progress))
    return fit_method(task, recipe, training, variant=method.name, split="random").settled()


def _validation(model: Model) -> np.ndarray:
    """Validation accuracy of every replica at the epoch it kept."""
    history = model.history.get("validation_accuracy")
    if history is None:  # nothing is trained, so there is nothing to choose
        return np.zeros(len(model.seeds))
    values: np.ndarray = history[model.kept_epochs - 1, np.arange(history.shape[1])]
    return values


def _score(
    accuracy: list[float],
    similar: dict[int, list[float]],
    on: ModelOnGraph,
    own: list[int],
    splits: list[Split],
) -> None:
    """Score the test nodes of some splits, once; replica i has the i-th of them."""
    nodes = np.stack([splits[s].test for s in own])
    classes = np.array([on.graph.class_names.index(name) for name in on.model.classes])
    right = classes[on.probabilities(nodes).argmax(axis=-1)] == on.graph.labels[nodes]
    for i, s in enumerate(own):
        accuracy[s] = round(100 * float(right[i].mean()), 4)
        if (found := retrieval_of_run(on, i, nodes[i])) is not None:
            similar[s] = found
