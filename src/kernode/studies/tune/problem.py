"""What a search solves: how good settings are on validation data, many settings in one stack of replicas."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from kernode.compute.place import Place
from kernode.compute.replicas import seeds_from
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io import Split, split_nodes
from kernode.io.edge_split import EdgeSplit, split_edges
from kernode.models.fit import fit_candidates
from kernode.studies.tune.folds import fold_splits
from kernode.studies.tune.space import Space, link_space, node_space
from kernode.tasks.classes.configure import configure, known_name, settings_key
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.task import NodeTask
from kernode.tasks.links.method import LinkMethod
from kernode.tasks.links.task import LinkTask
from kernode.tasks.links.variants import configure_links, find_link_variant
from kernode.training.callbacks import Callback
from kernode.training.run import Run
from kernode.training.settings import Training

Settings = dict[str, Any]  # flat names, as `configure` takes them


@dataclass(frozen=True)
class Problem(ABC):
    """A graph, a variant by name, and a validation metric. No test node or edge has a part in it."""

    graph: Graph
    variant: str
    metric: str
    replicas: int = 1  # of each trial
    seed: int = 0  # of the first run, and of the split
    epochs: int | None = None  # None: as the variant has them

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
    def seeds(self) -> tuple[int, ...]:
        """One seed per replica of a trial: the same for all trials, which makes them easier to compare."""
        return seeds_from(self.seed, self.replicas)

    @abstractmethod
    def measure(
        self, settings: list[Settings], place: Place, callbacks: tuple[Callback, ...] = ()
    ) -> np.ndarray:
        """Train settings of one structure as one stack: the best metric of each replica, t trials × r."""

    @property
    def on_a_graph(self) -> Callable[[Graph], Problem]:
        """All of it but the graph, which a task carries by itself."""
        others = [field.name for field in fields(self) if field.name != "graph"]
        return partial(type(self), **{name: getattr(self, name) for name in others})

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
            "variant": self.variant,
            "metric": self.metric,
            "runs": self.replicas,
            "seed": self.seed,
            "epochs": self.fixed["epochs"],
            "space": self.space.to_json(),
        }


@dataclass(frozen=True)
class NodeProblem(Problem):
    """Accuracy or mean average precision on validation nodes, or on the folds of a cross-validation."""

    split: str | None = None
    folds: int = 0  # 0: the split's own validation nodes

    @property
    def split_name(self) -> str:
        """How nodes are split, where nothing is said as `kernode fit` does."""
        return self.split or ("fastgcn" if known_name(self.graph) else "jk")

    @cached_property
    def _configured(self) -> tuple[Method, Training]:
        _require_epochs(self.epochs)
        method, training = configure(self.variant, settings_key(self.graph))
        if not isinstance(method, Method) or not training.epochs:
            raise InputError(f"{self.variant} has no map that is trained: there is nothing to search for.")
        changes: Settings = {"epochs": self.epochs, "select_by": self.metric}
        method, training = configure(self.variant, settings_key(self.graph), **changes)
        assert isinstance(method, Method)
        return method, training

    @cached_property
    def space(self) -> Space:
        """Which values are tried."""
        return node_space(*self._configured)

    @property
    def fixed(self) -> Settings:
        """Settings that all trials share."""
        return {"epochs": self._configured[1].epochs, "select_by": self.metric}

    @property
    def facts(self) -> dict[str, Any]:
        """What two searches must share for one to continue the other."""
        arrays = vars(self._task.nodes).values()
        nodes = hashlib.sha256(b"".join(array.tobytes() for array in arrays))
        own = {"split": self.split_name, "folds": self.folds, "nodes": nodes.hexdigest()}
        return self._common_facts() | own

    @property
    def seeds(self) -> tuple[int, ...]:
        """One seed per replica of a trial: each run trains on every fold."""
        return tuple(s for s in seeds_from(self.seed, self.replicas) for _ in range(max(1, self.folds)))

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
    def _task(self) -> NodeTask:
        """One trial's nodes: a row per fold, or one for all."""
        return NodeTask.of_splits(self.graph, self.parts, Run(self.seeds, Place.of()))

    def task(self, trials: int, run: Run) -> NodeTask:
        """The task of a stack of trials: a row of nodes per replica where folds differ, else one for all."""
        times = trials * self.replicas if self.folds else 1
        return replace(self._task, nodes=self._task.nodes.repeated(times), run=run)

    def measure(
        self, settings: list[Settings], place: Place, callbacks: tuple[Callback, ...] = ()
    ) -> np.ndarray:
        """Train settings of one structure as one stack: the best metric of each replica, t trials × r."""
        method, training = configure(self.variant, settings_key(self.graph), **self._changes(settings))
        run = Run(self.seeds * len(settings), place, callbacks)
        model = fit_candidates(self.task(len(settings), run), {self.variant: (method, training)}).model
        return _at(model.history[f"validation_{self.metric}"], model.kept_epochs, len(settings))


@dataclass(frozen=True)
class LinkProblem(Problem):
    """AUC on validation edges."""

    @cached_property
    def _method(self) -> tuple[LinkMethod, Training]:
        _require_epochs(self.epochs)
        return configure_links(self.variant, epochs=self.epochs)

    @cached_property
    def space(self) -> Space:
        """Which values are tried."""
        return link_space(*self._method, find_link_variant(self.variant).search_space)

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

    def measure(
        self, settings: list[Settings], place: Place, callbacks: tuple[Callback, ...] = ()
    ) -> np.ndarray:
        """Train settings of one structure as one stack: the best AUC of each replica, t trials × r."""
        method, training = configure_links(self.variant, **self._changes(settings))
        run = Run(self.seeds * len(settings), place, callbacks)
        model = fit_candidates(
            LinkTask(self.graph, self.edges, run), {self.variant: (method, training)}
        ).model
        assert model.kept_epochs is not None
        return _at(model.history["validation_auc"], model.kept_epochs, len(settings))


def _at(history: np.ndarray, kept: np.ndarray, trials: int) -> np.ndarray:
    """Values (epochs × replicas) at each replica's kept epoch: t × r."""
    return history[kept - 1, np.arange(len(kept))].reshape(trials, -1)


def _require_epochs(epochs: int | None) -> None:
    if epochs == 0:
        raise InputError("without an epoch there is nothing to search for. Give --epochs ≥ 1.")
