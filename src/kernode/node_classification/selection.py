"""Which of several methods to keep: the one that validates best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kernode.compute.place import Place
from kernode.graph import Graph
from kernode.node_classification.kled import KLED
from kernode.node_classification.method import Method
from kernode.node_classification.model import Model
from kernode.node_classification.task import Lesson
from kernode.training.checkpoint import Checkpoint
from kernode.training.loop import Progress
from kernode.training.settings import Training

Candidates = Mapping[str, tuple[Method | KLED, Training]]


def learn_best(
    graph: Graph,
    candidates: Candidates,
    lesson: Lesson,
    seeds: list[int],
    place: Place,
    classes: tuple[Any, ...],
    *,
    progress: Callable[[int], Progress] | None = None,
    checkpoint: Checkpoint | None = None,
    **labels_of_choice: Any,
) -> Model:
    """Train every candidate on the same lesson and seeds; keep the one with the best validation accuracy.

    It is the mean over the replicas, each at the epoch that it kept; the first of equals wins. What each
    had stands in the model's ``labels_of_choice``.
    """
    if not lesson.validation.shape[1]:  # nothing to choose by
        candidates = dict([next(iter(candidates.items()))])
    models = {
        name: Model.learn(
            graph, method, training, lesson, seeds, place, classes,
            progress=progress(training.epochs) if progress else None,
            checkpoint=_of_candidate(checkpoint, name, len(candidates)),
            variant=name, **labels_of_choice,
        )
        for name, (method, training) in candidates.items()
    }  # fmt: skip
    if len(models) == 1:
        return next(iter(models.values()))
    validated = {name: round(validation_accuracy(model), 4) for name, model in models.items()}
    best = models[max(validated, key=lambda name: validated[name])]
    return replace(best, labels_of_choice={**best.labels_of_choice, "chosen_by_validation": validated})


def learn_again(
    graph: Graph,
    chosen: Model,
    lesson: Lesson,
    seeds: list[int],
    place: Place,
    *,
    checkpoint: Checkpoint | None = None,
) -> Model:
    """Train a chosen method anew on more nodes, for as many epochs as its replicas kept on average.

    For what was chosen with nodes held out: when the choice is made, they can teach, too.
    """
    epochs = max(1, round(float(np.mean(chosen.kept_epochs)))) if chosen.training.epochs else 0
    training = replace(chosen.training, selection="last", epochs=epochs, patience=None)
    return Model.learn(
        graph, chosen.method, training, lesson, seeds, place, chosen.classes,
        checkpoint=_of_candidate(checkpoint, "all", 2), **chosen.labels_of_choice,
    )  # fmt: skip


def validation_accuracy(model: Model) -> float:
    """Percent, each replica at the epoch that it kept, the mean over replicas."""
    by_epoch = model.history.get("validation_accuracy")
    if by_epoch is None or not len(by_epoch):
        return 0.0
    return float(np.mean([by_epoch[max(1, epoch) - 1, i] for i, epoch in enumerate(model.kept_epochs)]))


def _of_candidate(checkpoint: Checkpoint | None, name: str, of: int) -> Checkpoint | None:
    """A file of its own for each of several trainings."""
    if checkpoint is None or of == 1:
        return checkpoint
    return replace(checkpoint, path=checkpoint.path.with_stem(f"{checkpoint.path.stem}-{name}"))
