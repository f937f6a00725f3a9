"""Logistic regression on the columns of a map, solved at full size: a linear kernel that is learned."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from scipy import sparse

from kernode.errors import bad_setting
from kernode.kernels import BaseKernel, Linear, Normalized
from kernode.losses import Softmax
from kernode.losses.base import Loss
from kernode.maps import MLP, FeatureMap, OnColumns, Standardized
from kernode.tasks.classes.method import Method
from kernode.training.loop import Trained
from kernode.training.settings import OF_LEARNING, Training

if TYPE_CHECKING:
    from kernode.graph import Graph
    from kernode.tasks.classes.model import NodeModel
    from kernode.tasks.classes.task import NodeTask

_STEPS = 100  # of L-BFGS
_ABSENT = 30.0  # how far the score of a class without training nodes is below all others
_TINY = 1e-9


@dataclass(frozen=True)
class LogisticRegression(Method):
    """``g(v) = Wᵀ x_v + b`` with the W and b of the highest penalised likelihood, by scikit-learn's L-BFGS.

    It is what an MLP without hidden layers would learn, at its optimum: strong text needs no more.

    - ``map``: an MLP without hidden layers, on any columns.
    - ``strengths``: C to choose from by validation loss; the middle one without validation nodes.
    """

    map: FeatureMap = field(default_factory=lambda: MLP((), normalize_rows=False))
    kernel: BaseKernel = field(default_factory=lambda: Normalized(Linear()))
    loss: Loss = field(default_factory=Softmax)
    strengths: tuple[float, ...] = (1.0, 10.0, 100.0)

    closed_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        inner = self.map.unwrapped
        plain = isinstance(inner, MLP) and not (inner.hidden or inner.norm or inner.normalize_rows)
        if not plain or isinstance(self.map, Standardized):
            raise bad_setting("map", "an MLP without hidden layers, norm or normalize_rows", self.map)
        if self.loss != Softmax():
            raise bad_setting("loss", "Softmax()", self.loss)

    @property
    def title(self) -> str:
        """Name in messages."""
        return "logistic regression"

    @property
    def ignored_settings(self) -> frozenset[str]:
        """All settings of learning."""
        return OF_LEARNING | {"dropout", "input_dropout"}

    def chosen(self, model: NodeModel, graph: Graph) -> LogisticRegression:
        """Return the method with the C that most replicas chose."""
        found, counts = np.unique(model.parameters["strength"].cpu().numpy(), return_counts=True)
        return replace(self, strengths=(float(found[counts.argmax()]),))

    def train(self, task: NodeTask, training: Training) -> Trained:
        """Solve for each row of training nodes; replicas that share one share the solution."""
        started, options, nodes = time.perf_counter(), task.run.options, task.nodes
        graph = self.map.on(task.graph) if isinstance(self.map, OnColumns) else task.graph
        x, shift, scale = _scaled(graph.features)
        c, weights, biases, strengths = len(task.classes), [], [], []
        for i, (train, y) in enumerate(zip(nodes.train, nodes.train_labels, strict=True)):
            held_out = min(i, len(nodes.validation) - 1)
            validation = x[nodes.validation[held_out]], nodes.validation_labels[held_out]
            counts = None if task.train_weights is None else task.train_weights[i]
            w, b, strength = self._solve(x[train], y, counts, c, *validation)
            weights.append(w * scale[:, None])
            biases.append(b - shift @ weights[-1])
            strengths.append(strength)
        row_of = np.minimum(np.arange(task.run.replicas), len(nodes.train) - 1)
        parameters = {
            "map.weight_0": torch.from_numpy(np.stack(weights)[row_of]).to(options.dtype),
            "class_bias": torch.from_numpy(np.stack(biases)[row_of]).to(options.dtype),
            "strength": torch.tensor(strengths)[row_of],
        }
        parameters = {name: value.to(options.device) for name, value in parameters.items()}
        history = {"loss": np.zeros((1, task.run.replicas))}
        return Trained(parameters, np.zeros(task.run.replicas, int), history, time.perf_counter() - started)

    def _solve(
        self, x: Any, y: np.ndarray, counts: np.ndarray | None, c: int, held_out: Any, truth: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """W (f × c), b (c) and C, the one with the lowest loss on the nodes held out."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression as Solver

        known = np.unique(y)
        weights, bias = np.zeros((x.shape[1], c)), np.zeros(c)
        strengths = self.strengths if len(truth) else self.strengths[len(self.strengths) // 2 :][:1]
        best, found = np.inf, strengths[0]
        solver = Solver(max_iter=_STEPS, warm_start=True)
        for strength in strengths if len(known) > 1 else ():
            solver.set_params(C=strength)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # near the optimum is near enough
                solver.fit(x, y, counts)
            own = np.zeros((len(truth), c))
            if len(truth):
                own[:, known] = solver.predict_proba(held_out)
            of_truth = np.where(truth < 0, 1, own[np.arange(len(truth)), truth])
            loss = -np.log(of_truth + _TINY).mean() if len(truth) else 0.0
            if loss < best:
                best, found = loss, strength
                w, b = solver.coef_.T, solver.intercept_
                if len(known) == 2:  # one column stands for both
                    w, b = np.hstack([-w, w]) / 2, np.hstack([-b, b]) / 2
                weights[:, known], bias[known] = w, b
        bias[np.setdiff1d(np.arange(c), known)] = bias[known].min() - _ABSENT
        return weights, bias, found


def _scaled(x: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return (x − shift) · scale, shift, scale: dense columns standardised, rows of length 1 on average."""
    f = x.shape[1]
    if sparse.issparse(x):
        found = sparse.csr_array(x, dtype=np.float64)
        length = np.sqrt(max(float(found.multiply(found).sum()) / max(x.shape[0], 1), _TINY))
        return found / length, np.zeros(f), np.full(f, 1 / length)
    shift, spread = x.mean(axis=0, dtype=np.float64), x.std(axis=0, dtype=np.float64)
    scale = 1 / (np.where(spread > _TINY, spread, 1) * np.sqrt(max(f, 1)))
    return (x - shift) * scale, shift, scale
