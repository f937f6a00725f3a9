"""The search: batches of trials are asked for, trained as stacks and told; it can stop and go on anywhere."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.compute.place import Place
from kernode.errors import KernodeError
from kernode.graph import Graph
from kernode.progress import note
from kernode.studies.tasks import Task, run_tasks
from kernode.studies.tune.owners import OWNER, is_gone, this_process
from kernode.studies.tune.problem import Problem, Settings
from kernode.studies.tune.space import Space
from kernode.studies.tune.study import open_study, tpe_sampler
from kernode.training.callbacks import Callback
from kernode.training.loop import TrainingLoop

if TYPE_CHECKING:
    import optuna

Watch = Callable[[int, str], None]  # trials done, and what to say beside them

# A batch has so many structures at most: its first trials draw them, the others are given them in turn, so
# that stacks are high. TPE draws every setting by itself, so training settings are drawn as they would be
# anyway. But a structure now counts once for each trial that shares it, and TPE is sure of one too soon: the
# last of the structures is therefore drawn blindly, in every batch.
MOST_STRUCTURES = 4
_UNOWNED = 60.0  # seconds in which a trial that was asked for surely has an owner


@dataclass(frozen=True)
class Tried:
    """A trial that was trained: its mean validation value, and that of every replica."""

    number: int
    value: float
    runs: list[float]
    settings: Settings


@dataclass(frozen=True)
class Found:
    """All trials so far, best first, and why others failed."""

    trials: list[Tried]
    failures: list[str]

    @property
    def count(self) -> int:
        """Trials that are done, either way."""
        return len(self.trials) + len(self.failures)


@dataclass(frozen=True)
class _Asked:
    trial: optuna.Trial
    structure: dict[str, Any]
    settings: Settings


def search(
    problem: Problem,
    path: Path,
    *,
    trials: int,
    batch: int,
    place: Place,
    threads: int | None = None,
    watch: Watch = lambda done, note: None,
    callbacks: tuple[Callback, ...] = (),
) -> Found:
    """Go on with the search in a file until it has so many trials in all.

    Stacks of a batch are trained under ``joblib.parallel_config``, each with so many ``threads``.
    """
    with open_study(path, problem.facts) as study:
        _give_up_unfinished(study)
        while (left := trials - (found := _found(study)).count) > 0:
            # Seeded by how many there are: a search that goes on draws neither what it drew before nor
            # anything but what it would have drawn uninterrupted.
            state = np.random.SeedSequence([problem.seed, len(study.trials)]).generate_state(1)
            study.sampler = tpe_sampler(int(state[0]), startup=max(10, batch))
            blind = _blind_structure(problem.space, int(state[0]))
            asked = _ask_batch(study, problem.space, problem.fixed, min(batch, left), blind)
            _train(study, problem, _groups(asked), place, threads, watch, callbacks)
        watch(found.count, _best_note(found))
        return found


def _ask_batch(
    study: optuna.Study, space: Space, fixed: Settings, count: int, blind: dict[str, Any]
) -> list[_Asked]:
    """Draw a batch of few structures; the first trial of all is the method as it is."""
    given = [{} if study.trials else space.own] + [{}] * (MOST_STRUCTURES - 2) + [blind]
    asked = [_ask(study, space, fixed, one) for one in given[:count]]
    shared = [asked[number % MOST_STRUCTURES].structure for number in range(MOST_STRUCTURES, count)]
    return asked + [_ask(study, space, fixed, one) for one in shared]


def _blind_structure(space: Space, seed: int) -> dict[str, Any]:
    random = np.random.Generator(np.random.PCG64(seed))
    return {name: choices[random.integers(len(choices))] for name, choices in space.structure.items()}


def _ask(study: optuna.Study, space: Space, fixed: Settings, given: dict[str, Any]) -> _Asked:
    if given:
        study.enqueue_trial(given)
    trial = study.ask()
    trial.set_user_attr(OWNER, this_process())
    structure = {name: trial.suggest_categorical(name, choices) for name, choices in space.structure.items()}
    training = {
        name: trial.suggest_float(name, values.low, values.high, log=values.log)
        for name, values in space.ranges(structure).items()
    }
    settings = space.settings(structure, training) | fixed
    trial.set_user_attr("settings", settings)
    return _Asked(trial, structure, settings)


def _groups(asked: list[_Asked]) -> list[list[_Asked]]:
    """Trials that can be one stack: those of one structure."""
    groups: dict[str, list[_Asked]] = {}
    for one in asked:
        groups.setdefault(json.dumps(one.structure), []).append(one)
    return list(groups.values())


def _train(
    study: optuna.Study,
    problem: Problem,
    groups: list[list[_Asked]],
    place: Place,
    threads: int | None,
    watch: Watch,
    callbacks: tuple[Callback, ...],
) -> None:
    """Train a batch, a task for each of its stacks, and tell the study of each as it gets done."""
    tasks = [
        Task(outcomes, (problem.graph, problem.on_a_graph, [one.settings for one in group]))
        for group in groups
    ]

    @contextmanager
    def here(number: int) -> Iterator[dict[str, Any]]:
        yield {"callbacks": (*callbacks, _Watching(watch, _found(study), len(groups[number])))}

    with closing(run_tasks(tasks, place, threads=threads, here=here)) as finished:
        for number, found in finished:
            for one, outcome in zip(groups[number], found, strict=True):
                _tell(study, one, outcome)
            done = _found(study)
            watch(done.count, _best_note(done))


def _tell(study: optuna.Study, one: _Asked, outcome: np.ndarray | str) -> None:
    """A trial's values, or why it has none."""
    from optuna.exceptions import UpdateFinishedTrialError

    number = one.trial.number
    with suppress(UpdateFinishedTrialError):  # another process has given it up: then it is drawn once more
        if isinstance(outcome, str):
            one.trial.set_user_attr("reason", outcome)
            study.tell(one.trial, state=_state("FAIL"))
            note("trial", f"trial {number} failed: {outcome}", trial=number)
        else:
            one.trial.set_user_attr("runs", outcome.tolist())
            value = float(outcome.mean())
            study.tell(one.trial, value)
            note("trial", f"trial {number}: {value:.2f} %", trial=number, value=value, settings=one.settings)


def outcomes(
    place: Place,
    graph: Graph,
    on: Callable[[Graph], Problem],
    settings: list[Settings],
    callbacks: tuple[Callback, ...] = (),
) -> list[np.ndarray | str]:
    """The values of each of some settings of one structure, or why it has none.

    One that diverges, or too many at once for the memory, end a whole stack: its halves are then trained by
    themselves, which gives all others the values that they would have had.
    """
    return list(_outcomes(on(graph), settings, place, callbacks))


def _outcomes(
    problem: Problem, group: list[Settings], place: Place, callbacks: tuple[Callback, ...]
) -> Iterator[np.ndarray | str]:
    try:
        with warnings.catch_warnings():  # of each stack anew, and `fit` says them again
            warnings.simplefilter("ignore", UserWarning)
            values = problem.measure(group, place, callbacks)
    except (KernodeError, MemoryError, RuntimeError) as error:
        if not isinstance(error, KernodeError | MemoryError) and "memory" not in str(error):
            raise
        if len(group) == 1:
            yield " ".join(str(error).split()) or "the memory does not suffice."
            return
        half = len(group) // 2
        yield from _outcomes(problem, group[:half], place, callbacks)
        yield from _outcomes(problem, group[half:], place, callbacks)
    else:
        for own in values:
            yield own if np.isfinite(own).all() else "its validation value is not a number."


def _give_up_unfinished(study: optuna.Study) -> None:
    """Trials that a crash or Ctrl-C left running fail, without the reason that makes a failure count.

    Those of a process that searches in the same file just now are its own, and one without an owner may be a
    moment old.
    """
    for trial in study.get_trials(deepcopy=False, states=(_state("RUNNING"),)):
        known = OWNER in trial.user_attrs or _age(trial) > _UNOWNED
        if known and is_gone(trial.user_attrs.get(OWNER)):
            study.tell(trial.number, state=_state("FAIL"))


def _age(trial: optuna.trial.FrozenTrial) -> float:
    """Seconds since it was asked for."""
    begun = trial.datetime_start
    return float("inf") if begun is None else (datetime.now() - begun).total_seconds()


def _found(study: optuna.Study) -> Found:
    trials = study.get_trials(deepcopy=False)
    tried = [
        Tried(one.number, one.value, one.user_attrs["runs"], one.user_attrs["settings"])
        for one in trials
        if one.state == _state("COMPLETE") and one.value is not None
    ]
    reasons = [one.user_attrs.get("reason") for one in trials if one.state == _state("FAIL")]
    return Found(
        sorted(tried, key=lambda one: (-one.value, one.number)),
        [reason for reason in reasons if reason is not None],
    )


def _state(name: str) -> optuna.trial.TrialState:
    from optuna.trial import TrialState

    return TrialState[name]


def _best_note(found: Found) -> str:
    return f"best {found.trials[0].value:.2f} %" if found.trials else ""


class _Watching(Callback):
    """Show the epochs of a stack of trials."""

    def __init__(self, watch: Watch, found: Found, together: int) -> None:
        self.watch, self.found, self.together = watch, found, together

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Say how far the stack is."""
        text = f"{_best_note(self.found)}  {self.together} at once: epoch {loop.epoch} of {loop.epochs}"
        self.watch(self.found.count, text.strip())
