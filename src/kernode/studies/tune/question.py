"""What a search asks: how good settings are on validation data, many settings in one stack of replicas."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernode.compute.place import Place
from kernode.data import Split, split_nodes
from kernode.data.edge_split import EdgeSplit, split_edges
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.link_prediction.experiment import configure_links
from kernode.link_prediction.method import LinkMethod
from kernode.link_prediction.trainer import train_links
from kernode.node_classification.experiment import known_name, lesson_of, settings_key
from kernode.node_classification.kled import KLED
from kernode.node_classification.method import Method
from kernode.node_classification.model import Model
from kernode.node_classification.task import Lesson
from kernode.node_classification.variants import configure
from kernode.studies.cost import Sizes, require_memory
from kernode.studies.tune.folds import fold_splits
from kernode.studies.tune.space import Space, link_space, node_space
from kernode.training.loop import Progress
from kernode.training.settings import Training, seeds_from

Settings = dict[str, Any]  # flat names, as `configure` takes them


@dataclass(frozen=True)
class Question(ABC):
    """A graph, a method by name, and a validation metric. No test node or edge has a part in it."""

    graph: Graph
    name: str
    metric: str
    runs: int = 1
    seed: int = 0  # of the first run, and of the split
    epochs: int | None = None  # None: as the method has them

    @property
    @abstractmethod
    def space(self) -> Space:
        """Which values are tried."""

    @property
    @abstractmethod
    def fixed(self) -> Settings:
        """Settings that all trials share."""

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What two searches must share for one to continue the other."""

    @property
    def seeds(self) -> list[int]:
        """One seed per replica of a trial: the same for all trials, which makes them easier to compare."""
        return seeds_from(self.seed, self.runs)

    @abstractmethod
    def measure(self, settings: list[Settings], place: Place, progress: Progress | None = None) -> np.ndarray:
        """Train settings of one structure as one stack: the best metric of each replica, t trials × r."""

    def _changes(self, settings: list[Settings]) -> Settings:
        """Settings of a whole stack: training settings are one number per replica, the structure is one."""
        changes = dict(settings[0])
        for name in self.space.training:
            if name in changes:
                changes[name] = tuple(one[name] for one in settings for _ in self.seeds)
        return changes

    def _common_facts(self) -> dict[str, Any]:
        return {
            "graph": self.graph.fingerprint,
            "variant": self.name,
            "metric": self.metric,
            "runs": self.runs,
            "seed": self.seed,
            "epochs": self.fixed["epochs"],
            "space": self.space.to_json(),
        }


@dataclass(frozen=True)
class NodeQuestion(Question):
    """Accuracy or mean average precision on validation nodes, or on the folds of a cross-validation."""

    split: str | None = None
    folds: int = 0  # 0: the split's own validation nodes

    @property
    def split_name(self) -> str:
        """How nodes are split, where nothing is said as `kernode fit` does."""
        return self.split or ("fastgcn" if known_name(self.graph) else "jk")

    @cached_property
    def _variant(self) -> tuple[Method, Training]:
        method, training = configure(self.name, settings_key(self.graph))
        if not isinstance(method, KLED) and training.epochs and self.epochs != 0:
            changes: Settings = {"epochs": self.epochs, "select_by": self.metric}
            method, training = configure(self.name, settings_key(self.graph), **changes)
            assert isinstance(method, Method)
            return method, training
        raise InputError(f"{self.name} is not trained: there is nothing to search for.")

    @cached_property
    def space(self) -> Space:
        """Which values are tried."""
        return node_space(*self._variant)

    @property
    def fixed(self) -> Settings:
        """Settings that all trials share."""
        return {"epochs": self._variant[1].epochs, "select_by": self.metric}

    @property
    def facts(self) -> dict[str, Any]:
        """What two searches must share for one to continue the other."""
        arrays = vars(self._lesson[0]).values()
        nodes = hashlib.sha256(b"".join(a.tobytes() for a in arrays if isinstance(a, np.ndarray)))
        own = {"split": self.split_name, "folds": self.folds, "nodes": nodes.hexdigest()}
        return self._common_facts() | own

    @property
    def seeds(self) -> list[int]:
        """One seed per replica of a trial: each run trains on every fold."""
        return [seed for seed in seeds_from(self.seed, self.runs) for _ in range(max(1, self.folds))]

    @cached_property
    def parts(self) -> list[Split]:
        """Training and validation nodes, one pair or one per fold.

        All runs share the split of the first: test nodes of one random split are training nodes of another.
        """
        (split,) = split_nodes(self.graph, self.split, [self.seed])
        if self.folds:
            nodes = np.union1d(split.train, split.validation)
            return fold_splits(nodes, self.graph.labels[nodes], self.folds, self.seed)
        if not len(split.validation):
            raise InputError("a search needs validation nodes. Give a --split that has some, or --folds.")
        return [split]

    @cached_property
    def _lesson(self) -> tuple[Lesson, np.ndarray]:
        return lesson_of(self.graph, self.parts)

    def lesson(self, trials: int) -> Lesson:
        """The lesson of a stack of trials: a row per replica where folds differ, else one for all."""
        lesson, _ = self._lesson
        if not self.folds:
            return lesson
        times = (trials * self.runs, 1)
        return replace(
            lesson,
            train=np.tile(lesson.train, times),
            train_labels=np.tile(lesson.train_labels, times),
            validation=np.tile(lesson.validation, times),
            validation_labels=np.tile(lesson.validation_labels, times),
        )

    def measure(self, settings: list[Settings], place: Place, progress: Progress | None = None) -> np.ndarray:
        """Train settings of one structure as one stack: the best metric of each replica, t trials × r."""
        method, training = configure(self.name, settings_key(self.graph), **self._changes(settings))
        require_memory(Sizes.of(self.graph), method, training, place)
        _, classes = self._lesson
        names = tuple(self.graph.class_names[label] for label in classes)
        model = Model.learn(
            self.graph, method, training, self.lesson(len(settings)), self.seeds * len(settings), place,
            names, progress=progress,
        )  # fmt: skip
        return _at(model.history[f"validation_{self.metric}"], model.kept_epochs, len(settings))


@dataclass(frozen=True)
class LinkQuestion(Question):
    """AUC on validation edges."""

    @cached_property
    def _method(self) -> tuple[LinkMethod, Training]:
        if self.epochs == 0:
            raise InputError("without an epoch there is nothing to search for. Give --epochs ≥ 1.")
        return configure_links(self.name, epochs=self.epochs)

    @cached_property
    def space(self) -> Space:
        """Which values are tried."""
        return link_space(*self._method)

    @property
    def fixed(self) -> Settings:
        """Settings that all trials share."""
        return {"epochs": self._method[1].epochs}

    @property
    def facts(self) -> dict[str, Any]:
        """What two searches must share for one to continue the other."""
        return self._common_facts()

    @cached_property
    def edges(self) -> EdgeSplit:
        """VGAE's split, that of `kernode links` with the same seed."""
        return split_edges(self.graph, self.seed)

    def measure(self, settings: list[Settings], place: Place, progress: Progress | None = None) -> np.ndarray:
        """Train settings of one structure as one stack: the best AUC of each replica, t trials × r."""
        method, training = configure_links(self.name, **self._changes(settings))
        require_memory(Sizes.of(self.edges.graph), method, training, place)
        seeds = self.seeds * len(settings)
        trained = train_links(self.edges, method, training, seeds, place, progress=progress)
        return _at(trained.history["validation_auc"], trained.epochs, len(settings))


def _at(history: np.ndarray, kept: np.ndarray, trials: int) -> np.ndarray:
    """Values (epochs × replicas) at each replica's kept epoch: t × r."""
    return history[kept - 1, np.arange(len(kept))].reshape(trials, -1)
