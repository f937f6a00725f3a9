"""One method on one graph: all splits and candidates as stacks, validation picks, test scored once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernode.compute.place import Place
from kernode.data import Split
from kernode.graph import Graph
from kernode.node_classification.experiment import lesson_of, retrieval_of_run, settings_key
from kernode.node_classification.model import Answers, Model
from kernode.node_classification.variants import configure
from kernode.studies.compare.contestants import Contestant
from kernode.training.loop import Progress
from kernode.training.settings import PER_REPLICA

Telling = Callable[[int], Progress]


def contest(
    graph: Graph, method: Contestant, splits: list[Split], place: Place, progress: Telling | None = None
) -> dict[str, Any]:
    """Figures of a method, one per split, of the candidate that validation picks there."""
    candidates = method.candidates()
    found: list[tuple[np.ndarray, Model, list[int]]] = []
    for numbers in _by_structure(candidates):
        model = _train(graph, method, [candidates[i] for i in numbers], splits, place, progress)
        found.append((_validation(model).reshape(len(splits), len(numbers)), model, numbers))
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
    for _, model, numbers in found:
        own = [s for s in range(len(splits)) if picked[s] in numbers]
        if own:
            rows = [s * len(numbers) + numbers.index(int(picked[s])) for s in own]
            answers = _only(model, rows).on(graph, place.device.type)
            _score(figures["accuracy"], similar, answers, own, splits)
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
) -> Model:
    """Replica s · candidates + c has split s and candidate c; the seed is the split's."""
    structure = {name: value for name, value in candidates[0].items() if name not in PER_REPLICA}
    recipe, training = configure(
        method.variant, settings_key(graph), tuned=False, **{**method.changes, **structure}
    )
    own: dict[str, Any] = {
        name: tuple(candidate[name] for _ in splits for candidate in candidates)
        for name in candidates[0]
        if name in PER_REPLICA
    }
    training = replace(training, **own)
    repeated = [split for split in splits for _ in candidates]
    lesson, classes = lesson_of(graph, repeated)
    return Model.learn(
        graph,
        recipe,
        training,
        lesson,
        [s for s in range(len(splits)) for _ in candidates],
        place,
        tuple(classes.tolist()),
        progress=progress(training.epochs) if progress else None,
        variant=method.name,
        split="random",
    )


def _validation(model: Model) -> np.ndarray:
    """Validation accuracy of every replica at the epoch it kept."""
    history = model.history.get("validation_accuracy")
    if history is None:  # nothing is trained, so there is nothing to choose
        return np.zeros(len(model.seeds))
    values: np.ndarray = history[model.kept_epochs - 1, np.arange(history.shape[1])]
    return values


def _only(model: Model, replicas: list[int]) -> Model:
    """Some replicas of a model."""
    rows = replicas if len(model.train) > 1 else [0]
    return replace(
        model,
        parameters={name: value[replicas] for name, value in model.parameters.items()},
        train=model.train[rows],
        train_labels=model.train_labels[rows],
        seeds=tuple(model.seeds[i] for i in replicas),
        kept_epochs=model.kept_epochs[replicas],
        history={},
        references=None if model.references is None else model.references[replicas],
    )


def _score(
    accuracy: list[float],
    similar: dict[int, list[float]],
    answers: Answers,
    own: list[int],
    splits: list[Split],
) -> None:
    """Score the test nodes of some splits, once; replica i has the i-th of them."""
    nodes = np.stack([splits[s].test for s in own])
    labels, classes = answers.graph.labels[nodes], np.asarray(answers.model.classes)
    right = classes[answers.probabilities(nodes).argmax(axis=-1)] == labels
    for i, s in enumerate(own):
        accuracy[s] = round(100 * float(right[i].mean()), 4)
        if (found := retrieval_of_run(answers, i, nodes[i])) is not None:
            similar[s] = found
