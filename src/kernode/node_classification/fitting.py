"""From a task to a model: one method trained, or several, of which the one that validates best is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kernode.compute.threads import cpu_threads
from kernode.data.sizes import GraphSizes
from kernode.errors import InputError, warn
from kernode.node_classification.method import NodeMethod
from kernode.node_classification.model import Model
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.task import NodeTask
from kernode.progress import log, timed
from kernode.training.memory_check import require_memory
from kernode.training.settings import Training

AGAIN = "all"  # the training that follows a choice, on all nodes, as its checkpoint's file is called
Candidates = Mapping[str, tuple[NodeMethod, Training]]  # by the name of the variant


def fit_method(task: NodeTask, method: NodeMethod, training: Training, **about: Any) -> ModelOnGraph:
    """Train one replica per seed; ``about`` is for the reader of the model: variant, split."""
    require_memory(GraphSizes.of(task.graph), method, training, task.run.place)
    if task.run.checkpoint is not None and not method.learns_by_gradient:
        raise InputError(f"a checkpoint has no effect on {method.title}: leave it out.")
    if task.run.checkpoint is not None:
        task.run.checkpoint.check()
    method = method.for_classes(len(task.classes))
    task = task.with_run(task.run.called(about.get("variant", "")))
    nodes, run = task.nodes, task.run
    with cpu_threads(run.threads, task.graph.n_nodes * run.replicas * training.epochs) as threads:
        log.info(
            f"training {run.name} on {task.graph.name}: {nodes.train.shape[1]:,} nodes train, "
            f"{nodes.validation.shape[1]:,} validate, {run.replicas} replica{'s' * (run.replicas > 1)}, "
            f"{run.place.device.type}, {threads} CPU thread{'s' * (threads > 1)}"
        )
        with timed(f"training {run.name}"):
            trained = method.train(task, training)
    log.info(f"{run.name} took {trained.seconds:.1f} s, epochs kept: {trained.epochs.tolist()}")
    model = Model.of(task, method, training, trained, **about)
    return ModelOnGraph(model, task.graph, task.run.place, prepared=trained.prepared)


def fit_best(task: NodeTask, candidates: Candidates, split: str = "") -> ModelOnGraph:
    """Train every candidate on the same nodes and seeds; keep the one with the best validation accuracy.

    It is the mean over the replicas, each at the epoch that it kept; the first of equals wins. What each
    had stands in the model's ``chosen_by_validation``.
    """
    if not task.nodes.validates and len(candidates) > 1:  # nothing to choose by
        first, *others = candidates
        warn(f"no node validates: {first} trains, and {', '.join(others)} is not tried. Name one as variant.")
        candidates = {first: candidates[first]}
    if task.run.checkpoint is not None:
        task.run.checkpoint.check([*(candidates if len(candidates) > 1 else [""]), AGAIN])
    if len(candidates) == 1:
        ((name, (method, training)),) = candidates.items()
        return fit_method(task, method, training, variant=name, split=split)
    for method, training in candidates.values():  # what cannot fit is refused before anything is computed
        require_memory(GraphSizes.of(task.graph), method, training, task.run.place)
    fitted, validated = {}, {}
    for number, (name, (method, training)) in enumerate(candidates.items(), 1):
        own = task.with_run(task.run.named(name).called(f"{name} ({number} of {len(candidates)})"))
        fitted[name] = fit_method(own, method, training, variant=name, split=split).settled()
        validated[name] = round(fitted[name].model.validation_accuracy(), 4)
    chosen = max(validated, key=lambda name: validated[name])
    tried = ", ".join(f"{name} {figure:.2f} %" for name, figure in validated.items())
    log.info(f"chose {chosen} by validation accuracy ({tried})")
    best = fitted[chosen]
    return replace(best, model=replace(best.model, chosen_by_validation=validated))


def fit_first(task: NodeTask, candidates: Candidates) -> ModelOnGraph:
    """Train the first candidate for all its epochs, where the nodes are too few to choose anything by."""
    name, (method, training) = next(iter(candidates.items()))
    if training.selection == "best":
        training = replace(training, selection="last", patience=None)
    warn(
        f"{task.nodes.train.shape[1]} training nodes are too few to hold some out: nothing was chosen, and "
        f"{name} trained for all of its {training.epochs} epochs."
    )
    return fit_method(task, method, training, variant=name)


def fit_again(task: NodeTask, chosen: Model) -> ModelOnGraph:
    """Train a chosen method anew on more nodes, for as many epochs as its replicas kept on average.

    For what was chosen with nodes held out: when the choice is made, they train, too.
    """
    method = chosen.method.chosen(chosen, task.graph)
    epochs = max(1, round(float(np.mean(chosen.kept_epochs)))) if chosen.training.epochs else 0
    training = replace(chosen.training, selection="last", epochs=epochs, patience=None)
    again = task.run.named(AGAIN).called(f"{chosen.variant} on all labels".strip())
    on = fit_method(
        task.with_run(again), method, training,
        variant=chosen.variant, split=chosen.split,
    )  # fmt: skip
    return replace(on, model=replace(on.model, chosen_by_validation=chosen.chosen_by_validation))
