"""Correct & Smooth: a predictor on features, then two label propagations (Huang et al. 2021)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.replicas import whole
from kernode.config import changed, require_part
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.kernels import Linear, Normalized
from kernode.losses import Softmax
from kernode.maps import MLP
from kernode.models.changes import Changes
from kernode.tasks.classes.label_propagation import (
    MOST_STEPS,
    check_shares,
    edge_step,
    known_labels,
    spread,
)
from kernode.tasks.classes.method import Method, NodeMethod, require_choice, validation_accuracies
from kernode.training.loop import Trained
from kernode.training.settings import Training

if TYPE_CHECKING:
    from kernode.tasks.classes.model import NodeModel
    from kernode.tasks.classes.on_graph import NodeModelOnGraph
    from kernode.tasks.classes.task import NodeTask

_MOST_SCALE = 1000.0  # beyond that an error that hardly arrives is not blown up, as in PyTorch Geometric

_MLP = Method(MLP(), Normalized(Linear()), Softmax())


@dataclass(frozen=True)
class CorrectAndSmooth(NodeMethod):
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
    steps: int = 50

    def __post_init__(self) -> None:
        require_part("base", self.base, Method, "kernode.Method(kernode.maps.MLP(), …)")
        if self.base.classifier != "softmax":
            raise InputError(
                "CorrectAndSmooth needs a base with a softmax classifier: give it another loss.",
                "setting", setting="base", value=self.base,
            )  # fmt: skip
        check_shares("correction_shares", self.correction_shares)
        check_shares("smoothing_shares", self.smoothing_shares)
        whole("steps", self.steps, 1, MOST_STEPS)

    @property
    def settings(self) -> list[tuple[float, float]]:
        """What validation chooses from."""
        return list(product(self.correction_shares, self.smoothing_shares))

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
        started, settings, nodes = time.perf_counter(), self.settings, task.nodes
        require_choice(task, len(settings), self.title, "one correction share and one smoothing share")
        loop = task.begin(self.base, training)
        loop.run()
        trained = loop.trained()
        step, place = edge_step(task.graph, task.run.place), task.run.place
        before = self._base_probabilities(trained.parameters, task.graph, place, trained.prepared)
        known = known_labels(nodes.train, nodes.train_labels, task.graph.n_nodes, len(task.classes), place)

        @lru_cache(maxsize=1)  # settings come in the order of corrections: one at a time is held
        def corrected(correction: float) -> Tensor:
            return correct(step, before, known, correction, self.steps)

        def answers(at: int) -> list[np.ndarray]:
            correction, smoothing = settings[at]
            found = smooth(step, corrected(correction), known, smoothing, self.steps)
            classes = found.argmax(dim=2).T.cpu().numpy()  # r × n
            return list(np.take_along_axis(classes, nodes.validation, axis=1))

        accuracies = validation_accuracies(task, len(settings), answers)
        best = accuracies.argmax(axis=0)
        history = trained.history | {"shares_accuracy": accuracies}
        if nodes.validates and (by_epoch := history.get("validation_accuracy")) is not None:
            # At the kept epoch it is that of the answers, by which this method is compared with others.
            by_epoch = by_epoch.copy()
            by_epoch[trained.epochs - 1, np.arange(len(best))] = accuracies[best, np.arange(len(best))]
            history["validation_accuracy"] = by_epoch
        shares = {
            name: torch.tensor([settings[i][at] for i in best], dtype=torch.float64)
            for at, name in enumerate(("correction_share", "smoothing_share"))
        }
        return replace(
            trained,
            parameters=trained.parameters | shares,
            history=history,
            prepared=None,
            seconds=time.perf_counter() - started,
        )

    def probabilities(self, on: NodeModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """The smoothed rows, to sum 1; of all nodes at once, since errors pass through all of them."""
        if "probabilities" not in on.cache:
            model, step = on.model, edge_step(on.graph, on.place)
            before = self._base_probabilities(on.parameters, on.graph, on.place)
            known = known_labels(
                model.train, model.train_labels, on.graph.n_nodes, len(model.classes), on.place
            )
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
            on.cache["probabilities"] = (rows / rows.sum(dim=2, keepdim=True)).cpu().numpy()
        return np.take_along_axis(on.cache["probabilities"], nodes[..., None], axis=1)

    @torch.no_grad()
    def _base_probabilities(
        self, parameters: dict[str, Tensor], graph: Graph, place: Place, prepared: Any = None
    ) -> Tensor:
        """The base's class probabilities of all nodes: n × r × c."""
        prepared = self.base.map.prepare(graph, place) if prepared is None else prepared
        scores = self.base.embed(parameters, prepared) + parameters["class_bias"][:, None]
        return scores.softmax(dim=-1).transpose(0, 1).contiguous()

    def chosen(self, model: NodeModel, graph: Graph) -> CorrectAndSmooth:
        """The one pair of shares that was best in the mean over the replicas of a model."""
        best = int(model.history["shares_accuracy"].mean(axis=1).argmax())
        correction, smoothing = self.settings[best]
        return replace(self, correction_shares=(correction,), smoothing_shares=(smoothing,))

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
