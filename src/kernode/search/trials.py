"""Candidates of a method on random splits: trained in stacks, and one chosen by validation accuracy alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from kernode.compute.place import Place
from kernode.config import Config
from kernode.graph import Graph
from kernode.io import Split
from kernode.metrics.accuracy import accuracy
from kernode.models.fit import RUNGS, choose, fit_candidates
from kernode.search.baselines import ComparedMethod
from kernode.search.tasks import Failure, train_stack
from kernode.tasks.classes.method import NodeMethod
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.task import NodeTask
from kernode.tasks.classes.variants import CHOICES, candidates, configure, settings_key
from kernode.training.callbacks import Callback
from kernode.training.run import Run
from kernode.training.settings import PER_REPLICA, Training
from kernode.training.stopping import BestEpoch

Part = TypeVar("Part", bound=Config)
Cell = tuple[int, int]  # a split and a candidate, by their numbers


@dataclass(frozen=True)
class Candidate:
    """A method with its training, and as plain values the settings that distinguish it."""

    settings: dict[str, Any]
    method: NodeMethod
    training: Training


def candidates_of(method: ComparedMethod, graph: Graph) -> list[Candidate]:
    """Return all candidates, without settings that were searched for on this graph.

    Those of a choice such as "auto" are its own; a candidate of another method may name another ``variant``.
    """
    key = settings_key(graph)
    if method.variant in CHOICES:
        found = candidates(method.variant, key, tuned=False, **method.changes)
        return [Candidate({"variant": name}, *parts) for name, parts in found.items()]
    made = []
    for changes in method.candidates:
        settings = {"variant": method.variant, **method.changes, **changes}
        parts = configure(settings.pop("variant"), key, tuned=False, **settings)
        plain = {k: v.to_json() if isinstance(v, Config) else v for k, v in changes.items()}
        made.append(Candidate(plain, *parts))
    return made


def by_structure(members: Sequence[Candidate]) -> list[list[int]]:
    """Return numbers of candidates that can be one stack: all that differs may differ between replicas."""
    groups: dict[str, list[int]] = {}
    for number, one in enumerate(members):
        structure = json.dumps([_structure(one.method), _structure(one.training)], default=repr)
        groups.setdefault(structure, []).append(number)
    return list(groups.values())


def stacked(members: Sequence[Candidate]) -> tuple[NodeMethod, Training]:
    """Return the method and training of a stack whose replicas are these candidates of one structure."""
    return _merged([one.method for one in members]), _merged([one.training for one in members])


def _merged(parts: list[Part]) -> Part:
    """One part for all replicas: settings that differ are a tuple with a number for each."""
    changes: dict[str, Any] = {}
    for one in fields(parts[0]):
        values = [getattr(part, one.name) for part in parts]
        if any(value != values[0] for value in values):
            changes[one.name] = tuple(values) if one.name in _per_replica(parts[0]) else _merged(values)
    return replace(parts[0], **changes) if changes else parts[0]


def _structure(value: Any) -> Any:
    """A part without the settings that may differ between replicas."""
    if not isinstance(value, Config):
        return value
    names = [one.name for one in fields(value) if one.name not in _per_replica(value)]
    return type(value).__name__, {name: _structure(getattr(value, name)) for name in names}


def _per_replica(part: Config) -> tuple[str, ...]:
    return PER_REPLICA if isinstance(part, Training) else getattr(part, "per_replica", ())


class Trial(NamedTuple):
    """A candidate trained on a split: a replica of a stack."""

    on: NodeModelOnGraph
    replica: int
    validation: float  # accuracy in percent at the selected epoch
    history: np.ndarray  # accuracy by epoch


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
        """Train cells that are not done, one stack per structure; a replica's seed is its split's number."""
        todo = [cell for cell in cells if cell not in self.done]
        for numbers in by_structure(self.candidates):
            if own := [cell for cell in todo if cell[1] in numbers]:
                self.done |= zip(own, train_stack(own, self._train), strict=True)

    def trained(self, split: int) -> dict[int, Trial]:
        """Return the trials on a split that succeeded, by candidate."""
        found = {c: self.done.get((split, c)) for c in range(len(self.candidates))}
        return {c: one for c, one in found.items() if isinstance(one, Trial)}

    def _train(self, cells: Sequence[Cell]) -> list[Trial]:
        method, training = stacked([self.candidates[c] for _, c in cells])
        run = Run(tuple(s for s, _ in cells), self.place, self.callbacks, self.name)
        task = NodeTask.of_splits(self.graph, [self.splits[s] for s, _ in cells], run)
        fitted: Any = fit_candidates(task, {self.name: (method, training)}, split="random")
        on: NodeModelOnGraph = fitted
        if method.has_kernel:  # g is not on the GPU while the next stack trains, nor is what was prepared
            on = replace(on, known_g=on.g.cpu(), prepared=None)
        history = on.model.history.get(f"validation_{training.select_by}")
        if history is None or not len(history):  # a method without epochs
            history = accuracies(on, [self.splits[s].validation for s, _ in cells])[None]
        epochs = np.clip(fitted.model.kept_epochs, 1, len(history))
        kept = [history[epoch - 1, i] for i, epoch in enumerate(epochs)]
        # In a stack a replica trains on after it has stopped; those epochs do not count.
        last = [len(history)] * len(cells)
        if (rule := training.stopping_rule) is not None and "validation_loss" in on.model.history:
            losses = on.model.history["validation_loss"][epochs - 1, np.arange(len(epochs))]
            best = BestEpoch({}, torch.tensor(kept), torch.tensor(losses), torch.tensor(epochs))
            last = rule.last_epochs(best, len(history))
        return [Trial(on, i, float(kept[i]), history[: last[i], i].copy()) for i in range(len(cells))]


def accuracies(on: NodeModelOnGraph, nodes: list[np.ndarray]) -> np.ndarray:
    """Return the accuracy in percent of each replica, each on its own nodes."""
    rows = np.stack(nodes)
    found: np.ndarray = accuracy(on.probabilities(rows).argmax(axis=-1), on.classes.known[rows])
    return found


def pick_candidates(trials: Trials, first: int | None, *, halving: bool = False) -> list[int] | None:
    """Pick a candidate for each split by validation accuracy; None where every candidate failed.

    One for all splits by the mean over the ``first`` few, or for each split by itself (None). ``halving``:
    for each split as "auto" does, where all train as far as that choice looks. Only what is picked is trained
    on the other splits, and to its end; where it fails there, the choice is made again without it.
    """
    looked = trials
    if halving:
        short = [
            replace(one, training=replace(one.training, epochs=min(one.training.epochs, RUNGS[-1][0])))
            for one in trials.candidates
        ]
        looked = replace(trials, candidates=short, done={})
    numbers = range(len(trials.candidates))
    seen = range(len(trials.splits))[:first]
    looked.run(product(seen, numbers))
    while picked := _picked(looked, seen, first is not None, halving):
        cells = list(enumerate(picked))
        trials.run(cells)
        failed = {cell: one for cell in cells if isinstance(one := trials.done.get(cell), Failure)}
        if not failed:
            break
        looked.done |= failed
    trials.done = looked.done | trials.done
    return picked


def _picked(trials: Trials, seen: Sequence[int], one_for_all: bool, halving: bool) -> list[int] | None:
    if one_for_all:
        failed = {c for (_, c), one in trials.done.items() if isinstance(one, Failure)}
        left = [c for c in range(len(trials.candidates)) if c not in failed]
        means = {c: np.mean([trials.trained(s)[c].validation for s in seen]) for c in left}
        return [max(means, key=lambda c: means[c])] * len(trials.splits) if means else None
    picked = []
    for s in seen:
        own = trials.trained(s)
        if not own:
            return None
        by_epoch = [trial.history[:, None] for trial in own.values()]
        best = choose(by_epoch) if halving else int(np.argmax([one.validation for one in own.values()]))
        picked.append(list(own)[best])
    return picked
