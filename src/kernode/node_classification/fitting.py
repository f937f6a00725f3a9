"""From a task to a model: one method, trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from kernode.compute.place import cpu_threads
from kernode.data.sizes import GraphSizes
from kernode.errors import InputError, warn
from kernode.graph.share import GraphShare, require_whole
from kernode.node_classification.calibration import calibration_of
from kernode.node_classification.method import NodeMethod
from kernode.node_classification.model import Model
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.task import NodeTask
from kernode.progress import note, timed
from kernode.training.life_signs import note_trained
from kernode.training.loop import Trained
from kernode.training.memory_check import require_memory
from kernode.training.settings import Training

AGAIN = "all"  # the training that follows a choice, on all nodes, as its checkpoint's file is called
Candidates = Mapping[str, tuple[NodeMethod, Training]]  # by the name of the variant


def fit_method(task: NodeTask, method: NodeMethod, training: Training, **about: Any) -> ModelOnGraph:
    """Train one replica per seed; ``about`` is for the reader of the model: variant, split."""
    if not method.learns_by_gradient:
        require_whole(task.graph, method.title)
    require_memory(GraphSizes.of(task.graph), method, training, task.run.place)
    if task.run.checkpoint is not None and not method.learns_by_gradient:
        raise InputError(f"a checkpoint has no effect on {method.title}: leave it out.")
    if task.run.checkpoint is not None:
        task.run.checkpoint.check()
    method = method.for_classes(len(task.classes))
    task = task.with_run(task.run.called(about.get("variant", "")))
    with threads_of(task, training.epochs, f"training {task.run.name}"):
        trained = method.train(task, training)
    return finished(task, method, training, trained, **about)


@contextmanager
def threads_of(task: NodeTask, epochs: int, what: str) -> Iterator[None]:
    """The threads that so many epochs of a task are worth; what takes them is timed, and in the log."""
    nodes, run = task.nodes, task.run
    with cpu_threads(run.threads) as threads:
        note(
            "training",
            f"{what} on {task.graph.name}: {nodes.train.shape[1]:,} nodes train, "
            f"{nodes.validation.shape[1]:,} validate, {run.replicas} replica{'s' * (run.replicas > 1)}, "
            f"{run.place.device.type}, {threads} CPU thread{'s' * (threads > 1)}",
            training=run.name, graph=task.graph.name, train=nodes.train.shape[1],
            validation=nodes.validation.shape[1], seeds=run.seeds, epochs=epochs,
            device=run.place.device.type, precision=run.precision, threads=threads,
        )  # fmt: skip
        with timed(what):
            yield


def finished(
    task: NodeTask, method: NodeMethod, training: Training, trained: Trained, **about: Any
) -> ModelOnGraph:
    """What training left, as a model on its graph, calibrated by the validation nodes."""
    note_trained(task.run, trained.seconds, trained.epochs)
    model = Model.of(task, method, training, trained, **about)
    whole = not isinstance(task.graph, GraphShare)  # else means stand for training nodes, wherever they are
    on = ModelOnGraph(model, task.graph, task.run.place, whole, prepared=trained.prepared)
    calibration = calibration_of(on, task.nodes)
    if calibration is None:
        return on
    note("calibrated", f"calibrated on {calibration.nodes:,} nodes: {calibration.together}")
    return on.noted(calibration=calibration)


def fit_first(task: NodeTask, candidates: Candidates) -> ModelOnGraph:
    """Train the first candidate for all its epochs, where the nodes are too few to choose anything by."""
    name, (method, training) = next(iter(candidates.items()))
    if training.selection == "best":
        training = training.to_the_last()
    warn(
        f"{task.nodes.train.shape[1]} training nodes are too few to hold some out: nothing was chosen, and "
        f"{name} trained for all of its {training.epochs} epochs."
    )
    return fit_method(task, method, training, variant=name)


def fit_again(task: NodeTask, chosen: Model) -> ModelOnGraph:
    """Train a chosen method anew on more nodes, for as many epochs as its replicas kept on average.

    For what was chosen with nodes held out: when the choice is made, they train, too. How sure answers may be
    was seen on them before they did.
    """
    method = chosen.method.chosen(chosen, task.graph)
    epochs = max(1, round(float(np.mean(chosen.kept_epochs)))) if chosen.training.epochs else 0
    training = replace(chosen.training.to_the_last(), epochs=epochs)
    again = task.run.named(AGAIN).called(f"{chosen.variant} on all labels".strip())
    on = fit_method(
        task.with_run(again), method, training,
        variant=chosen.variant, split=chosen.split,
    )  # fmt: skip
    held_out = chosen.calibration
    calibration = None if held_out is None else held_out.for_others(task.run.replicas)
    return on.noted(calibration=calibration, **chosen.choice)
