"""Search for settings with optuna: batches of trials are trained as stacks.

A file stores the search, so that a later one continues it; several processes may search in one file.
"""

from __future__ import annotations

import json
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError

from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.progress import log_event
from kernode.search.space import Problem, Settings
from kernode.search.tasks import Failure, Task, run_tasks, train_stack
from kernode.storage import complete
from kernode.training.callbacks import Callback
from kernode.training.loop import TrainingLoop

Progress = Callable[[int, str], None]  # number of trials done, and a note

# A batch has at most so many structures: its first trials draw them, and the others share them in turn, so
# that stacks are high. TPE draws each setting by itself, so training settings are drawn as they would be
# anyway. But a structure counts once for each trial that shares it, and TPE is sure of one too soon: the last
# structure of a batch is therefore drawn at random.
MOST_STRUCTURES = 4
_ATTEMPTS, _PAUSE = 4, 0.2  # to open a file that another process is creating; seconds


@dataclass(frozen=True)
class TrialResult:
    """A trained trial: its mean validation value, and that of each replica."""

    number: int
    value: float
    runs: list[float]
    settings: Settings


@dataclass(frozen=True)
class SearchResult:
    """All trials so far, best first, and why others failed."""

    trials: list[TrialResult]
    failures: list[str]

    @property
    def count(self) -> int:
        """Number of trials that are done."""
        return len(self.trials) + len(self.failures)

    @property
    def best(self) -> str:
        """The best value, for progress."""
        return f"best {self.trials[0].value:.2f} %" if self.trials else ""


def search(
    problem: Problem,
    path: Path,
    *,
    trials: int,
    batch: int,
    place: Place,
    threads: int | None = None,
    progress: Progress = lambda done, note: None,
) -> SearchResult:
    """Continue the search in a file until it has so many trials.

    Stacks of a batch are trained under ``joblib.parallel_config``, each with so many ``threads``.
    """
    without_graph: Any = replace(problem, graph=None)  # type: ignore[arg-type]
    with open_study(path, problem.facts) as study:
        while (left := trials - (found := _found(study)).count) > 0:
            stacks = _draw_batch(study, problem, min(batch, left), max(10, batch))
            settings = [[one.user_attrs["settings"] for one in stack] for stack in stacks]
            tasks = [Task(measure, (problem.graph, without_graph, one)) for one in settings]
            callbacks = [_StackProgress(progress, found, len(stack)) for stack in stacks]
            local = [nullcontext({"callbacks": (one,)}) for one in callbacks]
            try:
                with closing(run_tasks(tasks, place, threads=threads, local=local.__getitem__)) as finished:
                    for number, outcomes in finished:
                        for one, outcome in zip(stacks[number], outcomes, strict=True):
                            _store(study, one, outcome)
                        progress(_found(study).count, _found(study).best)
            finally:  # after an interrupt: failed without a reason, they do not count
                for one in (one for stack in stacks for one in stack):
                    study.tell(one, state=TrialState.FAIL, skip_if_finished=True)
        progress(found.count, found.best)
        return found


def _draw_batch(study: optuna.Study, problem: Problem, count: int, startup: int) -> list[list[optuna.Trial]]:
    """Draw a batch of few structures, by structure; the first trial of all has the method's own settings."""
    # Seeded by the number of trials: a search in two parts draws what one search draws.
    seed = int(np.random.SeedSequence([problem.seed, len(study.trials)]).generate_state(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, constant_liar=True)
    space, random = problem.space, np.random.Generator(np.random.PCG64(seed))
    at_random = {name: of.choices[random.integers(len(of.choices))] for name, of in space.structure.items()}
    given = [{} if study.trials else space.own] + [{}] * (MOST_STRUCTURES - 2) + [at_random]
    stacks: dict[str, list[optuna.Trial]] = {}
    for number in range(count):
        if given[number]:
            study.enqueue_trial(given[number])
        trial = study.ask({**space.structure, **space.training})
        trial.set_user_attr("settings", space.settings(trial.params) | problem.fixed)
        structure = {name: trial.params[name] for name in space.structure}
        stacks.setdefault(json.dumps(structure), []).append(trial)
        given.append(structure)  # shared by the trials after the first few, in turn
    return list(stacks.values())


def _store(study: optuna.Study, trial: optuna.Trial, outcome: np.ndarray | Failure) -> None:
    number = trial.number
    if not isinstance(outcome, Failure) and not np.isfinite(outcome).all():
        outcome = Failure("diverged", "its validation value is not a number.")
    if isinstance(outcome, Failure):
        trial.set_user_attr("reason", outcome.sentence)
        study.tell(trial, state=TrialState.FAIL)
        log_event("trial", f"trial {number} failed: {outcome.sentence}", trial=number)
    else:
        trial.set_user_attr("runs", outcome.tolist())
        value, settings = float(outcome.mean()), trial.user_attrs["settings"]
        study.tell(trial, value)
        log_event("trial", f"trial {number}: {value:.2f} %", trial=number, value=value, settings=settings)


def measure(
    place: Place, graph: Graph, without_graph: Problem, settings: list[Settings], callbacks: Any = ()
) -> list[np.ndarray | Failure]:
    """Return the validation values of settings of one structure, or why there are none."""
    problem = replace(without_graph, graph=graph)

    def train(members: Sequence[Settings]) -> Sequence[np.ndarray]:
        with warnings.catch_warnings():  # `kernode fit` warns with the settings that are used
            warnings.simplefilter("ignore", UserWarning)
            return list(problem.measure(list(members), place, callbacks))

    return train_stack(settings, train, replicas=len(problem.seeds))


def _found(study: optuna.Study) -> SearchResult:
    trials = study.get_trials(deepcopy=False)
    tried = [
        TrialResult(one.number, one.value, one.user_attrs["runs"], one.user_attrs["settings"])
        for one in trials
        if one.state == TrialState.COMPLETE and one.value is not None
    ]
    failed = [one.user_attrs for one in trials if one.state == TrialState.FAIL]
    reasons = [one["reason"] for one in failed if "reason" in one]
    return SearchResult(sorted(tried, key=lambda one: (-one.value, one.number)), reasons)


@dataclass
class _StackProgress(Callback):
    """Report the epochs of a stack of trials."""

    progress: Progress
    found: SearchResult
    size: int

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
    # The URL only names the kind of database: in one, a ? or % of a path has a meaning.
    url, arguments = "sqlite:///study.db", {"creator": lambda: _connect(path)}
    try:
        for _ in range(_ATTEMPTS):
            with suppress(SQLAlchemyError):  # perhaps another process is creating it
                return optuna.storages.RDBStorage(url, engine_kwargs=arguments)
            time.sleep(_PAUSE)
        return optuna.storages.RDBStorage(url, engine_kwargs=arguments)
    except RuntimeError as error:  # of another version of optuna
        raise _unusable(path, error) from None


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
            what = hashes.get(name, f"{name} {stored.get(name)}, not {value}")
            sentence = f"{path} holds a search with {what}. Choose another file, or move it away."
            raise InputError(sentence, "conflict", setting="study", what=name, value=value)
