"""Candidates of a method on random splits: trained in stacks, and one chosen by validation accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from kernode.compute.place import Place
from kernode.config import Config
from kernode.graph import Graph
from kernode.io import Split
from kernode.metrics.accuracy import accuracy
from kernode.models.fit import fit_candidates
from kernode.search.baselines import ComparedMethod
from kernode.search.tasks import Failure, train_stack
from kernode.tasks.classes.method import NodeMethod
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.sum import fit_sum
from kernode.tasks.classes.task import NodeTask
from kernode.tasks.classes.variants import CHOICES, candidates, configure, is_sum, settings_key
from kernode.training.callbacks import Callback
from kernode.training.run import Run
from kernode.training.settings import Training

Cell = tuple[int, int]  # a split and a candidate, by their numbers


@dataclass(frozen=True)
class Candidate:
    """A method with its training, and as plain values the settings that distinguish it."""

    settings: dict[str, Any]
    method: NodeMethod
    training: Training


def candidates_of(method: ComparedMethod, graph: Graph) -> list[Candidate]:
    """Return all candidates, without settings that were searched for on this graph.

    Those of a choice such as "auto" are its own.
    """
    key = settings_key(graph)
    if method.variant in CHOICES:
        found = candidates(method.variant, key, tuned=False, **method.changes)
        return [Candidate({"variant": name}, *parts) for name, parts in found.items()]
    made = []
    for changes in method.candidates:
        parts = configure(method.variant, key, tuned=False, **{**method.changes, **changes})
        plain = {k: v.to_json() if isinstance(v, Config) else v for k, v in changes.items()}
        made.append(Candidate(plain, *parts))
    return made


class Trial(NamedTuple):
    """A candidate trained on a split: a replica of a stack."""

    on: NodeModelOnGraph
    replica: int
    validation: float  # accuracy in percent

    @property
    def alone(self) -> NodeModelOnGraph:
        """The model of this replica."""
        return self.on.of_replicas([self.replica]) if len(self.on.model.seeds) > 1 else self.on


class Outcome(NamedTuple):
    """What was tried on each split, and what was chosen; without trials where every candidate failed."""

    chosen: list[int]  # number of the candidate
    trials: list[Trial]
    tried: list[list[float | None]]  # validation accuracies of each candidate; None where it failed
    failures: dict[int, Failure]  # the first of each candidate that failed


@dataclass
class Trials:
    """All trials on a graph; each cell is trained once."""

    graph: Graph
    candidates: list[Candidate]
    splits: list[Split]
    place: Place
    callbacks: tuple[Callback, ...] = ()
    name: str = ""  # in progress and logs
    done: dict[Cell, Trial | Failure] = field(default_factory=dict)

    def run(self, cells: Iterable[Cell]) -> None:
        """Train cells that are not done, one stack per candidate; a replica's seed is its split's number."""
        todo = [cell for cell in cells if cell not in self.done]
        for number in range(len(self.candidates)):
            own = [cell for cell in todo if cell[1] == number]
            if own:
                self.done |= zip(own, train_stack(own, self._train), strict=True)

    def trained(self, split: int) -> dict[int, Trial]:
        """Return the trials on a split that succeeded, by candidate."""
        found = {c: self.done.get((split, c)) for c in range(len(self.candidates))}
        return {c: one for c, one in found.items() if isinstance(one, Trial)}

    def task(self, splits: Sequence[int]) -> NodeTask:
        """Return the task of a stack with a replica for each of some splits."""
        run = Run(tuple(splits), self.place, self.callbacks, self.name)
        return NodeTask.of_splits(self.graph, [self.splits[s] for s in splits], run)

    def _train(self, cells: Sequence[Cell]) -> list[Trial]:
        candidate, task = self.candidates[cells[0][1]], self.task([s for s, _ in cells])
        parts = {self.name: (candidate.method, candidate.training)}
        on: Any = fit_candidates(task, parts, split="random")
        if candidate.method.has_kernel:  # nothing of it stays on the GPU while the next stack trains
            on = replace(on, known_g=on.g.cpu(), prepared=None)
        validation = accuracies(on, [self.splits[s].validation for s, _ in cells])
        return [Trial(on, i, float(one)) for i, one in enumerate(validation)]


def accuracies(on: NodeModelOnGraph, nodes: list[np.ndarray]) -> np.ndarray:
    """Return the accuracy in percent of each replica, each on its own nodes."""
    rows = np.stack(nodes)
    found: np.ndarray = accuracy(on.probabilities(rows).argmax(axis=-1), on.classes.known[rows])
    return found


def pick_candidates(trials: Trials, first: int | None) -> Outcome:
    """Pick one candidate for all splits by the mean over the ``first`` few, or one for each split (None).

    Only what is picked is trained on the other splits. Where it fails there, the choice is made again
    without it.
    """
    seen = range(len(trials.splits))[:first]
    trials.run(product(seen, range(len(trials.candidates))))
    while picked := _picked(trials, seen, first is not None):
        trials.run(enumerate(picked))
        if not any(isinstance(trials.done[cell], Failure) for cell in enumerate(picked)):
            break
    tried: list[list[float | None]] = [[] for _ in trials.candidates]
    failures: dict[int, Failure] = {}
    for (_, number), one in sorted(trials.done.items(), key=lambda item: item[0]):
        tried[number].append(one.validation if isinstance(one, Trial) else None)
        if isinstance(one, Failure):
            failures.setdefault(number, one)
    chosen = [trials.trained(s)[c] for s, c in enumerate(picked)]
    return Outcome(picked, chosen, tried, failures)


def _picked(trials: Trials, seen: Sequence[int], one_for_all: bool) -> list[int]:
    """The candidate of each split; empty where every one failed."""
    if one_for_all:
        failed = {c for (_, c), one in trials.done.items() if isinstance(one, Failure)}
        left = [c for c in range(len(trials.candidates)) if c not in failed]
        means = {c: np.mean([trials.trained(s)[c].validation for s in seen]) for c in left}
        return [max(means, key=lambda c: means[c])] * len(trials.splits) if means else []
    by_split = [trials.trained(s) for s in seen]
    return [max(own, key=lambda c: own[c].validation) for own in by_split] if all(by_split) else []


def fit_choice(trials: Trials, variant: str) -> Outcome:
    """Fit a choice such as "auto" or "sum" on each split alone, as an estimator does."""
    parts = {one.settings["variant"]: (one.method, one.training) for one in trials.candidates}
    names, fit = list(parts), fit_sum if is_sum(variant) else fit_candidates

    def train(splits: Sequence[int]) -> list[Trial]:
        on: Any = fit(trials.task(splits), parts, split="random")
        return [Trial(on, 0, float(accuracies(on, [trials.splits[splits[0]].validation])[0]))]

    found = [train_stack([s], train)[0] for s in range(len(trials.splits))]
    if failure := next((one for one in found if isinstance(one, Failure)), None):
        return Outcome([], [], [[] for _ in names], dict.fromkeys(range(len(names)), failure))
    done = [one for one in found if isinstance(one, Trial)]
    figures = [one.on.model.chosen_by_validation or {} for one in done]
    tried = [[by_name.get(name) for by_name in figures] for name in names]
    return Outcome([names.index(one.on.model.variant) for one in done], done, tried, {})
