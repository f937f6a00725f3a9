"""Methods that spread rows along the edges.

Label propagation (Zhou et al. 2004) spreads the training labels; Correct & Smooth (Huang et al. 2021) the
errors of a predictor on features, then its predictions.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from kernode.compute.replicas import whole
from kernode.compute.sparse import product as sparse_product
from kernode.compute.sparse import to_torch
from kernode.compute.stack import Parameters, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.config import changed, require_part
from kernode.errors import InputError, bad_setting
from kernode.graph import Graph
from kernode.hops.matrices import scaled
from kernode.io.sizes import GraphSizes
from kernode.kernels import Linear, Normalized
from kernode.losses import Softmax
from kernode.maps import MLP
from kernode.models.overrides import Changes
from kernode.tasks.classes.method import Method, NodeMethod, validation_accuracies
from kernode.training.loop import Trained
from kernode.training.settings import Training

if TYPE_CHECKING:
    from kernode.tasks.classes.model import NodeModel
    from kernode.tasks.classes.on_graph import NodeModelOnGraph
    from kernode.tasks.classes.task import NodeTask

_MOST_STEPS = 100_000
_MOST_SCALE = 1000.0  # largest factor: tiny errors are not scaled up further, as in PyTorch Geometric

_MLP = Method(MLP(), Normalized(Linear()), Softmax())


@dataclass(frozen=True)
class Propagation(NodeMethod):
    """A method that spreads rows along the edges, with settings that validation chooses.

    Spreading is deterministic: replicas differ only in their nodes and in the rows that are spread.
    """

    steps: int = field(default=50, kw_only=True)
    choices: ClassVar[dict[str, str]]  # fields that hold what is chosen from: the parameter that is chosen
    figure: ClassVar[str] = "validation_accuracy"  # of a history, by setting and replica

    def __post_init__(self) -> None:
        for name in self.choices:
            values = getattr(self, name)
            if not values or not all(0 <= value < 1 or value is True for value in values):
                raise bad_setting(name, "some numbers in [0, 1)", values)
        whole("steps", self.steps, 1, _MOST_STEPS)

    @property
    def settings(self) -> list[tuple[Any, ...]]:
        """Settings that validation chooses from."""
        return list(product(*(getattr(self, name) for name in self.choices)))

    @abstractmethod
    def spread_rows(self, step: Tensor, known: Tensor, before: Tensor | None, setting: Any) -> Tensor:
        """Rows of every node with one setting, from known labels and a base's probabilities: n × q × c."""

    def base_probabilities(
        self, parameters: Parameters, graph: Graph, options: TensorOptions, prepared: Any = None
    ) -> Tensor | None:
        """Probabilities that are spread in addition to labels: n × r × c."""
        return None

    def choose(self, task: NodeTask, before: Tensor | None) -> tuple[np.ndarray, Parameters]:
        """Validation accuracies by setting and replica, and the best setting of each replica."""
        nodes, options = task.nodes, task.run.options
        labelled = nodes.train, nodes.train_labels, task.graph.n_nodes, len(task.classes), options
        step, known = edge_step(task.graph, options), known_labels(*labelled, task.train_weights)

        def answers(setting: Any) -> np.ndarray:
            found = self.spread_rows(step, known, before, setting).argmax(dim=2).T.cpu().numpy()
            return np.take_along_axis(found, nodes.validation, axis=1)

        accuracies = validation_accuracies(task, self.title, self.settings, answers)
        columns = zip(*(self.settings[i] for i in accuracies.argmax(axis=0)), strict=True)
        kinds = (torch.int64 if isinstance(one, bool) else torch.float64 for one in self.settings[0])
        chosen = zip(self.choices.values(), columns, kinds, strict=True)
        return accuracies, {name: torch.tensor(values, dtype=kind) for name, values, kind in chosen}

    def probabilities(self, on: NodeModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """Probabilities of all nodes, since labels pass through all of them."""
        if "probabilities" not in on.cache:
            on.cache["probabilities"] = self._all_probabilities(on)
        return np.take_along_axis(on.cache["probabilities"], nodes[..., None], axis=1)

    def _all_probabilities(self, on: NodeModelOnGraph) -> np.ndarray:
        """Class probabilities of every node: r × n × c."""
        model, step, n = on.model, edge_step(on.graph, on.options), on.graph.n_nodes
        labelled = model.train, model.train_labels, n, len(model.classes), on.options
        known = known_labels(*labelled, model.train_weights)
        before = self.base_probabilities(on.parameters, on.graph, on.options)
        chosen = (model.parameters[name].tolist() for name in self.choices.values())
        settings = list(zip(*chosen, strict=True))
        known = known.expand(-1, len(settings), -1)
        found = []
        for i, setting in enumerate(settings):
            own = slice(i, i + 1)
            rows = self.spread_rows(step, known[:, own], None if before is None else before[:, own], setting)
            # Where a correction left nothing of any class, all classes are equally probable.
            rows = torch.where(rows.any(dim=2, keepdim=True), rows, torch.ones_like(rows))
            found.append((rows / rows.sum(dim=2, keepdim=True))[:, 0])
        return torch.stack(found).cpu().numpy()

    def chosen(self, model: NodeModel, graph: Graph) -> Self:
        """The setting with the best mean over the replicas of a model."""
        best = self.settings[int(model.history[self.figure].mean(axis=1).argmax())]
        values: dict[str, Any] = {name: (value,) for name, value in zip(self.choices, best, strict=True)}
        return replace(self, **values)


@dataclass(frozen=True)
class LabelPropagation(Propagation):
    """``F ← a S F + (1 − a) Y``, ``steps`` times from F = Y, with ``S = D^−½ A D^−½``. Features are not used.

    Y has a 1 for the class of each training node. The prediction is the largest entry of a node's row of F;
    a node that no label reaches gets the class frequencies of the training nodes.

    - ``shares``: values of a to choose from: how much of a node's row comes from its neighbours.
    - ``clamped``: whether training nodes have their own labels back after every step; both may be tried.
    """

    shares: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99)
    clamped: tuple[bool, ...] = (False, True)
    choices: ClassVar = {"shares": "share", "clamped": "clamped"}

    def train(self, task: NodeTask, training: Training) -> Trained:
        """Evaluate every setting, as if it were an epoch; keep each replica's best on validation."""
        started = time.perf_counter()
        accuracies, chosen = self.choose(task, None)
        return Trained(
            chosen,
            epochs=accuracies.argmax(axis=0) + 1,
            history={self.figure: accuracies},
            seconds=time.perf_counter() - started,
        )

    def spread_rows(self, step: Tensor, known: Tensor, before: Tensor | None, setting: Any) -> Tensor:
        """The rows of F."""
        share, clamped = setting
        found = spread(step, known, share, self.steps, known.any(dim=2) if clamped else None)
        return torch.where(found.any(dim=2, keepdim=True), found, known.sum(dim=0))

    @property
    def ignored_settings(self) -> frozenset[str]:
        """All settings of training: nothing is trained."""
        return frozenset(one.name for one in fields(Training) if not one.metadata.get("runtime"))


@dataclass(frozen=True)
class CorrectAndSmooth(Propagation):
    """A base predictor's probabilities, corrected by the errors of nearby training nodes, then smoothed.

    Both spread as labels do (:class:`LabelPropagation`).
    Errors at a node are scaled to the mean error of the training nodes ("autoscale"); before
    smoothing, training nodes have their own labels.

    - ``base``: what is trained, with a softmax classifier: an MLP on the features, or any other method.
    - ``correction_shares``, ``smoothing_shares``: the share that comes from neighbours in each step. With 0
      a step does not change nodes without a label. Validation chooses a pair for each replica.
    """

    base: Method = _MLP
    correction_shares: tuple[float, ...] = (0.0, 0.5, 0.8, 0.95)
    smoothing_shares: tuple[float, ...] = (0.0, 0.5, 0.8, 0.95)
    choices: ClassVar = {"correction_shares": "correction_share", "smoothing_shares": "smoothing_share"}
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
        loss = changes.get("loss", {})
        if not isinstance(loss, Mapping):
            return replace(self, base=self.base.changed(changes))
        names = {one.name for one in fields(self)}
        method = changed(self, {name: value for name, value in loss.items() if name in names})
        others = {name: value for name, value in loss.items() if name not in names}
        return replace(method, base=method.base.changed({**changes, "loss": others}))

    def train(self, task: NodeTask, training: Training) -> Trained:
        """Train the base, then evaluate every pair of shares; keep each replica's best on validation."""
        started, options = time.perf_counter(), task.run.options
        loop = task.begin(self.base, training)
        loop.run()
        trained = loop.trained()
        before = self.base_probabilities(trained.parameters, task.graph, options, trained.prepared)
        accuracies, chosen = self.choose(task, before)
        history = trained.history | {self.figure: accuracies}
        if task.nodes.validates and (by_epoch := history.get("validation_accuracy")) is not None:
            # At the kept epoch: the accuracy of the final predictions, used to compare methods.
            history["validation_accuracy"] = by_epoch.copy()
            kept = trained.epochs - 1, np.arange(len(trained.epochs))
            history["validation_accuracy"][kept] = accuracies.max(axis=0)
        return replace(
            trained,
            parameters=trained.parameters | chosen,
            history=history,
            prepared=None,
            seconds=time.perf_counter() - started,
        )

    def spread_rows(self, step: Tensor, known: Tensor, before: Tensor | None, setting: Any) -> Tensor:
        """The smoothed rows."""
        correction, smoothing = setting
        assert before is not None
        known = known.ne(0).to(known.dtype)  # weights are not used here
        better = correct(step, before, known, correction, self.steps)
        return smooth(step, better, known, smoothing, self.steps)

    @torch.no_grad()
    def base_probabilities(
        self, parameters: Parameters, graph: Graph, options: TensorOptions, prepared: Any = None
    ) -> Tensor:
        """The base's class probabilities of all nodes: n × r × c."""
        prepared = self.base.map.prepare(graph, options) if prepared is None else prepared
        scores = self.base.map(under_prefix(parameters, "map."), prepared, None)
        scores = scores + parameters["class_bias"][:, None]
        return scores.softmax(dim=-1).transpose(0, 1).contiguous()

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Settings without effect on the base."""
        return self.base.ignored_settings

    def least_bytes(self, sizes: GraphSizes, training: Training, options: TensorOptions) -> float:
        """Bytes that the base needs."""
        return self.base.least_bytes(sizes, training, options)


def edge_step(graph: Graph, options: TensorOptions) -> Tensor:
    """Return S = D^−½ A D^−½: a node without neighbours gets nothing."""
    adjacency = graph.adjacency.astype(np.float64)
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    return to_torch(scaled(adjacency, np.where(degrees > 0, degrees, 1) ** -0.5), options)


def known_labels(
    train: np.ndarray, labels: np.ndarray, n: int, classes: int, options: TensorOptions,
    weights: np.ndarray | None = None,
) -> Tensor:  # fmt: skip
    """Y of rows of training nodes (q × m): n × q × c, a 1 or a node's weight where its class is known."""
    known = np.zeros((n, len(train), classes))
    rows = np.arange(len(train))[:, None]
    known[train, rows, labels] = 1.0 if weights is None else weights
    return torch.from_numpy(known).to(options.dtype).to(options.device)


def spread(
    step: Tensor,
    start: Tensor,
    share: float,
    steps: int,
    clamped: Tensor | None = None,
    limits: tuple[float, float] | None = None,
) -> Tensor:
    """``F ← share · step F + (1 − share) start``, so many times: n × q × c.

    What is ``clamped`` (n × q) is set back to its start after every step, and numbers to within ``limits``.
    """
    found, back = start, (1 - share) * start
    for _ in range(steps):
        found = sparse_product(step, found.reshape(len(start), -1)).view(start.shape)
        found = found.mul_(share).add_(back)
        if limits is not None:
            found.clamp_(*limits)
        if clamped is not None:
            found = torch.where(clamped[..., None], start, found)
    return found


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
