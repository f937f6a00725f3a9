"""Logistic regression on the columns of a map, solved at full size: a linear kernel that is learned."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from scipy.special import softmax
from torch import Tensor

from kernode.compute.sparse import SparseMatrix
from kernode.compute.tensor_options import TensorOptions
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

_STEPS, _NEAR = 100, 1e-4  # of L-BFGS, for each C; and the slope at which it stops
_ABSENT = 30.0  # how far the score of a class without training nodes is below all others
_TINY = 1e-9


@dataclass(frozen=True)
class LogisticRegression(Method):
    """``g(v) = Wᵀ x_v + b`` with the W and b of the highest penalised likelihood, as scikit-learn's has it.

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
            w, b, strength = self._solve(x[train], y, counts, c, *validation, options.device)
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
        self,
        x: Any,
        y: np.ndarray,
        counts: np.ndarray | None,
        c: int,
        held_out: Any,
        truth: np.ndarray,
        device: torch.device,
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """W (f × c), b (c) and C, the one with the lowest loss on the nodes held out."""
        known, y = np.unique(y, return_inverse=True)
        weights, bias = np.zeros((x.shape[1], c)), np.zeros(c)
        strengths = self.strengths if len(truth) else self.strengths[len(self.strengths) // 2 :][:1]
        best, found = np.inf, strengths[0]
        likelihood = _Likelihood.of(x, y, counts, device)
        for strength in strengths if len(known) > 1 else ():
            w, b = likelihood.highest(strength)
            own = np.zeros((len(truth), c))
            own[:, known] = softmax(held_out @ w + b, axis=1)
            of_truth = np.where(truth < 0, 1, own[np.arange(len(truth)), truth])
            loss = -np.log(of_truth + _TINY).mean() if len(truth) else 0.0
            if loss < best:
                best, found, weights[:, known], bias[known] = loss, strength, w, b
        bias[np.setdiff1d(np.arange(c), known)] = bias[known].min() - _ABSENT
        return weights, bias, found


@dataclass
class _Likelihood:
    """``Σ_i share_i log p(y_i | x_i)`` of a softmax, in float64, and the W and b found last."""

    x: Any  # m × f, sparse or dense
    truth: Tensor  # m × c: share_i in the column of its class
    total: float  # what the shares were divided by, so that their sum is 1
    solution: Tensor  # (f + 1) × c: W, and b under it

    @classmethod
    def of(cls, x: Any, y: np.ndarray, counts: np.ndarray | None, device: torch.device) -> _Likelihood:
        """Move rows, classes, and how often each row counts."""
        options = TensorOptions.of(64, device.type)
        rows = SparseMatrix.of(x, options) if sparse.issparse(x) else torch.from_numpy(x).to(device)
        shares = np.ones(len(y)) if counts is None else np.asarray(counts, np.float64)
        truth = torch.from_numpy(np.eye(y.max() + 1)[y] * shares[:, None] / shares.sum()).to(device)
        return cls(rows, truth, float(shares.sum()), truth.new_zeros(x.shape[1] + 1, truth.shape[1]))

    def highest(self, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """W and b where the likelihood less ‖W‖² / 2C is highest, by L-BFGS from those found last."""
        penalty, shares = 1 / (strength * self.total), self.truth.sum(dim=1, keepdim=True)
        # Not scipy's: its many short dot products wait for the threads of BLAS, on 16 cores 0.1 s a step.
        search = torch.optim.LBFGS(
            [self.solution], 1, _STEPS, tolerance_grad=_NEAR, history_size=10, line_search_fn="strong_wolfe"
        )

        def falling() -> Tensor:
            w, b = self.solution[:-1], self.solution[-1]
            logs = (self.x @ w + b).log_softmax(dim=1)
            residual = logs.exp() * shares - self.truth
            gradient = [self.x.T @ residual + penalty * w, residual.sum(dim=0, keepdim=True)]
            self.solution.grad = torch.cat(gradient)
            return penalty / 2 * w.square().sum() - (self.truth * logs).sum()

        search.step(falling)
        found = self.solution.cpu().numpy()
        return found[:-1].copy(), found[-1].copy()


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
