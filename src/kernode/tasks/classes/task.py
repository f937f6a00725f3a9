"""The task of learning the classes of nodes: training and validation nodes, and a training step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Dropout
from kernode.compute.ranks import Exchange, rows_for_all
from kernode.compute.stack import Parameters, take, under_prefix
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.share import GraphShare, ranks_of
from kernode.io import Split
from kernode.kernels.node_kernel import kernel_retrieval
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.softmax import cross_entropy, node_weights
from kernode.metrics.accuracy import accuracy
from kernode.metrics.scoring import OWN, Scorer, positive_class
from kernode.models.task import KernelLearner, Task
from kernode.progress import log_event
from kernode.tasks.classes.method import references
from kernode.training.loop import Trained
from kernode.training.run import Run
from kernode.training.settings import Training

if TYPE_CHECKING:
    from kernode.tasks.classes.method import Method, NodeMethod
    from kernode.tasks.classes.on_graph import NodeModelOnGraph

ALL_LABELLED = "all labelled nodes"  # the name of a split that holds nothing out


@dataclass(frozen=True)
class LabelledNodes:
    """Training and validation nodes: arrays q × m, with q = 1 where all replicas share them, else q = r."""

    train: np.ndarray
    train_labels: np.ndarray
    validation: np.ndarray
    validation_labels: np.ndarray  # −1: a class that no training node has

    def __post_init__(self) -> None:
        if (self.train_labels < 0).any():
            node = self.train[self.train_labels < 0][0]
            raise InputError(f"node {node} has no label: keep it out of the training nodes.", "missing")
        if self.train.shape[1] == 0:
            raise InputError(
                "there are no training nodes. Give at least one labelled node per class.", "too-few"
            )

    @classmethod
    def without_validation(cls, nodes: np.ndarray, labels: np.ndarray) -> LabelledNodes:
        """All nodes (m) train."""
        none = np.empty((1, 0), np.int64)
        return cls(nodes[None], labels[None], none, none)

    @property
    def validates(self) -> bool:
        """Whether there are validation nodes."""
        return self.validation.shape[1] > 0

    def of(self, replicas: slice | np.ndarray) -> LabelledNodes:
        """The nodes of some of the replicas."""
        if len(self.train) == 1 and len(self.validation) == 1:
            return self
        return LabelledNodes(*(one[replicas] for one in vars(self).values()))


class NodeLearner(KernelLearner):
    """A stack of replicas that learn the classes of nodes."""

    def __init__(
        self, task: NodeTask, method: Method, training: Training, prepared: Any, replicas: slice
    ) -> None:
        options, nodes = task.run.options, task.nodes.of(replicas)
        weights = None if task.weights is None else task.weights[nodes.train]
        self.ranks = ranks_of(task.graph)
        self.known: Exchange | None = None
        first: dict[str, int] = {}
        if isinstance(task.graph, GraphShare):
            # Every rank computes the same loss, on g of the training and validation nodes: these alone are
            # gathered, and numbered anew.
            share, wanted = task.graph, np.concatenate([nodes.train.ravel(), nodes.validation.ravel()])
            self.known = Exchange(share.ranks, share.bounds, wanted, options.device)
            at = self.known.at
            nodes = replace(nodes, train=at(nodes.train), validation=at(nodes.validation))
            first = _first_of(share, prepared)
        own = method.loss.by_replica(task.run.replicas, options)
        super().__init__(task, method, training, prepared, replicas, own, **first)
        device = options.device
        self.training_nodes = NodesByClass.of(
            nodes.train, nodes.train_labels, len(task.classes), device, weights
        )
        self.loss_inputs = method.loss.prepare(self.training_nodes, self.own, options)
        self.validation = torch.tensor(nodes.validation, device=device)
        self.validation_labels = torch.tensor(nodes.validation_labels, device=device)
        self.validation_weights = node_weights(self.validation_labels, None, options.dtype)
        self.score, self.scorer = f"validation_{training.select_by}", task.scorer(training.select_by)

    @property
    def capturable(self) -> bool:  # type: ignore[override]
        """On a GPU, unless scikit-learn scores every epoch."""
        return self.scorer is None and super().capturable

    def losses(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """The method's loss on the training nodes, with fresh triplets and fresh dropout."""
        draws, method = self.draws.at(epoch), self.method
        g = self._embed(self.parameters, self.dropout.at(draws))
        g = take(g, self.training_nodes.nodes)  # the loss sees no other node
        return method.loss(self.loss_inputs, method.kernel, self.parameters, g, draws)

    def _embed(self, parameters: Parameters, dropout: Dropout | None = None) -> Tensor:
        """g of every node, or of the training and validation nodes where ranks share the graph: r × n × d."""
        g = self.method.map(under_prefix(parameters, "map."), self.prepared, dropout)
        return g if self.known is None else rows_for_all(self.known, g)

    @torch.no_grad()
    def evaluate(self) -> dict[str, Tensor]:
        """Accuracy, loss and what selects, on the validation nodes, without dropout; ω_h if learned."""
        g = self._embed(self.current)
        values = {}
        if self.validation.shape[1]:
            scores = self.method.scores(self.current, g, self.training_nodes, self.validation)
            values["validation_accuracy"] = accuracy(scores.argmax(-1), self.validation_labels)
            values["validation_loss"] = cross_entropy(scores, self.validation_labels, self.validation_weights)
            if self.training.select_by == "map":  # of K̄ among the validation nodes
                own, chosen = under_prefix(self.current, "kernel."), take(g, self.validation)
                precision, _ = kernel_retrieval(self.method.kernel, own, chosen, self.validation_labels)
                # NaN where no two nodes are of one class: the loss alone selects then.
                values["validation_map"] = precision.nan_to_num(nan=0.0)
            if self.scorer is not None:
                answers, labels = scores.softmax(dim=-1).cpu().numpy(), self.validation_labels.cpu().numpy()
                values[self.score] = torch.from_numpy(self.scorer(answers, labels)).to(scores.device)
        if "map.hop_weights" in self.current:
            values["hop_weights"] = self.current["map.hop_weights"].detach().clone()
        return values

    @torch.no_grad()
    def references(self) -> Tensor | None:
        """Vectors that nearest centroids compare with, at the kept epoch: r × c or m × d'."""
        if self.method.classifier == "softmax":
            return None
        g = self._embed(self.best.parameters)
        return references(self.method.kernel, g.expand(len(self.seeds), -1, -1), self.training_nodes)


@dataclass(frozen=True)
class NodeTask(Task["NodeModelOnGraph"]):
    """The classes of a graph's nodes, learned from those of some nodes."""

    learner: ClassVar = NodeLearner

    graph: Graph
    nodes: LabelledNodes
    classes: tuple[Any, ...]  # what the c class numbers of the nodes stand for
    run: Run
    weights: np.ndarray | None = None  # n: how much each node counts in training; None: all the same

    @classmethod
    def of_splits(cls, graph: Graph, splits: list[Split], run: Run) -> NodeTask:
        """Return the task of a split for each replica; one row where all share a split.

        Only the labels of training nodes define the classes.
        """
        distinct = splits[:1] if all(split is splits[0] for split in splits) else splits
        train = np.stack([split.train for split in distinct])
        validation = np.stack([split.validation for split in distinct])
        labels = np.unique(graph.labels[train])
        labels = labels[labels >= 0]
        numbers = np.full(graph.n_classes + 1, -1)  # its last entry is for −1, no label
        numbers[labels] = np.arange(len(labels))
        nodes = LabelledNodes(
            train, numbers[graph.labels[train]], validation, numbers[graph.labels[validation]]
        )
        return cls(graph, nodes, tuple(graph.class_names[label] for label in labels), run)

    @property
    def data(self) -> Iterable[np.ndarray]:
        """Nodes, labels and weights."""
        return [*vars(self.nodes).values(), *([] if self.weights is None else [self.weights])]

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of training and validation nodes of a replica."""
        return {"train": self.nodes.train.shape[1], "validation": self.nodes.validation.shape[1]}

    @property
    def shares_validation(self) -> bool:
        """Whether all replicas have the same validation nodes."""
        return len(self.nodes.validation) == 1

    @property
    def train_weights(self) -> np.ndarray | None:
        """Weights of the training nodes, q × m; None where all count the same."""
        return None if self.weights is None else self.weights[self.nodes.train]

    def of(self, replicas: slice) -> NodeTask:
        """Return the task of some of the replicas."""
        return replace(super().of(replicas), nodes=self.nodes.of(replicas))

    def method_for(self, method: NodeMethod) -> NodeMethod:
        """Return the method for the classes and the graph of the task."""
        return method.for_classes(len(self.classes)).for_graph(self.graph)

    def scorer(self, by: str) -> Scorer | None:
        """Return a scorer of the validation nodes, checked; None for what training computes itself."""
        if by in OWN or not self.validates:
            return None
        found = Scorer(by, len(self.classes), positive_class(self.classes, self.nodes.train_labels))
        found.check(self.nodes.validation_labels)
        return found

    def check(self, method: Method, training: Training) -> None:
        """Raise without validation nodes to choose the epoch, and where the map refuses the graph."""
        if training.selection == "best" and training.epochs and not self.validates:
            raise InputError(
                "the best epoch is chosen by validation nodes. Give some, or keep the last epoch.",
                "missing", setting="selection",
            )  # fmt: skip
        method.map.check_graph(self.graph)

    def initial(self, method: Method, prepared: Any, replicas: slice) -> Parameters:
        """First parameters of some of the replicas."""
        return method.initial(prepared, self.run.draws(replicas), self.run.options, len(self.classes))

    def fitted(
        self, method: NodeMethod, training: Training, trained: Trained, **about: Any
    ) -> NodeModelOnGraph:
        """Return the trained model on its graph, calibrated by the validation nodes."""
        from kernode.tasks.classes.calibration import calibration_of  # here: these know a task
        from kernode.tasks.classes.model import NodeModel
        from kernode.tasks.classes.on_graph import NodeModelOnGraph

        trained = replace(trained, parameters=method.finished(trained.parameters, trained.prepared))
        model = NodeModel(
            **NodeModel.learned(trained, self.graph, self.run),
            method=method,
            training=training,
            train=self.nodes.train,
            train_labels=self.nodes.train_labels,
            train_weights=self.train_weights,
            validation=self.nodes.validation,
            classes=self.classes,
            n_features=self.graph.n_features,
            references=None if trained.references is None else trained.references.cpu().numpy(),
            repairs=tuple(repair.short() for repair in self.graph.repairs),
            **about,
        )
        whole = not isinstance(self.graph, GraphShare)  # else means stand for training nodes
        on = NodeModelOnGraph(
            model, self.graph, self.run.options, prepared=trained.prepared, has_training_nodes=whole
        )
        calibration = method.own_calibration(on) or calibration_of(on, self.nodes)
        if calibration is None:
            return on
        log_event("calibrated", f"calibrated on {calibration.nodes:,} nodes: {calibration.together}")
        return on.with_metadata(calibration=calibration)


def _first_of(share: GraphShare, prepared: Any) -> dict[str, int]:
    """Numbers of a share's first row and first entry of X, by which dropout draws."""
    x = prepared.features
    entry = share.start * x.shape[1] if isinstance(x, Tensor) else share.features_before
    return {"first_row": share.start, "first_entry": entry}
