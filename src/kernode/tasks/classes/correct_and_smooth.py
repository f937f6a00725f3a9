"""Correct & Smooth: a predictor on features, then two label propagations (Huang et al. 2021)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.config import changed, require_part
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.kernels import Linear, Normalized
from kernode.losses import Softmax
from kernode.maps import MLP
from kernode.models.changes import Changes
from kernode.tasks.classes.label_propagation import Propagation, edge_step, known_labels, spread
from kernode.tasks.classes.method import Method
from kernode.training.loop import Trained
from kernode.training.settings import Training

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph
    from kernode.tasks.classes.task import NodeTask

_MOST_SCALE = 1000.0  # beyond that an error that hardly arrives is not blown up, as in PyTorch Geometric

_MLP = Method(MLP(), Normalized(Linear()), Softmax())


@dataclass(frozen=True)
class CorrectAndSmooth(Propagation):
    """A base predictor's probabilities, corrected by the errors of the training nodes nearby, then smoothed.

    Both spread as labels do (:class:`~kernode.tasks.classes.label_propagation.LabelPropagation`).
    Errors that arrive at a node are scaled to the mean error of the training nodes ("autoscale"); before
    smoothing, training nodes have their own labels.

    - ``base``: what is trained, with a softmax classifier: an MLP on the features, or any other method.
    - ``correction_shares``, ``smoothing_shares``: what comes from neighbours in either step. With 0 the
      step does nothing for a node without a label. Validation chooses a pair for each replica.
    """

    base: Method = _MLP
    correction_shares: tuple[float, ...] = (0.0, 0.5, 0.8, 0.95)
    smoothing_shares: tuple[float, ...] = (0.0, 0.5, 0.8, 0.95)
    choices: ClassVar = ("correction_shares", "smoothing_shares")
    figure: ClassVar = "shares_accuracy"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_part("base", self.base, Method, "kernode.Method(kernode.maps.MLP(), …)")
        if self.base.classifier != "softmax":
            raise InputError(
                "CorrectAndSmooth needs a base with a softmax classifier: give it another loss.",
                "setting", setting="base", value=self.base,
            )  # fmt: skip

    def for_classes(self, classes: int) -> CorrectAndSmooth:
        """The same with a base for so many classes."""
        return replace(self, base=self.base.for_classes(classes))

    def changed(self, changes: Changes) -> CorrectAndSmooth:
        """The same with other settings of its own, or of the base."""
        method = changed(self, changes.of_part("method"))
        others = {name: one for name, one in changes.settings.items() if name != "method"}
        return replace(method, base=method.base.changed(Changes(changes.parts, others)))

    def train(self, task: NodeTask, training: Training) -> Trained:
        """Train the base, then try every pair of shares; keep for each replica the best on validation."""
        started, nodes = time.perf_counter(), task.nodes
        loop = task.begin(self.base, training)
        loop.run()
        trained = loop.trained()
        step, place = edge_step(task.graph, task.run.place), task.run.place
        before = self._base_probabilities(trained.parameters, task.graph, place, trained.prepared)
        known = known_labels(nodes.train, nodes.train_labels, task.graph.n_nodes, len(task.classes), place)

        @lru_cache(maxsize=1)  # settings come in the order of corrections: one at a time is held
        def corrected(correction: float) -> Tensor:
            return correct(step, before, known, correction, self.steps)

        def answers(setting: tuple[float, float]) -> np.ndarray:
            correction, smoothing = setting
            found = smooth(step, corrected(correction), known, smoothing, self.steps)
            return found.argmax(dim=2).T.cpu().numpy()

        accuracies = self.validated(task, answers)
        best = accuracies.argmax(axis=0)
        history = trained.history | {"shares_accuracy": accuracies}
        if nodes.validates and (by_epoch := history.get("validation_accuracy")) is not None:
            # At the kept epoch it is that of the answers, by which this method is compared with others.
            by_epoch = by_epoch.copy()
            by_epoch[trained.epochs - 1, np.arange(len(best))] = accuracies[best, np.arange(len(best))]
            history["validation_accuracy"] = by_epoch
        shares = {
            name: torch.tensor([self.settings[i][at] for i in best], dtype=torch.float64)
            for at, name in enumerate(("correction_share", "smoothing_share"))
        }
        return replace(
            trained,
            parameters=trained.parameters | shares,
            history=history,
            prepared=None,
            seconds=time.perf_counter() - started,
        )

    def all_probabilities(self, on: NodeModelOnGraph) -> np.ndarray:
        """The smoothed rows, to sum 1."""
        model, step, n = on.model, edge_step(on.graph, on.place), on.graph.n_nodes
        before = self._base_probabilities(on.parameters, on.graph, on.place)
        known = known_labels(model.train, model.train_labels, n, len(model.classes), on.place)
        known = known.expand(-1, before.shape[1], -1)
        shares = [model.parameters[f"{name}_share"].tolist() for name in ("correction", "smoothing")]
        found = []
        for i, (correction, smoothing) in enumerate(zip(*shares, strict=True)):
            own = before[:, i : i + 1], known[:, i : i + 1]
            better = correct(step, *own, correction, self.steps)
            found.append(smooth(step, better, own[1], smoothing, self.steps)[:, 0])
        rows = torch.stack(found)
        # No class has anything left where a correction took all: each is as likely.
        rows = torch.where(rows.any(dim=2, keepdim=True), rows, torch.ones_like(rows))
        return (rows / rows.sum(dim=2, keepdim=True)).cpu().numpy()

    @torch.no_grad()
    def _base_probabilities(
        self, parameters: dict[str, Tensor], graph: Graph, place: Place, prepared: Any = None
    ) -> Tensor:
        """The base's class probabilities of all nodes: n × r × c."""
        prepared = self.base.map.prepare(graph, place) if prepared is None else prepared
        scores = self.base.embed(parameters, prepared) + parameters["class_bias"][:, None]
        return scores.softmax(dim=-1).transpose(0, 1).contiguous()

    def varies_by_replica(self, training: Training) -> bool:
        """As the base does."""
        return self.base.varies_by_replica(training)

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Those of the base."""
        return self.base.ignored_settings

    def least_bytes(self, sizes: GraphSizes, training: Training, place: Place) -> float:
        """What the base takes."""
        return self.base.least_bytes(sizes, training, place)


def correct(step: Tensor, before: Tensor, known: Tensor, share: float, steps: int) -> Tensor:
    """Probabilities plus the training nodes' errors, spread and scaled: n × r × c."""
    labelled = known.any(dim=2, keepdim=True)
    error = torch.where(labelled, known - before, torch.zeros_like(before))
    arrived = spread(step, error, share, steps, limits=(-1.0, 1.0))
    mean = error.abs().sum(dim=(0, 2)) / labelled.sum(dim=(0, 2))  # of the training nodes: r
    size = arrived.abs().sum(dim=2, keepdim=True)
    scale = mean[:, None] / size
    return before + torch.where(scale <= _MOST_SCALE, scale, torch.ones_like(scale)) * arrived


def smooth(step: Tensor, before: Tensor, known: Tensor, share: float, steps: int) -> Tensor:
    """Probabilities, those of the training nodes replaced by their labels, spread: n × r × c."""
    start = torch.where(known.any(dim=2, keepdim=True), known, before)
    return spread(step, start, share, steps, limits=(0.0, 1.0))
