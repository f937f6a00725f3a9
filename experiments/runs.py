"""Every call into kernode's training: train a method on a graph, and read what was trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kernode.compute.replicas import seeds_from
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.estimators.classifier import NodeKernelClassifier
from kernode.graph import Graph
from kernode.io import Split
from kernode.kernels import normalized
from kernode.kernels.node_kernel import NodeKernel
from kernode.models.fit import fit_candidates
from kernode.models.overrides import by_part
from kernode.tasks.classes.evaluation import fit_report
from kernode.tasks.classes.labels import split_labels
from kernode.tasks.classes.method import Method, NodeMethod
from kernode.tasks.classes.model import NodeModel
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.task import NodeTask
from kernode.tasks.classes.variants import configure
from kernode.tasks.links.evaluation import link_report
from kernode.tasks.links.method import LinkMethod
from kernode.tasks.links.model import LinkModelOnGraph
from kernode.tasks.links.task import LinkTask
from kernode.training.callbacks import Callback
from kernode.training.checkpoint import Checkpoint
from kernode.training.loop import TrainingLoop
from kernode.training.run import Run
from kernode.training.settings import Training

OnEpoch = Callable[[int, dict[str, np.ndarray]], None]  # epoch, latest values of each replica
Progress = Callable[[int, str], OnEpoch]  # number of epochs and name of what trains
_SECONDS = 60.0  # between two checkpoints


@dataclass(frozen=True)
class NodeRun:
    """A method trained on a graph, one replica per seed, and scored once on its test nodes."""

    on: NodeModelOnGraph
    splits: list[Split]  # of each replica
    report: dict[str, Any]  # figures in percent

    @property
    def graph(self) -> Graph:
        """The graph it was trained on."""
        return self.on.graph

    @property
    def model(self) -> NodeModel:
        """What was learned."""
        return self.on.model

    @property
    def hop_weights(self) -> dict[str, Any]:
        """ω_h after every epoch, its mean and spread over the runs (E × (H+1)), and the kept epochs."""
        weights = self.model.history.get("hop_weights")
        if weights is None:
            raise InputError("the model has no history of hop weights.", "unsupported")
        weights = weights.astype(np.float64)
        spread = weights.std(axis=1, ddof=1) if weights.shape[1] > 1 else np.zeros_like(weights[:, 0])
        figures = {"mean": weights.mean(axis=1).round(4).tolist(), "std": spread.round(4).tolist()}
        return figures | {"kept_epochs": self.model.kept_epochs.tolist()}

    def correct(self, nodes: np.ndarray) -> np.ndarray:
        """Whether each replica predicts the class of each node: r × m."""
        on = self.on
        classes = np.array([on.graph.class_names.index(name) for name in on.model.classes])
        predicted = classes[on.probabilities(nodes).argmax(axis=-1)]
        found: np.ndarray = predicted == on.graph.labels[nodes]
        return found

    def embeddings(self, nodes: np.ndarray) -> np.ndarray:
        """g of the nodes at length 1: r × m × d, in float64 so that a node's cosine with itself is 1."""
        on = self.on
        g = on.g[:, torch.from_numpy(nodes).to(on.options.device)]
        units: np.ndarray = normalized(on.kernel.base).embed(g).cpu().double().numpy()
        return units

    def gram(self, nodes: np.ndarray) -> np.ndarray:
        """K̄ among the nodes, the mean over the replicas: m × m."""
        own = self.on.kernel
        return NodeKernel(normalized(own.base), own.g, own.parameters).gram(nodes).astype(np.float64)


def train_nodes(
    graph: Graph,
    method: NodeMethod,
    training: Training,
    options: TensorOptions,
    seeds: tuple[int, ...],
    *,
    split: str,
    name: str = "",
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> NodeRun:
    """Train a method for classes and score its test nodes; resume from the checkpoint where it exists."""
    callbacks = _callbacks(progress, checkpoint if method.has_kernel else None)
    splits, _ = split_labels(graph, split, seeds)
    task = NodeTask.of_splits(graph, splits, Run(seeds, options, callbacks))
    on = fit_candidates(task, {name: (method, training)}, split=split)
    assert isinstance(on, NodeModelOnGraph)
    return NodeRun(on, splits, fit_report(on, splits, None).figures)


def train_variant(
    graph: Graph,
    variant: str,
    options: TensorOptions,
    seeds: tuple[int, ...],
    split: str | None = None,
    **changes: Any,
) -> NodeRun:
    """Train a variant as `kernode fit` does, also a choice among several, and score its test nodes."""
    precision = 64 if options.dtype == torch.float64 else 32
    parameters = by_part(**changes, precision=precision)
    device = str(options.device)
    model = NodeKernelClassifier(
        variant, **parameters, replicas=len(seeds), random_state=seeds[0], device=device
    )
    model.fit(graph=graph, split=split)
    return NodeRun(model._on(None), model._splits or [], model.report().figures)


@dataclass(frozen=True)
class LinkRun:
    """A method trained on a graph's training edges, and scored once on its test edges."""

    test: list[dict[str, float]]  # of each replica, in percent
    validation: list[dict[str, float]]
    logits: np.ndarray  # of the test edges: r × p
    negative_logits: np.ndarray  # of the test pairs without an edge: r × q
    test_share: float  # test edges over training edges


def train_links(
    graph: Graph,
    method: LinkMethod,
    training: Training,
    options: TensorOptions,
    seeds: tuple[int, ...],
    *,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> LinkRun:
    """Train a method for links on the edge split of the first seed, and score its test edges."""
    task = LinkTask.of_graph(graph, Run(seeds, options, _callbacks(progress, checkpoint)))
    on, split = fit_candidates(task, {"": (method, training)}), task.split
    assert isinstance(on, LinkModelOnGraph)
    report = link_report(on, split).figures
    return LinkRun(
        report["test"]["runs"],
        report["validation"]["runs"],
        on.logits(split.test),
        on.logits(split.test_negatives),
        len(split.test) / split.graph.n_edges,
    )


class _Watching(Callback):
    """Report every epoch to a function."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def on_fit_begin(self, loop: TrainingLoop) -> None:
        """Begin to report."""
        self._on_epoch = self._progress(loop.epochs, loop.name)

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Report an epoch."""
        self._on_epoch(loop.epoch, loop.latest)


def _callbacks(progress: Progress | None, checkpoint: Path | None) -> tuple[Callback, ...]:
    found: list[Callback] = [] if progress is None else [_Watching(progress)]
    if checkpoint is not None:
        found.append(Checkpoint(checkpoint, every=1, resume="if there", seconds=_SECONDS))
    return tuple(found)


def training_step(
    graph: Graph,
    split: Split,
    variant: str,
    replicas: int,
    options: TensorOptions,
    *,
    evaluate: bool = False,
    **changes: Any,
) -> Callable[[], None]:
    """Prepare a variant, and return what takes one training step of all replicas.

    A step samples triplets where the variant has them, goes forward and backward, and updates every
    parameter. ``evaluate`` makes it an epoch, which also scores the validation nodes and keeps the best
    parameters.
    """
    method, training = configure(variant, **changes)
    if not isinstance(method, Method):
        raise InputError(f"{variant} does not train step by step.", "unsupported", setting="systems")
    task = NodeTask.of_splits(graph, [split], Run(seeds_from(0, replicas), options))
    stacks = task.begin(method.for_classes(len(task.classes)), training).learners
    calls = [stack.replayed(stack.advance if evaluate else stack.step) for stack in stacks]
    epoch = 0

    def step() -> None:
        nonlocal epoch
        epoch += 1
        for call in calls:
            call(epoch)

    return step
