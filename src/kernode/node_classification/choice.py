"""Which of a few settings each replica takes: the one whose answers are right for most validation nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernode.errors import InputError
from kernode.node_classification.task import NodeTask

# Class numbers by one setting for the validation nodes: of every replica, or once where all are alike.
Answers = Callable[[int], Sequence[np.ndarray]]


def require_choice(task: NodeTask, settings: int, title: str, one: str = "one setting") -> None:
    """Raise where there are several settings and no validation nodes."""
    if settings > 1 and not task.nodes.validates:
        raise InputError(
            f"{title} chooses between {settings} settings by validation nodes. Give some, or {one}."
        )


def validation_accuracies(task: NodeTask, settings: int, answers: Answers) -> np.ndarray:
    """In percent, by setting and replica: settings × r. Of equals the first is the best."""
    truth = task.nodes.validation_labels
    progress = task.run.progress(settings, task.run.name) if task.run.progress else None
    accuracies = np.empty((settings, task.run.replicas))
    for at in range(settings):
        right = np.stack(answers(at)) == truth
        accuracies[at] = 100 * right.mean(axis=1) if right.size else 0.0
        if progress is not None:
            progress(at + 1, {"validation_accuracy": accuracies[at]})
    return accuracies
