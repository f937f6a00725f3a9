"""KLED in the place of training: its candidates are tried like epochs, and validation chooses."""

from __future__ import annotations

import time

import numpy as np
import torch

from kernode.graph import Graph
from kernode.node_classification.kled import CLASSIFIERS, KLED
from kernode.node_classification.task import Lesson
from kernode.training.loop import Progress, Trained


def search(
    kled: KLED, graph: Graph, lesson: Lesson, replicas: int, progress: Progress | None = None
) -> Trained:
    """Try every scale and classifier; keep for each replica the one that is best on validation.

    There is no randomness in it: replicas differ only where their nodes do.
    """
    started = time.perf_counter()
    candidates = kled.candidates(graph, lesson.train.shape[1])
    accuracies = np.empty((len(candidates), replicas))
    for at, (scale, classifier) in enumerate(candidates):
        by_row = []
        for row in range(len(lesson.train)):
            scores = kled.scores(
                graph, scale, classifier, lesson.train[row], lesson.train_labels[row], lesson.classes
            )
            found = scores[lesson.validation[row]].argmax(axis=1)
            by_row.append(100 * (found == lesson.validation_labels[row]).mean() if len(found) else 0.0)
        accuracies[at] = by_row
        if progress is not None:
            progress(at + 1, {"validation_accuracy": accuracies[at]})
    best = accuracies.argmax(axis=0)
    return Trained(
        parameters={
            "scale": torch.tensor([candidates[i][0] for i in best], dtype=torch.float64),
            "classifier": torch.tensor([CLASSIFIERS.index(candidates[i][1]) for i in best]),
        },
        epochs=best + 1,
        history={"validation_accuracy": accuracies},
        seconds=time.perf_counter() - started,
    )


def probabilities(
    kled: KLED,
    graph: Graph,
    parameters: dict[str, torch.Tensor],
    train: np.ndarray,
    labels: np.ndarray,
    classes: int,
) -> np.ndarray:
    """Class probabilities of all nodes: r × n × c. Shares for sums; a softmax of the SVC's decisions."""
    found = []
    for i, (scale, number) in enumerate(
        zip(parameters["scale"].tolist(), parameters["classifier"].tolist(), strict=True)
    ):
        row = min(i, len(train) - 1)
        scores = kled.scores(graph, scale, CLASSIFIERS[number], train[row], labels[row], classes)
        if CLASSIFIERS[number] == "svc":
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        found.append(scores / scores.sum(axis=1, keepdims=True))
        if len(train) == 1:  # all replicas are alike
            return np.repeat(found[0][None], len(parameters["scale"]), axis=0)
    return np.stack(found)
