"""Base class of tasks: targets on a graph and how they are learned."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from torch import Tensor

from kernode.compute.draws import Dropout
from kernode.compute.gpu import fused_sums
from kernode.compute.stack import Parameters
from kernode.graph import Graph
from kernode.maps.base import input_rates
from kernode.models.model import ModelOnGraph
from kernode.training.loop import Learner, Trained, TrainingLoop, stack_slices
from kernode.training.run import Run
from kernode.training.settings import Training

OnGraph = TypeVar("OnGraph", bound=ModelOnGraph)  # the result of a fit


class Task(ABC, Generic[OnGraph]):
    """Targets on a graph, and how they are learned. A new task is a frozen dataclass."""

    learner: ClassVar[Callable[..., Learner]]  # (task, method, training, prepared, replicas)
    graph: Graph  # seen by the map
    run: Run

    @property
    @abstractmethod
    def data(self) -> Iterable[np.ndarray]:
        """Arrays that must be equal to resume a checkpoint."""

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Number of training and validation items, by name, for the log."""

    @property
    def validates(self) -> bool:
        """Whether there is validation data."""
        return self.sizes.get("validation", 1) > 0

    @property
    def shares_validation(self) -> bool:
        """Whether all replicas have the same validation data."""
        return True

    def initial(self, method: Any, prepared: Any, replicas: slice) -> Parameters:
        """First parameters of some of the replicas."""
        first: Parameters = method.initial(prepared, self.run.draws(replicas), self.run.options)
        return first

    @abstractmethod
    def fitted(self, method: Any, training: Training, trained: Trained, **about: Any) -> OnGraph:
        """Return the trained model on its graph; ``about``: variant, split."""

    def with_run(self, run: Run) -> Self:
        """Return the task with another run."""
        return replace(self, run=run)  # type: ignore[type-var]

    def of(self, replicas: slice) -> Self:
        """Return the task of some of the replicas."""
        return self.with_run(self.run.with_seeds(self.run.seeds[replicas]))

    def method_for(self, method: Any) -> Any:
        """Return the method with the output width that the task needs."""
        return method

    def check(self, method: Any, training: Training) -> None:
        """Raise where a method cannot learn this task."""

    def begin(self, method: Any, training: Training) -> TrainingLoop:
        """Return the training loop of a method, one replica per seed, before its first epoch.

        Replicas train as few stacks; each gives what the run made alone with its seed gives.
        """
        started, run = time.perf_counter(), self.run
        self.check(method, training)
        prepared = method.map.prepare(self.graph, run.options)
        slices = stack_slices(self.initial(method, prepared, slice(1)), self.graph.n_nodes, run)
        stacks = [type(self).learner(self, method, training, prepared, replicas) for replicas in slices]
        facts = run.facts(self.graph, method, training, self.data)
        return TrainingLoop(stacks, training, run, facts, started)


class KernelLearner(Learner):
    """A stack of replicas of a method with a kernel; a task adds losses and evaluation.

    ``own``: further settings that may differ between replicas; ``first``: where the rows of a share begin.
    """

    def __init__(
        self,
        task: Task[Any],
        method: Any,
        training: Training,
        prepared: Any,
        replicas: slice,
        own: dict[str, Tensor] | None = None,
        **first: int,
    ) -> None:
        options = task.run.options
        settings = training.by_replica(task.run.replicas, options) | (own or {})
        self.own = {name: values[replicas] for name, values in settings.items()}
        self.prepared, self.method = prepared, method
        self.draws = task.run.draws(replicas)
        self.seeds = self.draws.seeds
        input_rate = input_rates(method.map, self.own["input_dropout"])
        self.dropout = Dropout(self.draws, self.own["dropout"], input_rate, **first)
        super().__init__(task.initial(method, prepared, replicas), training, self.own, options)

    @property
    def capturable(self) -> bool:  # type: ignore[override]
        """On a GPU, where neither the map nor the losses synchronise with the host."""
        able = self.seeds.is_cuda and self.method.map.capturable and fused_sums(self.seeds) is not None
        return able and self.ranks.alone
