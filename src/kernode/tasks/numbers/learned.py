"""A map learned from numbers by squared error, whose columns a Gaussian process compares nodes by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.stack import Parameters, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.kernels import Linear
from kernode.maps import FeatureMap
from kernode.maps.layers.mlp import initial_linear
from kernode.metrics.scoring import number_score, require_number_scoring
from kernode.models.fit import fit_candidates
from kernode.models.method import KernelMethod
from kernode.models.task import KernelLearner, Task
from kernode.models.variants import Variant
from kernode.progress import report_progress
from kernode.training.callbacks import Callback
from kernode.training.loop import Trained, TrainingLoop
from kernode.training.run import Run
from kernode.training.settings import Training

WIDTH = 16  # d, of a map without outputs
_SHARE = 0.6  # of the fitted numbers, by which a map is trained
_FEWEST = 10
_HEAD = 900  # stream of the head's first parameters
_ELSEWHERE = ("precision", "threads", "folds")  # settings of training that the regressor has, or no use for


@dataclass(frozen=True)
class LearnedMap(KernelMethod):
    """A number by a linear head on g: ``⟨w, g(v)⟩ + b``."""

    def initial(self, prepared: Any, draws: Draws, options: TensorOptions, classes: int = 1) -> Parameters:
        """Initial parameters, ``head.…`` besides the map's."""
        parameters = super().initial(prepared, draws, options)
        with torch.no_grad():
            width = self.represent(parameters, prepared).shape[-1]  # d: not every map says it
        weight, bias = initial_linear(width, 1, _HEAD, draws, options)
        return parameters | {"head.weight": weight.contiguous(), "head.bias": bias}

    def numbers(
        self, parameters: Parameters, prepared: Any, nodes: Tensor, dropout: Dropout | None = None
    ) -> Tensor:
        """Predictions for m nodes: r × m."""
        g = self.represent(parameters, prepared, dropout)[:, nodes]
        return torch.baddbmm(parameters["head.bias"][:, None], g, parameters["head.weight"])[..., 0]


class MapLearner(KernelLearner):
    """Replicas that learn numbers by squared error."""

    def __init__(
        self, task: MapTask, method: LearnedMap, training: Training, prepared: Any, replicas: slice
    ) -> None:
        super().__init__(task, method, training, prepared, replicas)
        self.task, self.score = task, f"validation_{training.select_by}"
        self.nodes, self.targets, self.validation, self.truth = map(torch.from_numpy, task.data)

    def losses(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """Mean squared error of the training nodes, with fresh dropout."""
        dropout = self.dropout.at(self.draws.at(epoch))
        found = self.method.numbers(self.parameters, self.prepared, self.nodes, dropout)
        return {"loss": (found - self.targets).square().mean(dim=1)}

    @torch.no_grad()
    def evaluate(self) -> dict[str, Tensor]:
        """Mean squared error of the validation nodes, and the figure that chooses the epoch."""
        found = self.method.numbers(self.current, self.prepared, self.validation)
        truth, *predicted = (self.task.in_units(one.numpy()) for one in (self.truth, *found))
        score = [number_score(self.training.select_by, truth, one) for one in predicted]
        return {
            "validation_loss": (found - self.truth).square().mean(dim=1),
            self.score: torch.tensor(score, dtype=torch.float64),
        }


@dataclass(frozen=True)
class MapTask(Task[Any]):
    """Targets (mean 0, variance 1) of some nodes, by which a map is trained, and of those that validate."""

    learner: ClassVar = MapLearner

    graph: Graph
    nodes: np.ndarray
    targets: np.ndarray
    validation: np.ndarray
    truth: np.ndarray
    center: float  # of the numbers
    spread: float
    run: Run

    @property
    def data(self) -> Iterable[np.ndarray]:
        """Nodes and targets."""
        return [self.nodes, self.targets, self.validation, self.truth]

    @property
    def sizes(self) -> dict[str, int]:
        """Training and validation nodes."""
        return {"train": len(self.nodes), "validation": len(self.validation)}

    def in_units(self, targets: np.ndarray) -> np.ndarray:
        """Targets in units of the numbers."""
        return self.center + self.spread * targets

    def method_for(self, method: LearnedMap) -> LearnedMap:
        """The method with its map for the graph."""
        return replace(method, map=method.map.for_graph(self.graph))

    def fitted(self, method: LearnedMap, training: Training, trained: Trained, **about: Any) -> Any:
        """The map and what training left of it; the head has served."""
        own = under_prefix(trained.parameters, "map.")
        with torch.no_grad():
            own = method.map.finished(own, trained.prepared)
        return method.map, replace(trained, parameters=own, prepared=None)


class _Progress(Callback):
    def on_epoch_end(self, loop: TrainingLoop) -> None:
        report_progress("learned map", loop.epoch, loop.epochs)


def configured(
    feature_map: FeatureMap, scoring: str | None, training: Training | Mapping[str, Any] | None
) -> tuple[FeatureMap, Training]:
    """Return a map with a width, and its training; settings without effect are refused."""
    feature_map, changes = feature_map.for_classes(WIDTH), {} if training is None else {"training": training}
    first = Training(dropout=0.0 if "dropout" in feature_map.ignored_settings else 0.1, select_by="r2")
    method, found = Variant(LearnedMap(feature_map, Linear()), first).configure("map", "", changes)
    for name in (name for name in _ELSEWHERE if getattr(found, name) != getattr(Training, name)):
        sentence = f"{name} has no effect on a learned map: leave it out."
        raise InputError(sentence, "no-effect", setting=name)
    if scoring is not None and found.selection == "last":
        sentence = "scoring has no effect where the last epoch is kept: leave it out."
        raise InputError(sentence, "no-effect", setting="scoring")
    if isinstance(training, Training) and found.select_by == Training.select_by:
        found = replace(found, select_by=first.select_by)  # its default is of classes
    if scoring is not None:
        require_number_scoring("scoring", scoring)
        found = replace(found, select_by=scoring)
    require_number_scoring("select_by", found.select_by)
    return method.map, found


def learn_map(
    feature_map: FeatureMap,
    training: Training,
    graph: Graph,
    nodes: np.ndarray,
    targets: np.ndarray,
    run: Run,
    units: tuple[float, float],
) -> tuple[FeatureMap, Trained, np.ndarray]:
    """Train a map by 60 % of some nodes with targets of mean 0 and variance 1; the others choose the epoch.

    Return the map, what was trained, and a mask of the others. ``units``: mean and deviation of the numbers.
    """
    if len(nodes) < _FEWEST:
        raise InputError(
            f"a learned map needs {_FEWEST} or more known numbers, besides those held out for intervals. "
            f"Got {len(nodes)}.", "too-few", setting="map",
        )  # fmt: skip
    order = np.random.default_rng([run.seeds[0], 2]).permutation(len(nodes))
    own, others = np.split(order, [round(_SHARE * len(order))])
    unseen = np.zeros(len(nodes), bool)
    unseen[others] = True
    run = replace(run, callbacks=(*run.callbacks, _Progress())).called("the learned map")
    task = MapTask(graph, nodes[own], targets[own], nodes[others], targets[others], *units, run)
    method = LearnedMap(feature_map, Linear())
    method, trained = fit_candidates(task, {method.title: (method, training)})
    return method, trained, unseen
