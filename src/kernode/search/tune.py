"""Search for settings with optuna: batches of trials are trained as stacks.

The structure of a map is shared by all replicas of a stack, so it has few choices; training settings may
differ between replicas and are ranges. A file stores the search, so that a later one continues it; several
processes may search in one file.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.replicas import seeds_from
from kernode.compute.tensor_options import TensorOptions
from kernode.config import has_setting
from kernode.errors import InputError, MissingExtraError, bad_setting
from kernode.graph import Graph
from kernode.io import Split, split_nodes
from kernode.io.edge_split import split_edges
from kernode.kernels import Normalized
from kernode.models.fit import fit_candidates
from kernode.models.overrides import part_of
from kernode.models.task import Task as LearningTask
from kernode.models.variants import known_name
from kernode.progress import log_event
from kernode.search.tasks import Failure, Task, run_tasks, train_stack
from kernode.storage import complete
from kernode.tasks.classes.labels import in_folds
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.task import LabelledNodes, NodeTask
from kernode.tasks.classes.variants import configure, settings_key
from kernode.tasks.links.method import LinkMethod
from kernode.tasks.links.task import LinkTask
from kernode.tasks.links.variants import LINK_VARIANTS, configure_links
from kernode.training.callbacks import Callback
from kernode.training.loop import TrainingLoop
from kernode.training.run import Run
from kernode.training.settings import Training

try:
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution, distribution_to_json
    from optuna.exceptions import ExperimentalWarning, StorageInternalError
    from optuna.trial import TrialState
    from sqlalchemy.exc import SQLAlchemyError
except ImportError:
    sentence = "tuning needs optuna: pip install 'kernode[tune]'."
    raise MissingExtraError(sentence, package="optuna", extra="tune") from None

Settings = dict[str, Any]  # by name, as `configure` takes them
Progress = Callable[[int, str], None]  # called with the number of trials done and a text

# Structures in a batch: its first trials draw them and the others share them in turn, so that stacks are
# large. TPE draws each setting independently, so training settings are not affected. But a structure counts
# once for each trial that shares it, so TPE settles on one too soon: the last structure of a batch is
# therefore drawn at random.
MOST_STRUCTURES = 4
_ATTEMPTS, _PAUSE = 4, 0.2  # to open a file that another process is creating; seconds

TRAINING = {
    "learning_rate": FloatDistribution(1e-3, 5e-2, log=True),
    "weight_decay": FloatDistribution(1e-6, 1e-2, log=True),
    "dropout": FloatDistribution(0.0, 0.9),
    "input_dropout": FloatDistribution(0.0, 0.9),
    "kernel_weight": FloatDistribution(0.0, 3.0),  # λ
    "margin": FloatDistribution(0.05, 1.0),  # α
}


@dataclass(frozen=True)
class Space:
    """Values to try for one method."""

    structure: dict[str, CategoricalDistribution]
    training: dict[str, FloatDistribution]
    own: dict[str, Any]  # the method's own values, or the nearest in the space
    layers: int  # hidden layers of a structure that has any

    def settings(self, drawn: Mapping[str, Any]) -> Settings:
        """Return drawn values as `configure` takes them; four digits, as in a settings file."""
        settings = {name: drawn[name] for name in self.structure}
        settings |= {name: float(f"{drawn[name]:.4g}") for name in self.training}
        if "hidden" in settings:
            if not settings["hidden"]:
                settings.pop("dropout", None)  # used only after hidden layers
            settings["hidden"] = [settings["hidden"]] * self.layers if settings["hidden"] else []
        return settings


def search_space(
    method: Method | LinkMethod, training: Training, choices: Mapping[str, tuple[Any, ...]]
) -> Space:
    """Return what to try for a method: choices of its structure, and the training settings that it uses."""
    feature_map = method.map
    if not choices:
        kind = type(feature_map).__name__
        sentence = f"{kind} has no settings to search for. Choose another variant."
        raise InputError(sentence, "setting", setting="variant")
    structure, layers = dict(choices), len(getattr(feature_map.unwrapped, "hidden", ()))
    if layers == 0 and 0 not in structure.get("hidden", (0,)):
        del structure["hidden"]  # a method of one layer keeps one layer
    own = {name: _own_value(method, training, name) for name in structure}
    structure = {name: of if own[name] in of else (*of, own[name]) for name, of in structure.items()}
    # A map without a hidden layer ignores dropout, but a structure that is tried may have one.
    may_drop = feature_map.drops_input and "hidden" in structure
    ignored = feature_map.ignored_settings - ({"dropout"} if may_drop else set())
    used = {name for name in TRAINING if part_of(name) == "training" or has_setting(method.loss, name)}
    ranges = {name: one for name, one in TRAINING.items() if name in used - ignored}
    for name, one in ranges.items():
        own[name] = min(max(_own_value(method, training, name), one.low), one.high)
    return Space(
        {name: CategoricalDistribution(of) for name, of in structure.items()}, ranges, own, max(1, layers)
    )


def _own_value(method: Method | LinkMethod, training: Training, name: str) -> Any:
    """A method's own value of a setting, in the form of a choice."""
    if name == "hidden":
        return next(iter(getattr(method.map.unwrapped, "hidden", ())), 0)
    if name == "normalized":
        return isinstance(method.kernel, Normalized)
    part: Any = training if part_of(name) == "training" else method
    while name not in vars(part):  # a setting of an inner part, such as the margin of a joint loss
        part = next(inner for inner in vars(part).values() if has_setting(inner, name))
    return getattr(part, name)


@dataclass(frozen=True)
class Problem:
    """A graph, a variant and a validation metric: "accuracy" or "map" of nodes, or "auc" of links.

    Test nodes and edges are never used. All replicas share the split of the first seed, since test nodes of
    one random split are training nodes of another.
    """

    graph: Graph
    variant: str
    metric: str
    replicas: int = 1  # of each trial
    seed: int = 0  # of the first replica, and of the split
    epochs: int | None = None  # None: the variant's
    split: str | None = None  # of nodes
    folds: int = 0  # of nodes; 0: the split's own validation nodes

    @property
    def of_links(self) -> bool:
        """Whether links are predicted, and not classes."""
        return self.metric == "auc"

    @property
    def split_name(self) -> str | None:
        """How nodes are split; by default as `kernode fit` splits them."""
        if self.of_links:
            return None
        return self.split or ("fastgcn" if known_name(self.graph) else "jk")

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the replicas of a trial, the same for all trials; each seed trains on every fold."""
        return tuple(s for s in seeds_from(self.seed, self.replicas) for _ in range(max(1, self.folds)))

    def configured(self, settings: Settings) -> tuple[Any, Training]:
        """Return the variant's method and training with other settings."""
        if self.of_links:
            return configure_links(self.variant, **settings)
        tuned = self.split_name == "fastgcn"  # no other search may have seen this split's test nodes
        return configure(self.variant, settings_key(self.graph), tuned=tuned, **settings)

    @cached_property
    def fixed(self) -> Settings:
        """Settings that all trials share."""
        method, training = self.configured({})
        epochs = training.epochs if self.epochs is None else self.epochs
        if not epochs or not isinstance(method, Method | LinkMethod):
            raise InputError(
                f"{self.variant} has no settings to search for: it trains no map.",
                "setting", setting="epochs" if self.epochs == 0 else "variant",
            )  # fmt: skip
        return {"epochs": epochs} | ({} if self.of_links else {"select_by": self.metric})

    @cached_property
    def space(self) -> Space:
        """Values to try."""
        method, training = self.configured(self.fixed)
        choices = (
            LINK_VARIANTS[self.variant.lower()].search_space if self.of_links else method.map.search_space
        )
        return search_space(method, training, choices)

    @property
    def facts(self) -> dict[str, Any]:
        """What two searches must share for one to continue the other."""
        nodes = b""
        if not self.of_links:
            task: Any = self.task(1, Run(self.seeds, TensorOptions.of()))
            nodes = b"".join(array.tobytes() for array in vars(task.nodes).values())
        drawn = self.space.structure | self.space.training
        return {
            "graph": self.graph.fingerprint,
            "variant": self.variant,
            "metric": self.metric,
            "replicas": self.replicas,
            "seed": self.seed,
            "epochs": self.fixed["epochs"],
            "split": self.split_name,
            "folds": self.folds,
            "nodes": hashlib.sha256(nodes).hexdigest(),
            "space": {name: distribution_to_json(one) for name, one in drawn.items()},
        }

    @cached_property
    def parts(self) -> list[Split]:
        """Training and validation nodes: one split, or one per fold."""
        (split,) = split_nodes(self.graph, self.split, [self.seed])
        if self.folds:
            nodes = np.union1d(split.train, split.validation)
            if not 2 <= self.folds <= len(nodes) // 2:
                raise bad_setting("folds", f"0 or an integer from 2 to {len(nodes) // 2}", self.folds)
            known = LabelledNodes.without_validation(nodes, self.graph.labels[nodes])
            folds = in_folds(known, self.folds, self.seed)
            return [Split(*both, []) for both in zip(folds.train, folds.validation, strict=True)]
        if not len(split.validation):
            sentence = "a search needs validation nodes. Choose a split that has some, or a number of folds."
            raise InputError(sentence, "missing", setting="split")
        return [split]

    def task(self, trials: int, run: Run) -> LearningTask[Any]:
        """Return the task of a stack of trials."""
        if self.of_links:
            return LinkTask(self.graph, split_edges(self.graph, self.seed), run)
        return NodeTask.of_splits(self.graph, self.parts * (trials * self.replicas), run)

    def measure(
        self, settings: list[Settings], options: TensorOptions, callbacks: tuple[Callback, ...] = ()
    ) -> np.ndarray:
        """Train settings of one structure as one stack: the best metric of each replica, trials × r."""
        changes = dict(settings[0])
        for name in self.space.training.keys() & changes.keys():
            changes[name] = tuple(one[name] for one in settings for _ in self.seeds)
        task = self.task(len(settings), Run(self.seeds * len(settings), options, callbacks))
        model: Any = fit_candidates(task, {self.variant: self.configured(changes)}).model
        epochs, replicas = model.kept_epochs - 1, np.arange(len(model.kept_epochs))
        best: np.ndarray = model.history[f"validation_{self.metric}"][epochs, replicas]
        return best.reshape(len(settings), -1)


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
        """Number of finished trials."""
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
    options: TensorOptions,
    threads: int | None = None,
    progress: Progress = lambda done, note: None,
) -> SearchResult:
    """Continue the search in a file until it has ``trials`` trials.

    Stacks of a batch are trained under ``joblib.parallel_config``, each with ``threads`` threads.
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
                with closing(run_tasks(tasks, options, threads=threads, local=local.__getitem__)) as finished:
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
        given.append(structure)  # shared in turn by the other trials
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
    options: TensorOptions,
    graph: Graph,
    without_graph: Problem,
    settings: list[Settings],
    callbacks: Any = (),
) -> list[np.ndarray | Failure]:
    """Return the validation values of settings of one structure, or why there are none."""
    problem = replace(without_graph, graph=graph)

    def train(members: Sequence[Settings]) -> Sequence[np.ndarray]:
        with warnings.catch_warnings():  # `kernode fit` warns with the settings that are used
            warnings.simplefilter("ignore", UserWarning)
            return list(problem.measure(list(members), options, callbacks))

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
    # The URL has no path: a ? or % in it would be interpreted.
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
    connection = sqlite3.connect(path, check_same_thread=False)  # shared by a connection pool
    connection.execute("PRAGMA trusted_schema = OFF")  # views and triggers of an unknown file have no effect
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and "studies" not in tables:  # optuna would add its tables
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
