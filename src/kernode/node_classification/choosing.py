"""One of several methods for a task: by successive halving on its validation nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kernode.compute.sharing import sharing
from kernode.errors import warn
from kernode.graph.share import ranks_of
from kernode.io.sizes import GraphSizes
from kernode.node_classification.fitting import AGAIN, Candidates, finished, fit_method, threads_of
from kernode.node_classification.halving import JUDGES, Tried, reached, rungs, survivors
from kernode.node_classification.method import Method
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.task import NodeTask
from kernode.node_classification.trainer import Course
from kernode.progress import note
from kernode.training.memory_check import refused
from kernode.training.run import Progress, Run

RUNS = "runs"  # the training of all runs that follows a choice by some, as its checkpoint's file is called


def fit_best(task: NodeTask, candidates: Candidates, split: str = "") -> ModelOnGraph:
    """Keep of some candidates the one that validates best (:mod:`kernode.node_classification.halving`).

    Where many runs share validation nodes the first few choose for all; with nodes of their own all do, since
    each brings more of them. What each candidate had stands in the model's ``chosen_by_validation``, and
    after how many epochs in ``epochs_tried``.
    """
    candidates = _to_be_tried(task, candidates)
    if task.run.checkpoint is not None:
        task.run.checkpoint.check(checkpoint_parts(candidates))
    if len(candidates) == 1:
        ((name, (method, training)),) = candidates.items()
        return fit_method(task, method, training, variant=name, split=split)
    varies = any(method.varies_by_replica(training) for method, training in candidates.values())
    shared = len(task.nodes.validation) == 1
    few = shared and not varies and task.run.replicas > JUDGES
    judging = task.of(slice(JUDGES)) if few else task
    with sharing():  # all of them begin with the same features and hops
        search = _Search(judging, candidates)
        chosen, course = search.winner()
        method, training = candidates[chosen]
        named = task.run.named(RUNS).called(chosen)
        if judging is task:
            with threads_of(task, training.epochs, f"training {chosen}"):
                course.epochs.job = replace(course.epochs.job, progress=task.run.progress, name=chosen)
                course.epochs.run()
                trained = course.trained()
            best = finished(
                task.with_run(named), course.method, training, trained, variant=chosen, split=split
            )
        else:
            del course
            best = fit_method(task.with_run(named), method, training, variant=chosen, split=split)
    epochs = max(len(values) for values in best.model.history.values())
    tried = search.tried | {chosen: Tried(best.model.validated(training.select_by), epochs)}
    if training.select_by == "map" and not any(one.validation for one in tried.values()):
        warn(
            f"no two validation nodes share a class, so that mAP chose nothing: {chosen} is the first "
            "that was tried. Give more validation nodes, or name a variant."
        )
    said = ", ".join(f"{name} {one.validation:.2f} % after {one.epochs}" for name, one in tried.items())
    validated = {name: round(one.validation, 4) for name, one in tried.items()}
    said = f"chose {chosen} by validation {training.select_by} ({said} epochs)"
    note("chosen", said, chosen=chosen, by=training.select_by, validation=validated)
    choice: dict[str, Any] = {
        "chosen_by_validation": {name: round(tried[name].validation, 4) for name in candidates},
        "epochs_tried": {name: tried[name].epochs for name in candidates},
    }
    return best.noted(**choice)


def checkpoint_parts(candidates: Iterable[str]) -> list[str]:
    """What a run among these candidates may keep in files of its own; "" is the file that was named."""
    several = list(candidates)
    return ["", *([*several, RUNS] if len(several) > 1 else []), AGAIN]


def _to_be_tried(task: NodeTask, candidates: Candidates) -> Candidates:
    """Those that fit into memory; the first alone where nothing can choose."""
    if not task.nodes.validates and len(candidates) > 1:
        first, *others = candidates
        are = "is" if len(others) == 1 else "are"
        warn(
            f"no node validates: {first} trains, and {', '.join(others)} {are} not tried. "
            "Name one as variant."
        )
        return {first: candidates[first]}
    if len(candidates) == 1:
        return candidates
    refusals = refused(GraphSizes.of(task.graph), candidates, task.run.place)
    too_large = {k: v for own in ranks_of(task.graph).of_all(refusals) for k, v in own.items()}
    for name, why in too_large.items():
        warn(f"{name} is not tried: {why}")
    return {name: one for name, one in candidates.items() if name not in too_large}


class _Search:
    """Candidates in training, side by side, until one is left."""

    def __init__(self, task: NodeTask, candidates: Candidates) -> None:
        self.task, self.candidates = task, candidates
        self.tried: dict[str, Tried] = {}
        self.told = _Told(task.run, [training.epochs for _, training in candidates.values()])

    def winner(self) -> tuple[str, Course]:
        """The one that is left, as far as it has trained."""
        courses: dict[str, Course] = {}
        most = max(training.epochs for _, training in self.candidates.values())
        with threads_of(self.task, most, self.told.name):
            for name, (method, training) in self.candidates.items():
                courses[name] = self._course(name, method, training)
            for epoch, count in rungs(len(courses)):
                validated = [self._run(name, course, epoch) for name, course in courses.items()]
                left = survivors(validated, epoch, count)
                courses = {name: course for i, (name, course) in enumerate(courses.items()) if i in left}
        return next(iter(courses.items()))

    def _course(self, name: str, method: Any, training: Any) -> Course:
        assert isinstance(method, Method)  # candidates that learn epoch by epoch
        run = replace(self.told.run.named(name), name=name)
        return Course(self.task.with_run(run), method.for_classes(len(self.task.classes)), training)

    def _run(self, name: str, course: Course, epoch: int) -> np.ndarray:
        self.told.begin(len(course.epochs.history), min(epoch, course.training.epochs))
        course.epochs.run(epoch)
        validated = course.validated()
        # Answers that are no numbers are never right: 0 %, which a file can hold.
        self.tried[name] = Tried(max(0.0, reached(validated, epoch)), min(epoch, len(validated)))
        return validated


class _Told:
    """All epochs of a search as one count, for whoever waits."""

    def __init__(self, run: Run, epochs: list[int]) -> None:
        """``epochs``: of every candidate, at most."""
        self.done = self.offset = 0
        total, before, left = 0, 0, len(epochs)
        for epoch, count in rungs(len(epochs)):
            epoch = min(epoch, max(epochs))
            total, before, left = total + left * (epoch - before), epoch, count
        self.name = name = f"choosing among {len(epochs)}"
        tell: Progress | None = None if run.progress is None else run.progress(total, name)
        self.run = replace(
            run, name=name, progress=None if tell is None else lambda _, __: self._counted(tell)
        )

    def begin(self, before: int, epoch: int) -> None:
        """A candidate goes on to an epoch from the one that it had reached before."""
        self.offset = self.done - before
        self.done += max(0, epoch - before)

    def _counted(self, tell: Progress) -> Progress:
        return lambda epoch, values: tell(self.offset + epoch, values)
