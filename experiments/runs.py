"""Every call into kernode's training: train a method on a graph, and read what was trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kernode.compute.place import Place
from kernode.compute.replicas import seeds_from
from kernode.data import Split
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.kernels import normalized
from kernode.kernels.node_kernel import NodeKernel
from kernode.link_prediction.experiment import run_link_method
from kernode.link_prediction.method import LinkMethod
from kernode.node_classification.experiment import Outcome, run_method
from kernode.node_classification.method import Method, NodeMethod
from kernode.node_classification.task import NodeTask
from kernode.node_classification.trainer import learners
from kernode.node_classification.variants import configure
from kernode.show.training_history import hop_weight_history
from kernode.training.checkpoint import Checkpoint
from kernode.training.run import Run
from kernode.training.settings import Training

OnEpoch = Callable[[int, dict[str, np.ndarray]], None]  # epoch, latest values of each replica
Progress = Callable[[int, str], OnEpoch]  # number of epochs and name of what trains
_SECONDS = 60.0  # between two checkpoints


@dataclass(frozen=True)
class NodeRun:
    """A method trained on a graph, one replica per seed, and scored once on its test nodes."""

    outcome: Outcome

    @property
    def report(self) -> dict[str, Any]:
        """Figures in percent."""
        return self.outcome.report

    @property
    def splits(self) -> list[Split]:
        """The split of each replica."""
        return self.outcome.splits

    @property
    def graph(self) -> Graph:
        """The graph it was trained on."""
        return self.outcome.on.graph

    @property
    def hop_weights(self) -> dict[str, Any]:
        """ω_h over the epochs."""
        return hop_weight_history(self.outcome.model)

    def correct(self, nodes: np.ndarray) -> np.ndarray:
        """Whether each replica predicts the class of each node: r × m."""
        on = self.outcome.on
        classes = np.array([on.graph.class_names.index(name) for name in on.model.classes])
        predicted = classes[on.probabilities(nodes).argmax(axis=-1)]
        found: np.ndarray = predicted == on.graph.labels[nodes]
        return found

    def embeddings(self, nodes: np.ndarray) -> np.ndarray:
        """g of the nodes at length 1: r × m × d, in float64 so that a node's cosine with itself is 1."""
        on = self.outcome.on
        g = on.g[:, torch.from_numpy(nodes).to(on.place.device)]
        units: np.ndarray = normalized(on.kernel.base).embed(g).cpu().double().numpy()
        return units

    def gram(self, nodes: np.ndarray) -> np.ndarray:
        """K̄ among the nodes, the mean over the replicas: m × m."""
        own = self.outcome.on.kernel
        return NodeKernel(normalized(own.base), own.g, own.parameters).gram(nodes).astype(np.float64)


def train_nodes(
    graph: Graph,
    method: NodeMethod,
    training: Training,
    place: Place,
    seeds: tuple[int, ...],
    *,
    split: str,
    name: str = "",
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> NodeRun:
    """Train a method for classes and score its test nodes; resume from the checkpoint where it exists."""
    kept = checkpoint if method.learns_by_gradient else None
    run = Run(seeds, place, progress, _checkpoint(kept))
    return NodeRun(run_method(graph, method, training, run, split=split, variant=name))


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
    place: Place,
    seeds: tuple[int, ...],
    *,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> LinkRun:
    """Train a method for links on the edge split of the first seed, and score its test edges."""
    found = run_link_method(graph, method, training, Run(seeds, place, progress, _checkpoint(checkpoint)))
    split = found.split
    return LinkRun(
        found.report["test"]["runs"],
        found.report["validation"]["runs"],
        found.on.logits(split.test),
        found.on.logits(split.test_negatives),
        len(split.test) / split.graph.n_edges,
    )


def _checkpoint(path: Path | None) -> Checkpoint | None:
    return None if path is None else Checkpoint(path, every=1, resume="if there", seconds=_SECONDS)


def training_step(
    graph: Graph,
    split: Split,
    variant: str,
    replicas: int,
    place: Place,
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
    task = NodeTask.of_splits(graph, [split], Run(seeds_from(0, replicas), place))
    stacks = learners(task, method.for_classes(len(task.classes)), training)
    calls = [stack.replayed(stack.advance if evaluate else stack.step) for stack in stacks]
    epoch = 0

    def step() -> None:
        nonlocal epoch
        epoch += 1
        for call in calls:
            call(epoch)

    return step
