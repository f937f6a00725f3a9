"""Training a method on the classes of nodes."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.fused import fused
from kernode.compute.place import Place
from kernode.compute.stack import part, take
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.kernels.retrieval import kernel_retrieval
from kernode.losses import node_weights, softmax_loss
from kernode.losses.triplets import Members, TripletSampler
from kernode.maps.base import input_rates
from kernode.metrics.accuracy import accuracy
from kernode.node_classification.classifiers import references
from kernode.node_classification.method import Losses, Method
from kernode.node_classification.task import Lesson
from kernode.training.checkpoint import Checkpoint
from kernode.training.loop import Learner, Progress, Trained, run_epochs, stack_slices
from kernode.training.settings import Training


class Stack(Learner):
    """Replicas that learn the classes of nodes, and everything that stays fixed while they do."""

    def __init__(
        self,
        prepared: Any,
        method: Method,
        training: Training,
        lesson: Lesson,
        seeds: list[int],
        place: Place,
        replicas: slice = slice(None),
    ) -> None:
        own = {name: values[replicas] for name, values in training.by_replica(len(seeds), place).items()}
        lesson, seeds = lesson.of(replicas), seeds[replicas]
        device = place.device
        self.prepared, self.method = prepared, method
        self.margin, self.kernel_weight = own["margin"], own["kernel_weight"]
        self.seeds = torch.tensor(seeds, dtype=torch.int64, device=device)
        self.draws = Draws(self.seeds)
        self.dropout = Dropout(self.draws, own["dropout"], input_rates(method.map, own["input_dropout"]))
        self.members = Members.of(lesson.train, lesson.train_labels, lesson.classes, device)
        self.labels = torch.tensor(np.sort(lesson.train_labels, axis=1), device=device)
        self.validation = torch.tensor(lesson.validation, device=device)
        self.validation_labels = torch.tensor(lesson.validation_labels, device=device)
        self.weights = node_weights(self.labels, self._class_weights(training, place), place.dtype)
        self.validation_weights = node_weights(self.validation_labels, None, place.dtype)
        self.sampler = None
        if method.objective != "softmax":
            self.sampler = TripletSampler(self.members, training.triplets)
        parameters = method.initial(prepared, lesson.classes, self.draws, place)
        self.score = f"validation_{training.select_by}"
        self._left: tuple[Tensor, int] | None = None  # by evaluation, for the next step
        super().__init__(parameters, training, own, place)

    def _class_weights(self, training: Training, place: Place) -> Tensor | None:
        if training.class_weights is None:
            return None
        return 1 / self.members.sizes.clamp_min(1).to(place.dtype)

    @property
    def capturable(self) -> bool:  # type: ignore[override]
        """On a GPU, where the map's own code never waits for it."""
        return self.seeds.is_cuda and self.method.map.capturable and fused(self.seeds) is not None

    def losses(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """L_K on fresh triplets and L_Y on all training nodes, with fresh dropout."""
        draws = self.draws.at(epoch)
        g = self.method.embed(
            self.parameters, self.prepared, self.dropout.at(draws), self._beginning_from_evaluation()
        )
        triplets = self.sampler.draw(draws) if self.sampler else None
        losses = self.method.losses(
            self.parameters, g, triplets, self.members, self.labels, self.margin, self.weights
        )
        named = {"loss": self._total(losses), "kernel_loss": losses.kernel, "softmax_loss": losses.softmax}
        return {name: value for name, value in named.items() if value is not None}

    def _total(self, losses: Losses) -> Tensor:
        """L_K, L_Y, or L_Y + λ L_K."""
        if losses.softmax is None:
            assert losses.kernel is not None
            return losses.kernel
        return (
            losses.softmax if losses.kernel is None else losses.softmax + self.kernel_weight * losses.kernel
        )

    def _beginning_from_evaluation(self) -> Tensor | None:
        """What the evaluation of the last epoch left, unless the parameters have moved since."""
        left, self._left = self._left, None
        return left[0] if left is not None and left[1] == self.adam.flat._version else None

    def evaluate(self) -> dict[str, Tensor]:
        """Accuracy, loss, and mAP if it selects, on the validation nodes, without dropout; ω_h if learned."""
        beginning = None
        if not self.capturable:  # a replayed epoch cannot take a tensor from the one before
            beginning = self.method.beginning(self.parameters, self.prepared)
            self._left = None if beginning is None else (beginning, self.adam.flat._version)
        return self._evaluate_from(None if beginning is None else beginning.detach())

    @torch.no_grad()
    def _evaluate_from(self, beginning: Tensor | None) -> dict[str, Tensor]:
        g = self.method.embed(self.parameters, self.prepared, None, beginning)
        values = {}
        if self.validation.shape[1]:
            scores = self.method.scores(self.parameters, g, self.members, self.validation)
            values["validation_accuracy"] = accuracy(scores, self.validation_labels)
            values["validation_loss"] = softmax_loss(scores, self.validation_labels, self.validation_weights)
            if self.training.select_by == "map":
                values["validation_map"] = self._validation_map(g)
        if "map.hop_weights" in self.parameters:
            values["hop_weights"] = self.parameters["map.hop_weights"].detach().clone()
        return values

    @torch.no_grad()
    def references(self) -> Tensor:
        """What nearest centroids keep of the training nodes, at the epoch that was kept: r × c or m × d'."""
        g = self.method.embed(self.best.parameters, self.prepared)
        return references(self.method.kernel, g.expand(len(self.seeds), -1, -1), self.members)

    def _validation_map(self, g: Tensor) -> Tensor:
        """Mean average precision of K̄ among the validation nodes: one number per replica."""
        own, chosen = part(self.parameters, "kernel."), take(g, self.validation)
        precision, _ = kernel_retrieval(self.method.kernel, own, chosen, self.validation_labels)
        return precision.nan_to_num(nan=0.0)  # no two nodes of one class: the loss alone selects


def _stacks(
    graph: Graph, method: Method, training: Training, lesson: Lesson, seeds: list[int], place: Place
) -> list[Stack]:
    prepared = method.map.prepare(graph, place)
    one = method.initial(prepared, lesson.classes, Draws(torch.tensor(seeds[:1], device=place.device)), place)
    return [
        Stack(prepared, method, training, lesson, seeds, place, replicas)
        for replicas in stack_slices(one, graph.n_nodes, len(seeds), place)
    ]


def _facts(
    graph: Graph, method: Method, training: Training, lesson: Lesson, seeds: list[int], place: Place
) -> dict[str, Any]:
    """What two runs must share for one to continue the other; epochs may grow."""
    nodes = (lesson.train, lesson.train_labels, lesson.validation, lesson.validation_labels)
    facts = {
        "graph": graph.fingerprint,
        "method": method.to_json(),
        "training": training.to_json() | {"epochs": None},
        "nodes": hashlib.sha256(b"".join(array.tobytes() for array in nodes)).hexdigest(),
        "seeds": seeds,
        "precision": str(place.dtype),
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def train(
    graph: Graph,
    method: Method,
    training: Training,
    lesson: Lesson,
    seeds: list[int],
    place: Place,
    *,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Train one replica per seed, all at once; each gives what the run made alone with its seed gives."""
    started = time.perf_counter()
    if training.selection == "best" and training.epochs and not lesson.validation.shape[1]:
        raise InputError("selection='best' needs validation nodes. Give some, or pass selection='last'.")
    for number in lesson.lonely_classes():
        warnings.warn(f"class {number} has a single training node: little to learn from.", stacklevel=2)
    stacks = _stacks(graph, method, training, lesson, seeds, place)
    trained = run_epochs(
        stacks,
        training,
        facts=_facts(graph, method, training, lesson, seeds, place),
        progress=progress,
        checkpoint=checkpoint,
        started=started,
    )
    if method.classifier == "softmax":
        return trained
    return replace(trained, references=torch.cat([stack.references() for stack in stacks]))
