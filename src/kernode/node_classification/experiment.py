"""One experiment: a variant on a graph, some runs, test nodes scored once. What tables are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse

from kernode.compute.stack import part, replica
from kernode.data import Split, split_nodes
from kernode.data.registry import identify
from kernode.data.split_file import is_split_file
from kernode.errors import InputError, warn
from kernode.graph import Graph
from kernode.kernels.node_kernel import kernel_retrieval, retrieval_together
from kernode.metrics.accuracy import mean_and_std
from kernode.node_classification.advice import advise_longer_training, warn_of_single_nodes
from kernode.node_classification.choosing import fit_best
from kernode.node_classification.fitting import Candidates, fit_again
from kernode.node_classification.folds import fit_in_folds
from kernode.node_classification.method import NodeMethod
from kernode.node_classification.model import Model
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.task import ALL_LABELLED, LabelledNodes, NodeTask
from kernode.node_classification.variants import WORDS, candidates
from kernode.progress import timed
from kernode.training.run import Run
from kernode.training.settings import Training

_FEWEST = 20  # labelled nodes that are split where nobody says how
_MOST_RANKED = 20_000  # test nodes, since each is ranked against all others


def known_name(graph: Graph) -> str:
    """Return the name of a built-in data set, or "" for any other graph, whatever it is called."""
    entry = identify(graph)
    return "" if entry is None else entry.name


def settings_key(graph: Graph) -> str:
    """Return what a variant's settings for a graph go by: its name, or whether its features are words."""
    return known_name(graph) or (WORDS if sparse.issparse(graph.features) else "")


@dataclass(frozen=True)
class Outcome:
    """What an experiment gave: the model on its graph, figures in percent, and the split of every replica."""

    on: ModelOnGraph
    report: dict[str, Any]
    splits: list[Split]
    nodes: LabelledNodes  # that trained and validated
    by_run: np.ndarray  # r × t × c: what each run answers about its test nodes, as it is trained

    @classmethod
    def of(cls, on: ModelOnGraph, splits: list[Split], nodes: LabelledNodes) -> Outcome:
        """Score what was trained, once."""
        with timed("evaluation"):
            rows = _rows(splits, "test")
            by_run = on.probabilities(rows)
            report = _report(on, splits, _accuracies(on, by_run, rows))
            return cls(on, report, splits, nodes, by_run)

    @property
    def model(self) -> Model:
        """What was trained."""
        return self.on.model

    @property
    def sizes(self) -> dict[str, int]:
        """How many nodes there are, how many have a class, and how many are in each part of a split."""
        parts = {part: len(getattr(self.splits[0], part)) for part in ("train", "validation", "test")}
        graph = self.on.graph
        return {"nodes": graph.n_nodes, "labelled": int((graph.labels >= 0).sum()), **parts}

    @property
    def seconds_per_epoch(self) -> float:
        """Of the training that was kept."""
        epochs = max((len(values) for values in self.model.history.values()), default=0)
        return self.model.seconds / max(1, epochs)


def run_variant(
    graph: Graph, variant: str, run: Run, *, split: str | None = None, changes: dict[str, Any] | None = None
) -> Outcome:
    """Train a variant, one replica per seed, and score the test nodes once."""
    # The search saw test nodes of other splits, and nine times the labels that the public one has.
    tuned = split in (None, "fastgcn")
    methods = candidates(variant, settings_key(graph), tuned=tuned, **(changes or {}))
    outcome = run_candidates(graph, methods, run, split=split)
    advise_longer_training(outcome.model)
    return outcome


def run_method(
    graph: Graph,
    method: NodeMethod,
    training: Training,
    run: Run,
    *,
    split: str | None = None,
    variant: str = "",
) -> Outcome:
    """The same for any method; ``variant`` is what to call it."""
    return run_candidates(graph, {variant: (method, training)}, run, split=split)


def run_candidates(graph: Graph, methods: Candidates, run: Run, *, split: str | None = None) -> Outcome:
    """The same for whichever of some methods validates best."""
    _require_classes(graph, methods)
    if split is None and has_few_labels(graph):
        return _run_on_all(graph, methods, run)
    splits = split_nodes(graph, split, list(run.seeds))
    task = NodeTask.of_splits(graph, splits, run)
    warn_of_single_nodes(task)
    on = fit_best(task, methods, split=_split_name(graph, split))
    on = on.noted(tested=np.atleast_2d(_rows(splits, "test")))
    return Outcome.of(on, splits, task.nodes)


def _require_classes(graph: Graph, methods: Candidates) -> None:
    """Say what no method can learn from before anything else is said."""
    known = np.unique(graph.labels[graph.labels >= 0])
    losses = [getattr(method, "loss", None) for method, _ in methods.values()]
    if len(known) == 1 and any(loss is not None and loss.objective != "softmax" for loss in losses):
        only = graph.class_names[known[0]]
        raise InputError(
            f"every node with a class is of {only!r}, and a kernel loss compares classes. Label another, "
            "or use objective softmax."
        )


def _split_name(graph: Graph, split: str | None) -> str:
    """What a split is called in a model and a report; a file by its name, not by its place on a machine."""
    if split is None:
        return "fastgcn" if known_name(graph) else "jk"
    return Path(split).name if is_split_file(split) else split


def has_few_labels(graph: Graph) -> bool:
    """Whether so few nodes have a class that a test on some of them would say nothing."""
    counts = np.bincount(graph.labels[graph.labels >= 0])
    return 0 < counts.sum() < max(_FEWEST, 3 * np.count_nonzero(counts))


def _run_on_all(graph: Graph, methods: Candidates, run: Run) -> Outcome:
    """Every labelled node trains and none is tested; folds of them choose, where there are enough."""
    labelled = np.flatnonzero(graph.labels >= 0)
    warn(
        f"{len(labelled)} nodes with a class are too few to keep some for a test: all of them train, and "
        "there is no accuracy. --split 0.6/0.2/0.2 would test on a few."
    )
    splits = [Split(labelled, [], [])] * run.replicas
    task = NodeTask.of_splits(graph, splits, run)
    warn_of_single_nodes(task)
    on = fit_in_folds(task, methods)
    on = on.noted(split=ALL_LABELLED)
    return Outcome.of(on, splits, task.nodes)


def fit_all_labels(graph: Graph, model: Model, run: Run) -> ModelOnGraph:
    """What an experiment chose, trained again on every node that has a class: to be used, not scored."""
    labelled = np.flatnonzero(graph.labels >= 0)
    numbers = {name: number for number, name in enumerate(model.classes)}
    labels = np.array([numbers.get(graph.class_names[label], -1) for label in graph.labels[labelled]])
    nodes = LabelledNodes.without_validation(labelled[labels >= 0], labels[labels >= 0])
    on = fit_again(NodeTask(graph, nodes, model.classes, run.with_seeds(model.seeds)), model)
    return on.noted(split=ALL_LABELLED)  # nothing is held out, as a split by its name would say


def _rows(splits: list[Split], part: str) -> np.ndarray:
    """A part's nodes: t where all runs share them, else r × t."""
    nodes = [getattr(split, part) for split in splits]
    return nodes[0] if all(one is nodes[0] for one in nodes) else np.stack(nodes)


def _report(on: ModelOnGraph, splits: list[Split], test: dict[str, Any]) -> dict[str, Any]:
    model, weights = on.model, on.model.hop_weights()
    validation = _rows(splits, "validation")
    return {
        "dataset": on.graph.name,
        "variant": model.variant,
        **model.choice,
        "select_by": model.training.select_by,
        "split": model.split,
        "replicas": len(model.seeds),
        "seed": model.seeds[0],
        "device": on.place.device.type,
        "threads": model.threads,
        "epochs": model.training.epochs,
        "test": test | {"similarity": _similarity(on, splits)},
        "validation": _accuracies(on, on.probabilities(validation), validation),
        "hop_weights": None if weights is None else [_or_none(w) for w in weights.mean(axis=0)],
        "kept_epochs": model.kept_epochs.tolist(),
    }


def _or_none(weight: float) -> float | None:
    """Four digits; None for what weighs nothing."""
    return None if np.isnan(weight) else round(float(weight), 4)


def _accuracies(on: ModelOnGraph, by_run: np.ndarray, nodes: np.ndarray) -> dict[str, Any]:
    """Each run's accuracy (r × m × c), their mean and spread, and the ensemble's where runs share nodes."""
    labels = on.graph.labels[nodes]
    classes = np.array([on.graph.class_names.index(name) for name in on.model.classes])
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


def _similarity(on: ModelOnGraph, splits: list[Split]) -> dict[str, Any] | None:
    """How well each run's K̄ finds test nodes of one class, and the runs' mean and spread."""
    found = [retrieval_of_run(on, i, split.test) for i, split in enumerate(splits)]
    by_run = [run for run in found if run is not None]
    if len(by_run) < len(splits):
        return None
    names = ("map", "precision_at_10")
    summary: dict[str, Any] = {}
    for at, name in enumerate(names):
        mean, std = mean_and_std([run[at] for run in by_run])
        summary |= {name: round(mean, 4), f"{name}_std": round(std, 4)}
    rounded = [[round(figure, 4) for figure in run] for run in by_run]
    summary["ensemble_map"] = None if len(splits) == 1 else _map_together(on, splits)
    return summary | {"runs": [dict(zip(names, run, strict=True)) for run in rounded]}


def _map_together(on: ModelOnGraph, splits: list[Split]) -> float | None:
    """Mean average precision of all runs' kernels as one, where they share the test nodes."""
    nodes = splits[0].test
    if any(split.test is not nodes for split in splits):
        return None
    method: Any = on.model.method
    g, at = on.together(nodes)
    labels = torch.tensor(on.graph.labels[nodes], device=on.place.device)
    own = part(on.parameters, "kernel.")
    return round(retrieval_together(method.kernel, own, g[:, torch.tensor(at)], labels)[0], 4)


def retrieval_of_run(on: ModelOnGraph, run: int, nodes: np.ndarray) -> list[float] | None:
    """One run's mean average precision and precision at 10 by K̄ among some nodes, in percent.

    None where there is no kernel, for more than 20,000 nodes, and where no two of them are of one class.
    """
    if not on.model.method.has_kernel or not 0 < len(nodes) <= _MOST_RANKED:
        return None
    base: Any = on.model.method
    labels = torch.tensor(on.graph.labels[nodes], device=on.place.device)
    g, at = on.together(nodes)
    own = replica(part(on.parameters, "kernel."), run)
    figures = kernel_retrieval(base.kernel, own, g[run : run + 1, torch.tensor(at)], labels)
    found = [float(figure) for figure in figures]
    return None if np.isnan(found).any() else found
