"""One experiment: a variant on a graph, some runs, test nodes scored once. What tables are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from kernode.compute.place import Place
from kernode.compute.stack import replica
from kernode.data import Split, split_nodes
from kernode.data.registry import identify
from kernode.graph import Graph
from kernode.kernels.retrieval import kernel_retrieval
from kernode.metrics.accuracy import mean_and_std
from kernode.node_classification.kled import KLED
from kernode.node_classification.method import Method
from kernode.node_classification.model import Answers, Model
from kernode.node_classification.selection import Candidates, learn_again, learn_best
from kernode.node_classification.task import Lesson
from kernode.node_classification.variants import WORDS, candidates
from kernode.studies.cost import Sizes, require_memory
from kernode.training.checkpoint import Checkpoint
from kernode.training.loop import Progress
from kernode.training.settings import Training

_MOST_RANKED = 20_000  # test nodes, since each is ranked against all others


def known_name(graph: Graph) -> str:
    """Return the name of a built-in data set, or "" for any other graph, whatever it is called."""
    entry = identify(graph)
    return "" if entry is None else entry.name


def settings_key(graph: Graph) -> str:
    """Return what a variant's settings for a graph go by: its name, or whether its features are words."""
    return known_name(graph) or (WORDS if sparse.issparse(graph.features) else "")


def run(
    graph: Graph,
    variant: str,
    seeds: list[int],
    place: Place,
    *,
    split: str | None = None,
    changes: dict[str, Any] | None = None,
    progress: Callable[[int], Progress] | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[Model, dict[str, Any], list[Split]]:
    """Train a variant, one run per seed, and report accuracies in percent.

    ``progress`` is told the number of epochs.
    """
    tuned = split in (None, "fastgcn", "public")  # whose test nodes no search has seen
    return run_candidates(
        graph, candidates(variant, settings_key(graph), tuned=tuned, **(changes or {})), seeds, place,
        split=split, progress=progress, checkpoint=checkpoint,
    )  # fmt: skip


def run_method(
    graph: Graph,
    method: Method | KLED,
    training: Training,
    seeds: list[int],
    place: Place,
    *,
    split: str | None = None,
    progress: Callable[[int], Progress] | None = None,
    checkpoint: Checkpoint | None = None,
    variant: str = "",
) -> tuple[Model, dict[str, Any], list[Split]]:
    """The same for any method; ``variant`` is what to call it."""
    return run_candidates(
        graph, {variant: (method, training)}, seeds, place,
        split=split, progress=progress, checkpoint=checkpoint,
    )  # fmt: skip


def run_candidates(
    graph: Graph,
    methods: Candidates,
    seeds: list[int],
    place: Place,
    *,
    split: str | None = None,
    progress: Callable[[int], Progress] | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[Model, dict[str, Any], list[Split]]:
    """The same for whichever of some methods validates best."""
    for method, training in methods.values():
        require_memory(Sizes.of(graph), method, training, place)
    splits = split_nodes(graph, split, seeds)
    lesson, classes = lesson_of(graph, splits)
    model = learn_best(
        graph, methods, lesson, seeds, place, tuple(graph.class_names[label] for label in classes),
        progress=progress, checkpoint=checkpoint, split=split or ("fastgcn" if known_name(graph) else "jk"),
    )  # fmt: skip
    return model, _report(model, graph, splits, classes, place.device.type), splits


def learn_from_all(graph: Graph, model: Model, place: Place) -> Model:
    """What an experiment chose, trained again on every node that has a class: to be used, not scored."""
    labelled = np.flatnonzero(graph.labels >= 0)
    numbers = {name: number for number, name in enumerate(model.classes)}
    taught = np.array([numbers.get(graph.class_names[label], -1) for label in graph.labels[labelled]])
    nodes, taught = labelled[taught >= 0], taught[taught >= 0]
    none = np.empty((1, 0), np.int64)
    lesson = Lesson(nodes[None], taught[None], none, none, len(model.classes))
    return learn_again(graph, model, lesson, list(model.seeds), place)


def lesson_of(graph: Graph, splits: list[Split]) -> tuple[Lesson, np.ndarray]:
    """Training and validation nodes of every run (one row where all share a split), and the c labels taught.

    Only training nodes say which classes there are: no other label may shape a model.
    """
    distinct = splits[:1] if all(split is splits[0] for split in splits) else splits
    train = np.stack([split.train for split in distinct])
    validation = np.stack([split.validation for split in distinct])
    classes = np.unique(graph.labels[train])
    classes = classes[classes >= 0]
    numbers = np.full(graph.n_classes + 1, -1)  # its last entry is for −1, no label
    numbers[classes] = np.arange(len(classes))
    lesson = Lesson(
        train, numbers[graph.labels[train]], validation, numbers[graph.labels[validation]], len(classes)
    )
    return lesson, classes


def _report(
    model: Model, graph: Graph, splits: list[Split], classes: np.ndarray, device: str
) -> dict[str, Any]:
    answers = model.on(graph, device)
    weights = model.hop_weights()

    def accuracies(part: str) -> dict[str, Any]:
        nodes = [getattr(split, part) for split in splits]
        rows = nodes[0] if all(one is nodes[0] for one in nodes) else np.stack(nodes)
        return _accuracies(answers.probabilities(rows), classes, graph.labels[rows])

    return {
        "dataset": graph.name,
        "variant": model.labels_of_choice["variant"],
        "chosen_by_validation": model.labels_of_choice.get("chosen_by_validation"),
        "split": model.labels_of_choice["split"],
        "replicas": len(model.seeds),
        "seed": model.seeds[0],
        "device": device,
        "epochs": model.training.epochs,
        "test": accuracies("test") | {"similarity": _similarity(answers, splits)},
        "validation": accuracies("validation"),
        "hop_weights": None if weights is None else [round(float(w), 4) for w in weights.mean(axis=0)],
        "kept_epochs": model.kept_epochs.tolist(),
    }


def _accuracies(by_run: np.ndarray, classes: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Each run's accuracy (r × m × c), their mean and spread, and the ensemble's where runs share nodes."""
    if by_run.shape[1] == 0:
        return {"accuracy_mean": None, "accuracy_std": None, "runs": [], "ensemble_accuracy": None}
    runs = 100 * (classes[by_run.argmax(axis=-1)] == labels).mean(axis=-1)
    mean, std = mean_and_std(runs)
    ensemble = None
    if labels.ndim == 1:
        ensemble = round(float(100 * (classes[by_run.mean(axis=0).argmax(axis=-1)] == labels).mean()), 4)
    return {
        "accuracy_mean": round(mean, 4),
        "accuracy_std": round(std, 4),
        "runs": [round(float(run), 4) for run in runs],
        "ensemble_accuracy": ensemble,
    }


def _similarity(answers: Answers, splits: list[Split]) -> dict[str, Any] | None:
    """How well each run's K̄ finds test nodes of one class, and the runs' mean and spread."""
    found = [retrieval_of_run(answers, i, split.test) for i, split in enumerate(splits)]
    by_run = [run for run in found if run is not None]
    if len(by_run) < len(splits):
        return None
    names = ("map", "precision_at_10")
    summary: dict[str, Any] = {}
    for at, name in enumerate(names):
        mean, std = mean_and_std([run[at] for run in by_run])
        summary |= {name: round(mean, 4), f"{name}_std": round(std, 4)}
    rounded = [[round(figure, 4) for figure in run] for run in by_run]
    return summary | {"runs": [dict(zip(names, run, strict=True)) for run in rounded]}


def retrieval_of_run(answers: Answers, run: int, nodes: np.ndarray) -> list[float] | None:
    """One run's mean average precision and precision at 10 by K̄ among some nodes, in percent.

    None for KLED, for more than 20,000 nodes, and where no two of them are of one class.
    """
    if isinstance(answers.model.method, KLED) or not 0 < len(nodes) <= _MOST_RANKED:
        return None
    kernel, labels = answers.kernel, torch.tensor(answers.graph.labels[nodes])
    g = kernel.g[run : run + 1, torch.tensor(nodes)]
    figures = kernel_retrieval(
        kernel.base, replica(kernel.parameters, run), g, labels.to(answers.place.device)
    )
    found = [float(figure) for figure in figures]
    return None if np.isnan(found).any() else found
