"""Training a method on the classes of nodes."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Dropout
from kernode.compute.gpu import fused_sums
from kernode.compute.ranks import rows_for_all
from kernode.compute.stack import Parameters, part, take
from kernode.errors import InputError
from kernode.graph.share import GraphShare, ranks_of
from kernode.kernels.node_kernel import kernel_retrieval
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.softmax import cross_entropy, node_weights
from kernode.maps.base import input_rates
from kernode.metrics.accuracy import accuracy
from kernode.node_classification.centroids import references
from kernode.node_classification.method import Method
from kernode.node_classification.shares import first_of, known_nodes
from kernode.node_classification.task import NodeTask
from kernode.progress import timed
from kernode.training.loop import Epochs, Learner, Trained, stack_slices
from kernode.training.ranks import agreed, collected
from kernode.training.settings import Training


class NodeLearner(Learner):
    """Replicas that learn the classes of nodes, and everything that stays fixed while they do."""

    def __init__(
        self,
        prepared: Any,
        method: Method,
        training: Training,
        task: NodeTask,
        replicas: slice = slice(None),
    ) -> None:
        run, place, nodes = task.run, task.run.place, task.nodes.of(replicas)
        weights = None if task.weights is None else task.weights[nodes.train]
        self.ranks, self.known = ranks_of(task.graph), None
        first: dict[str, int] = {}
        if isinstance(task.graph, GraphShare):
            # The loss is computed by all ranks alike, on g of the nodes that train or validate: these alone
            # are brought together, and from here on they are all nodes that there are.
            self.known, nodes = known_nodes(task.graph, nodes, place.device)
            first = first_of(task.graph, prepared)
        settings = training.by_replica(run.replicas, place) | method.loss.by_replica(run.replicas, place)
        own = {name: values[replicas] for name, values in settings.items()}
        device, classes = place.device, len(task.classes)
        self.prepared, self.method = prepared, method
        self.draws = run.draws(replicas)
        self.seeds = self.draws.seeds
        input_rate = input_rates(method.map, own["input_dropout"])
        self.dropout = Dropout(self.draws, own["dropout"], input_rate, **first)
        self.training_nodes = NodesByClass.of(nodes.train, nodes.train_labels, classes, device, weights)
        self.loss_inputs = method.loss.prepare(self.training_nodes, own, place)
        self.validation = torch.tensor(nodes.validation, device=device)
        self.validation_labels = torch.tensor(nodes.validation_labels, device=device)
        self.validation_weights = node_weights(self.validation_labels, None, place.dtype)
        self.score = f"validation_{training.select_by}"
        self._left: tuple[Tensor, int] | None = None  # by evaluation, for the next step
        super().__init__(method.initial(prepared, classes, self.draws, place), training, own, place)

    @property
    def capturable(self) -> bool:  # type: ignore[override]
        """On a GPU, where neither the map's own code nor the losses' waits for it."""
        able = self.seeds.is_cuda and self.method.map.capturable and fused_sums(self.seeds) is not None
        return able and self.ranks.alone

    def losses(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """The method's loss on the training nodes, with fresh triplets and fresh dropout."""
        draws, method = self.draws.at(epoch), self.method
        g = self._embed(self.parameters, self.dropout.at(draws), self._beginning_from_evaluation())
        g = take(g, self.training_nodes.nodes)  # the loss sees no other node
        return method.loss(self.loss_inputs, method.kernel, self.parameters, g, draws)

    def _embed(
        self, parameters: Parameters, dropout: Dropout | None = None, beginning: Tensor | None = None
    ) -> Tensor:
        """g of every node, or where ranks share them of those that train or validate: r × n × d."""
        g = self.method.embed(parameters, self.prepared, dropout, beginning)
        return g if self.known is None else rows_for_all(self.known, g)

    def collected(self, gradients: dict[str, Tensor | None]) -> dict[str, Tensor | None]:
        """Sums over ranks: each has the map's gradient from its own rows."""
        return gradients if self.ranks.alone else collected(self.ranks, gradients, "map.")

    def agreed(self, record: dict[str, Tensor]) -> dict[str, Tensor]:
        """What the first rank found."""
        return record if self.ranks.alone else agreed(self.ranks, record)

    def _beginning_from_evaluation(self) -> Tensor | None:
        """What the evaluation of the last epoch left, unless the parameters have moved since."""
        left, self._left = self._left, None
        return left[0] if left is not None and left[1] == self.adam.flat._version else None

    def evaluate(self) -> dict[str, Tensor]:
        """Accuracy, loss, and mAP if it selects, on the validation nodes, without dropout; ω_h if learned."""
        beginning = None
        # A replayed epoch cannot take a tensor from the one before, nor one that learns an average's.
        if not self.capturable and self.average is None:
            beginning = self.method.beginning(self.parameters, self.prepared)
            self._left = None if beginning is None else (beginning, self.adam.flat._version)
        return self._evaluate_from(None if beginning is None else beginning.detach())

    @torch.no_grad()
    def _evaluate_from(self, beginning: Tensor | None) -> dict[str, Tensor]:
        g = self._embed(self.current, None, beginning)
        values = {}
        if self.validation.shape[1]:
            scores = self.method.scores(self.current, g, self.training_nodes, self.validation)
            values["validation_accuracy"] = accuracy(scores, self.validation_labels)
            values["validation_loss"] = cross_entropy(scores, self.validation_labels, self.validation_weights)
            if self.training.select_by == "map":
                values["validation_map"] = self._validation_map(g)
        if "map.hop_weights" in self.current:
            values["hop_weights"] = self.current["map.hop_weights"].detach().clone()
        return values

    @torch.no_grad()
    def references(self) -> Tensor:
        """What nearest centroids keep of the training nodes, at the epoch that was kept: r × c or m × d'."""
        g = self._embed(self.best.parameters)
        return references(self.method.kernel, g.expand(len(self.seeds), -1, -1), self.training_nodes)

    def _validation_map(self, g: Tensor) -> Tensor:
        """Mean average precision of K̄ among the validation nodes: one number per replica."""
        own, chosen = part(self.current, "kernel."), take(g, self.validation)
        precision, _ = kernel_retrieval(self.method.kernel, own, chosen, self.validation_labels)
        return precision.nan_to_num(nan=0.0)  # no two nodes of one class: the loss alone selects


def learners(task: NodeTask, method: Method, training: Training) -> list[NodeLearner]:
    """As few as there can be for the replicas of a task."""
    method.map.check_graph(task.graph)
    with timed("features and hops"):
        prepared = method.map.prepare(task.graph, task.run.place)
    one = method.initial(prepared, len(task.classes), task.run.draws(slice(1)), task.run.place)
    slices = stack_slices(one, task.graph.n_nodes, task.run)
    return [NodeLearner(prepared, method, training, task, replicas) for replicas in slices]


class Course:
    """A method that learns a task, one replica per seed, all at once, as far as it is asked to.

    Each replica gives what the run made alone with its seed gives.
    """

    def __init__(self, task: NodeTask, method: Method, training: Training) -> None:
        started = time.perf_counter()
        if training.selection == "best" and training.epochs and not task.nodes.validates:
            raise InputError("selection='best' needs validation nodes. Give some, or pass selection='last'.")
        self.method, self.training = method, training
        self.stacks = learners(task, method, training)
        data = [*vars(task.nodes).values(), *([] if task.weights is None else [task.weights])]
        facts = task.run.facts(task.graph, method, training, data)
        self.epochs = Epochs(self.stacks, training, task.run, facts, started, ranks_of(task.graph))

    def validated(self) -> np.ndarray:
        """What says which epoch is best, of every epoch so far (E × r), in percent; −inf for no number."""
        score = self.epochs.recorded(f"validation_{self.training.select_by}")
        return np.where(np.isfinite(self.epochs.recorded("validation_loss")), score, -np.inf)

    def trained(self) -> Trained:
        """What has been learned so far."""
        trained = replace(self.epochs.trained(), prepared=self.stacks[0].prepared)
        if self.method.classifier == "softmax":
            return trained
        return replace(trained, references=torch.cat([stack.references() for stack in self.stacks]))


def train(task: NodeTask, method: Method, training: Training) -> Trained:
    """Train to the end."""
    course = Course(task, method, training)
    course.epochs.run()
    return course.trained()
