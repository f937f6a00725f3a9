"""Search for settings with optuna: batches of trials are trained as stacks.

A file stores the search, so that a later one continues it; several processes may search in one file.
"""

from __future__ import annotations

import json
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernode.compute.place import Place
from kernode.errors import InputError, MissingExtraError
from kernode.graph import Graph
from kernode.progress import note
from kernode.search.space import Problem, Settings, Space
from kernode.search.tasks import Failure, Task, run_tasks, train_stack
from kernode.storage import complete
from kernode.training.callbacks import Callback
from kernode.training.loop import TrainingLoop

try:
    import optuna
    from optuna.exceptions import ExperimentalWarning, StorageInternalError
    from optuna.trial import TrialState
    from sqlalchemy.exc import SQLAlchemyError
except ImportError:
    sentence = "tuning needs optuna: pip install 'kernode[tune]'."
    raise MissingExtraError(sentence, package="optuna", extra="tune") from None

Progress = Callable[[int, str], None]  # number of trials done, and a note

# A batch has at most so many structures: its first trials draw them, and the others share them in turn, so
# that stacks are high. TPE draws each setting by itself, so training settings are drawn as they would be
# anyway. But a structure counts once for each trial that shares it, and TPE is sure of one too soon: the last
# structure of a batch is therefore drawn at random.
MOST_STRUCTURES = 4
_ATTEMPTS, _PAUSE = 5, 0.2  # to open a file that another process is creating; seconds


@dataclass(frozen=True)
class Tried:
    """A trained trial: its mean validation value, and that of each replica."""

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
        """Number of trials that are done."""
        return len(self.trials) + len(self.failures)

    @property
    def best(self) -> str:
        """The best value, for progress."""
        return f"best {self.trials[0].value:.2f} %" if self.trials else ""


class _Drawn(NamedTuple):
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
    progress: Progress = lambda done, note: None,
    callbacks: tuple[Callback, ...] = (),
) -> Found:
    """Continue the search in a file until it has so many trials.

    Stacks of a batch are trained under ``joblib.parallel_config``, each with so many ``threads``.
    """
    with open_study(path, problem.facts) as study:
        while (left := trials - (found := _found(study)).count) > 0:
            # Seeded by the number of trials: a search in two parts draws what one search draws.
            seed = int(np.random.SeedSequence([problem.seed, len(study.trials)]).generate_state(1)[0])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                study.sampler = optuna.samplers.TPESampler(
                    seed=seed, n_startup_trials=max(10, batch), constant_liar=True
                )
            drawn = _draw_batch(study, problem, min(batch, left), seed)
            stacks: dict[str, list[_Drawn]] = {}
            for one in drawn:
                stacks.setdefault(json.dumps(one.structure), []).append(one)
            try:
                _train(study, problem, list(stacks.values()), place, threads, progress, callbacks)
            finally:  # after an interrupt: failed without a reason, they do not count
                for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                    if trial.number in [one.trial.number for one in drawn]:
                        study.tell(trial.number, state=TrialState.FAIL)
        progress(found.count, found.best)
        return found


def _draw_batch(study: optuna.Study, problem: Problem, count: int, seed: int) -> list[_Drawn]:
    """Draw a batch of few structures; the first trial of all has the method's own settings."""
    space, random = problem.space, np.random.Generator(np.random.PCG64(seed))
    at_random = {name: choices[random.integers(len(choices))] for name, choices in space.structure.items()}
    first = [{} if study.trials else space.own] + [{}] * (MOST_STRUCTURES - 2) + [at_random]
    drawn = [_draw(study, space, problem.fixed, given) for given in first[:count]]
    shared = [drawn[number % MOST_STRUCTURES].structure for number in range(MOST_STRUCTURES, count)]
    return drawn + [_draw(study, space, problem.fixed, given) for given in shared]


def _draw(study: optuna.Study, space: Space, fixed: Settings, given: dict[str, Any]) -> _Drawn:
    if given:
        study.enqueue_trial(given)
    trial = study.ask()
    structure = {name: trial.suggest_categorical(name, choices) for name, choices in space.structure.items()}
    training = {
        name: trial.suggest_float(name, values.low, values.high, log=values.log)
        for name, values in space.ranges(structure).items()
    }
    settings = space.settings(structure, training) | fixed
    trial.set_user_attr("settings", settings)
    return _Drawn(trial, structure, settings)


def _train(
    study: optuna.Study,
    problem: Problem,
    stacks: list[list[_Drawn]],
    place: Place,
    threads: int | None,
    progress: Progress,
    callbacks: tuple[Callback, ...],
) -> None:
    """Train a batch, a task for each of its stacks, and store each as it finishes."""
    without_graph: Any = replace(problem, graph=None)  # type: ignore[arg-type]
    tasks = [Task(measure, (problem.graph, without_graph, [one.settings for one in s])) for s in stacks]

    @contextmanager
    def local(number: int) -> Iterator[dict[str, Any]]:
        yield {"callbacks": (*callbacks, _StackProgress(progress, _found(study), len(stacks[number])))}

    with closing(run_tasks(tasks, place, threads=threads, local=local)) as finished:
        for number, outcomes in finished:
            for one, outcome in zip(stacks[number], outcomes, strict=True):
                _store(study, one, outcome)
            found = _found(study)
            progress(found.count, found.best)


def _store(study: optuna.Study, one: _Drawn, outcome: np.ndarray | Failure) -> None:
    number = one.trial.number
    if not isinstance(outcome, Failure) and not np.isfinite(outcome).all():
        outcome = Failure("diverged", "its validation value is not a number.")
    if isinstance(outcome, Failure):
        one.trial.set_user_attr("reason", outcome.sentence)
        study.tell(one.trial, state=TrialState.FAIL)
        note("trial", f"trial {number} failed: {outcome.sentence}", trial=number)
    else:
        one.trial.set_user_attr("runs", outcome.tolist())
        value = float(outcome.mean())
        study.tell(one.trial, value)
        note("trial", f"trial {number}: {value:.2f} %", trial=number, value=value, settings=one.settings)


def measure(
    place: Place,
    graph: Graph,
    without_graph: Problem,
    settings: list[Settings],
    callbacks: tuple[Callback, ...] = (),
) -> list[np.ndarray | Failure]:
    """Return the validation values of settings of one structure, or why there are none."""
    problem = replace(without_graph, graph=graph)

    def train(members: Sequence[Settings]) -> Sequence[np.ndarray]:
        with warnings.catch_warnings():  # `kernode fit` warns with the settings that are used
            warnings.simplefilter("ignore", UserWarning)
            return list(problem.measure(list(members), place, callbacks))

    return train_stack(settings, train, replicas=len(problem.seeds))


def _found(study: optuna.Study) -> Found:
    trials = study.get_trials(deepcopy=False)
    tried = [
        Tried(one.number, one.value, one.user_attrs["runs"], one.user_attrs["settings"])
        for one in trials
        if one.state == TrialState.COMPLETE and one.value is not None
    ]
    reasons = [one.user_attrs.get("reason") for one in trials if one.state == TrialState.FAIL]
    return Found(
        sorted(tried, key=lambda one: (-one.value, one.number)),
        [reason for reason in reasons if reason is not None],
    )


class _StackProgress(Callback):
    """Report the epochs of a stack of trials."""

    def __init__(self, progress: Progress, found: Found, size: int) -> None:
        self.progress, self.found, self.size = progress, found, size

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Report the epoch."""
        text = f"{self.found.best}  {self.size} at once: epoch {loop.epoch} of {loop.epochs}"
        self.progress(self.found.count, text.strip())


@contextmanager
def open_study(path: Path, facts: dict[str, Any]) -> Iterator[optuna.Study]:
    """Open or create the study in a file: optuna's, in SQLite, with facts about its problem."""
    path.parent.mkdir(parents=True, exist_ok=True)
    verbosity, storage = optuna.logging.get_verbosity(), None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        storage = _storage(path)
        study = optuna.create_study(
            storage=storage, study_name="kernode", direction="maximize", load_if_exists=True
        )
        with complete(path):
            study.get_trials(deepcopy=False)  # raises if damaged
            stored = study.user_attrs.get("facts", {} if study.trials else None)
        if stored is None:  # new
            study.set_user_attr("facts", facts)
        else:
            _require_same(path, stored, facts)
        yield study
    except (SQLAlchemyError, StorageInternalError) as error:
        raise _unusable(path, getattr(error, "orig", error)) from None
    finally:
        if storage is not None:
            storage.remove_session()
            storage.engine.dispose()  # closes the file
        optuna.logging.set_verbosity(verbosity)


def _storage(path: Path) -> optuna.storages.RDBStorage:
    for attempt in range(_ATTEMPTS):
        try:
            # The URL only names the kind of database: in one, a ? or % of a path has a meaning.
            return optuna.storages.RDBStorage(
                "sqlite:///study.db", engine_kwargs={"creator": lambda: _connect(path)}
            )
        except SQLAlchemyError:  # perhaps another process is creating it
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_PAUSE)
        except RuntimeError as error:  # of another version of optuna
            raise _unusable(path, error) from None
    raise AssertionError


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False)  # a pool shares it
    connection.execute("PRAGMA trusted_schema = OFF")  # views and triggers of an unknown file have no effect
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and "studies" not in tables:  # optuna would add its own
        raise sqlite3.DatabaseError("it is another database")
    connection.execute("PRAGMA journal_mode = WAL")
    # Do not wait for the disk at each of twenty commits per trial: a power failure costs the last trials.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _unusable(path: Path, reason: Any) -> InputError:
    sentence = f"{path} cannot be used for a search ({' '.join(str(reason).split())}). Choose another file."
    return InputError(sentence, "wrong-file", path=path, setting="study")


def _require_same(path: Path, stored: dict[str, Any], facts: dict[str, Any]) -> None:
    hashes = {"graph": "another graph", "nodes": "other labels or nodes", "space": "another search space"}
    for name, value in facts.items():
        if stored.get(name) != value:
            shown = "replicas" if name == "runs" else name
            what = hashes.get(name, f"{shown} {stored.get(name)}, not {value}")
            sentence = f"{path} holds a search with {what}. Choose another file, or move it away."
            raise InputError(sentence, "conflict", setting="study", what=shown, value=value)
