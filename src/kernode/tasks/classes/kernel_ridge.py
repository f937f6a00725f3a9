"""Kernel ridge classification on smoothed features, in closed form."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from kernode.compute.stack import Parameters, take
from kernode.config import require_part
from kernode.kernels import BaseKernel, Linear, Normalized
from kernode.maps import FeatureMap
from kernode.maps.graph_kernel import GraphKernelMap
from kernode.maps.smoothed_kernel import SmoothedKernel
from kernode.tasks.classes.calibration import Calibration, fit_calibration
from kernode.tasks.classes.method import NodeMethod, head_probabilities
from kernode.training.loop import Trained
from kernode.training.settings import OF_LEARNING, Training

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph
    from kernode.tasks.classes.task import NodeTask

_ALL = 3000  # training nodes that are landmarks, all of them
_SOME = 2000  # landmarks among more
_RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_SHARP = 10.0  # of the softmax of ridge scores, which lie between 0 and 1; calibration does the rest


@dataclass(frozen=True)
class Instant(NodeMethod):
    """``scores(v) = Σ_i w_i(v) y_i``: a ridge regression of the classes' indicators on g, in closed form.

    The ridge is the one with the smallest leave-one-out error, which has a closed form, too; so the training
    nodes calibrate the probabilities as well. Nothing is drawn but landmarks, where training nodes are many.

    - ``map``: the kernel on smoothed features, or one of edges alone. ``kernel``: what compares its vectors.
    """

    map: SmoothedKernel | GraphKernelMap = field(default_factory=SmoothedKernel)
    kernel: BaseKernel = field(default_factory=lambda: Normalized(Linear()))

    def __post_init__(self) -> None:
        require_part("map", self.map, FeatureMap, "kernode.maps.smoothed_kernel.SmoothedKernel()")
        require_part("kernel", self.kernel, BaseKernel, "kernode.kernels.Linear()")

    has_kernel: ClassVar[bool] = True
    closed_form: ClassVar[bool] = True
    classifier: ClassVar[str] = "ridge"

    @property
    def ignored_settings(self) -> frozenset[str]:
        """All settings of learning."""
        return OF_LEARNING | {"dropout", "input_dropout"}

    def represent(self, parameters: Any, prepared: Any, dropout: Any = None) -> torch.Tensor:
        """g of every node: r × n × landmarks."""
        return self.map({"landmarks": parameters["map.landmarks"]}, prepared)

    def train(self, task: NodeTask, training: Training) -> Trained:
        """Solve for the training nodes of each replica."""
        started = time.perf_counter()
        prepared, device = self.map.prepare(task.graph, task.run.options), task.run.options.device
        nodes, found = task.nodes, list[Any]()
        solved: dict[int, Any] = {}
        for i, seed in enumerate(task.run.seeds):
            row = min(i, len(nodes.train) - 1)
            few = nodes.train.shape[1] <= _ALL
            if row not in solved or not few:
                own = task.train_weights
                counts = np.ones(nodes.train.shape[1]) if own is None else own[row]
                y = np.eye(len(task.classes))[nodes.train_labels[row]]
                given = prepared, nodes.train[row], y, counts / counts.mean(), seed, device
                solved[row] = self._solve(*given)[1:]
            found.append(solved[row])
        landmarks, weights, biases, left_out = zip(*found, strict=True)
        dtype = task.run.options.dtype
        parameters = {
            "map.landmarks": torch.from_numpy(np.stack(landmarks)),
            "weights": torch.stack(weights).to(dtype),
            "bias": torch.stack(biases).to(dtype),
            "left_out": torch.stack(left_out).to(dtype),
        }
        parameters = {name: value.to(device) for name, value in parameters.items()}
        history = {"loss": np.zeros((1, task.run.replicas))}
        return Trained(parameters, np.zeros(task.run.replicas, int), history, time.perf_counter() - started)

    def _solve(
        self,
        prepared: Any,
        train: np.ndarray,
        indicators: np.ndarray,
        counts: np.ndarray,
        seed: int,
        device: torch.device,
    ) -> tuple[torch.Tensor, np.ndarray, torch.Tensor, torch.Tensor, torch.Tensor]:
        """g of every node, landmarks, weights, bias, and the scores of training nodes without themselves.

        ``indicators``: of the classes, m × c. ``counts``: how much each node counts, m, with a mean of 1.
        """
        landmarks, count = train, self.landmarks_of(len(train))
        if count < len(train):
            landmarks = np.sort(np.random.default_rng(seed).choice(train, count, replace=False))
        g = self.map({"landmarks": torch.tensor(landmarks[None]).to(device)}, prepared)[0]
        root = torch.tensor(np.sqrt(counts)).to(device)[:, None]
        phi = root * g[torch.tensor(train).to(device)].double()
        y = torch.from_numpy(indicators).to(device)
        bias = (root.square() * y).mean(dim=0)
        target = root * (y - bias)
        values, vectors = torch.linalg.eigh(phi.T @ phi)
        turned, best = phi @ vectors, None
        towards = turned.T @ target
        for ridge in _RIDGES:
            shrunk = 1 / (values.clamp_min(0) + ridge)
            leverage = (turned.square() @ shrunk).clamp_max(1 - 1e-9)[:, None]
            fitted = turned @ (shrunk[:, None] * towards)
            left_out = (fitted - leverage * target) / (1 - leverage)
            error = float((left_out - target).square().mean())
            if best is None or error < best[0]:
                best = error, vectors @ (shrunk[:, None] * towards), left_out / root + bias
        assert best is not None
        return g, landmarks, best[1], bias, best[2]

    def scores(
        self, prepared: Any, train: np.ndarray, indicators: np.ndarray, seed: int, device: torch.device
    ) -> np.ndarray:
        """Scores of every node by one replica, without a model around it: n × c."""
        counts = np.ones(len(train))
        g, _, weights, bias, _ = self._solve(prepared, train, indicators, counts, seed, device)
        return (g @ weights.to(g.dtype) + bias).cpu().numpy()

    @staticmethod
    def landmarks_of(nodes: int) -> int:
        """How many of so many training nodes are landmarks."""
        return nodes if nodes <= _ALL else _SOME

    def head(self, parameters: Parameters) -> tuple[torch.Tensor | None, torch.Tensor]:
        """The ridge's weights, sharpened: scores lie between 0 and 1."""
        return _SHARP * parameters["weights"], _SHARP * parameters["bias"]

    def probabilities(self, on: NodeModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """Softmax of the scores, before calibration: r × m × c."""
        g = take(on.g, torch.tensor(nodes).to(on.options.device))
        return head_probabilities(self, on.parameters, g)

    def own_calibration(self, on: NodeModelOnGraph) -> Calibration:
        """Calibrate by the leave-one-out scores of the training nodes."""
        model = on.model
        by_run = (_SHARP * model.parameters["left_out"]).softmax(dim=-1).cpu().numpy()
        return fit_calibration(by_run, model.train_labels, len(np.unique(model.train)))
