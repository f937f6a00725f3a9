"""What learns the classes of nodes: the protocol of every method, and the paper's, a row of its Table 2."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part, take
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.kernels import BaseKernel
from kernode.losses import Hinge, Joint, Loss
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.softmax import class_scores
from kernode.maps import FeatureMap
from kernode.maps.base import StagedMap
from kernode.maps.module import require_map
from kernode.node_classification.centroids import centroid_scores, reference_scores
from kernode.node_classification.changes import changed_loss, hidden_widths, with_objective
from kernode.recipe import Recipe, require_part, take_fields
from kernode.training.loop import Trained
from kernode.training.settings import OF_LEARNING, Training
from kernode.training.settings import PER_REPLICA as TRAINING_PER_REPLICA

if TYPE_CHECKING:
    from kernode.node_classification.model import Model
    from kernode.node_classification.model_on_graph import ModelOnGraph
    from kernode.node_classification.task import NodeTask

# Settings of training and of the losses that may differ between replicas.
PER_REPLICA = (*TRAINING_PER_REPLICA, *Joint.per_replica, *Hinge.per_replica)


@dataclass(frozen=True)
class NodeMethod(Recipe):
    """What learns the classes of nodes; a new one writes :meth:`train` and :meth:`probabilities`."""

    has_kernel: ClassVar[bool] = False  # whether its model is asked for K(u, v)
    learns_by_gradient: ClassVar[bool] = False  # epoch by epoch, as Training says

    @abstractmethod
    def train(self, task: NodeTask, training: Training) -> Trained:
        """Learn a task, one replica per seed."""

    @abstractmethod
    def probabilities(self, on: ModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """Class probabilities of nodes (q × m) by a trained model on a graph: r × m × c."""

    def embed_all(self, on: ModelOnGraph) -> Tensor:
        """The learned representation of every node: r × n × d."""
        raise InputError(f"{self.title} has no feature map, and no kernel that is ever held as a whole.")

    @property
    def title(self) -> str:
        """What sentences call it."""
        return type(self).__name__

    def for_classes(self, classes: int) -> NodeMethod:
        """The same method for so many classes."""
        return self

    def changed(self, changes: dict[str, Any]) -> NodeMethod:
        """The method with other settings, which are taken out of ``changes``; what is left is not its own."""
        return replace(self, **take_fields(changes, self))

    def chosen(self, model: Model, graph: Graph) -> NodeMethod:
        """The method with what a model of it chose by validation nodes, to be trained on all of them."""
        return self

    def varies_by_replica(self, training: Training) -> bool:
        """Whether replicas have settings of their own."""
        return False

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Training settings that never have an effect here."""
        return frozenset()

    def least_bytes(self, sizes: GraphSizes, training: Training, place: Place) -> float:
        """A lower bound of the memory that training takes beside the graph, one replica at a time."""
        return 0.0

    def refusal(self, model: Model, graph: Graph) -> str | None:
        """Why a model means nothing on another graph than its own, in a sentence; None where it does."""
        return f"{self.title} learns about the nodes of one graph and of no other."

    def extended(self, on: ModelOnGraph, larger: Graph) -> ModelOnGraph:
        """The model on its graph after nodes or edges arrived."""
        return replace(on, graph=larger, prepared=None)


@dataclass(frozen=True)
class Method(NodeMethod):
    """K(u, v) = kernel(map(u), map(v)), and the loss that it is trained with.

    A kernel loss L_K answers by nearest centroids (C_K), L_Y and both together by softmax (C_Y).
    """

    map: FeatureMap
    kernel: BaseKernel
    loss: Loss = Joint()

    has_kernel: ClassVar[bool] = True
    learns_by_gradient: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_map(self.map, "kernode.maps.HopMLP()")
        require_part("kernel", self.kernel, BaseKernel, "kernode.kernels.RBF()")
        require_part("loss", self.loss, Loss, "kernode.losses.Hinge()")

    @property
    def classifier(self) -> Literal["centroid", "softmax"]:
        """C_K or C_Y."""
        return "centroid" if self.loss.objective == "kernel" else "softmax"

    @property
    def title(self) -> str:
        """By its map."""
        return type(self.map).__name__

    def for_classes(self, classes: int) -> Method:
        """The same method with its map as wide as there are classes, where the width was left open."""
        return replace(self, map=self.map.for_classes(classes))

    def initial(self, prepared: Any, classes: int, draws: Draws, place: Place) -> Parameters:
        """All first parameters, under ``map.``, ``kernel.`` and ``class_bias``."""
        replicas = len(draws.seeds)
        parameters = {f"map.{k}": v for k, v in self.map.initial(prepared, draws, place).items()}
        for name, value in self.kernel.initial(replicas).items():
            parameters[f"kernel.{name}"] = value.to(place.dtype).to(place.device)
        if self.classifier == "softmax":
            # One bias on the class scores, none in the MLP: not stated in the paper.
            parameters["class_bias"] = torch.zeros(replicas, classes, dtype=place.dtype, device=place.device)
        return parameters

    def beginning(self, parameters: Parameters, prepared: Any) -> Tensor | None:
        """What evaluation and the next training step share, where the map has such a part."""
        if not isinstance(self.map, StagedMap):
            return None
        return self.map.beginning(part(parameters, "map."), prepared)

    def embed(
        self,
        parameters: Parameters,
        prepared: Any,
        dropout: Dropout | None = None,
        beginning: Tensor | None = None,
    ) -> Tensor:
        """g of every node: r × n × d; from its beginning, where that has been computed already."""
        own = part(parameters, "map.")
        if beginning is None or (dropout is not None and dropout.of_input is not None):
            return self.map(own, prepared, dropout)
        assert isinstance(self.map, StagedMap)
        return self.map.finish(own, prepared, beginning, dropout)

    def scores(
        self,
        parameters: Parameters,
        g: Tensor,
        training_nodes: NodesByClass,
        nodes: Tensor,
        references: Tensor | None = None,
    ) -> Tensor:
        """Class scores of nodes (q × m): r × m × c.

        Where the training nodes are not among those of g, ``references`` hold what is needed of them.
        """
        if self.classifier == "softmax":
            return class_scores(take(g, nodes), parameters["class_bias"])
        own = part(parameters, "kernel.")
        if references is None:
            return centroid_scores(self.kernel, own, g, training_nodes, nodes)
        return reference_scores(self.kernel, own, take(g, nodes), references, training_nodes)

    def train(self, task: NodeTask, training: Training) -> Trained:
        """One replica per seed, all at once."""
        from kernode.node_classification.trainer import train  # here: a trainer is made of a method

        return train(task, self, training)

    def probabilities(self, on: ModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """Softmax of the class scores, before any calibration."""
        g, at = on.together(nodes)
        rows = torch.from_numpy(at).to(on.place.device)
        scores = self.scores(on.parameters, g, on.training_nodes, rows, on.references)
        return scores.softmax(dim=-1).cpu().numpy()

    def embed_all(self, on: ModelOnGraph) -> Tensor:
        """g of every node: r × n × d."""
        self.map.check_graph(on.graph)
        prepared = self.map.prepare(on.graph, on.place) if on.prepared is None else on.prepared
        g = self.embed(on.parameters, prepared)
        return g.expand(len(on.model.seeds), -1, -1)  # a map without parameters gives one for all

    def changed(self, changes: dict[str, Any]) -> Method:
        """Changes are fields of the map, the kernel loss or the joint one, whole parts, and ``layers``."""
        own_map = "map" not in changes
        method = replace(self, **take_fields(changes, Method))
        objective = changes.pop("objective", method.loss.objective)
        if own_map and method.classifier == "centroid" and objective != "kernel":  # softmax: one per class
            method = replace(method, map=method.map.with_open_width())
        method = replace(method, loss=with_objective(method.loss, objective))
        if "layers" in changes or "hidden" in changes:
            changes["hidden"] = hidden_widths(
                method.map, changes.pop("hidden", None), changes.pop("layers", None)
            )
        feature_map = replace(method.map, **take_fields(changes, method.map))
        return replace(method, map=feature_map, loss=changed_loss(method.loss, changes))

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Those of the map, and all of learning where map, kernel and classifier have no parameters."""
        learns = self.map.learns or self.classifier == "softmax" or bool(self.kernel.initial(1))
        return self.map.ignored_settings | (frozenset() if learns else OF_LEARNING)

    def varies_by_replica(self, training: Training) -> bool:
        """Whether training or the loss has a number for each replica."""
        values = [getattr(training, name) for name in TRAINING_PER_REPLICA]
        return any(isinstance(value, tuple) for value in (*values, *self.loss.replica_settings().values()))

    def least_bytes(self, sizes: GraphSizes, training: Training, place: Place) -> float:
        """What the map holds; without an epoch nothing is trained, and nobody knows what is prepared."""
        feature_map = self.map.for_classes(max(1, sizes.classes))
        return feature_map.least_bytes(sizes, place) if training.epochs else 0.0

    def refusal(self, model: Model, graph: Graph) -> str | None:
        """Vectors of single nodes mean nothing elsewhere; features must have the same columns."""
        if self.map.per_node:
            return f"{self.title} learns about the nodes of one graph and of no other."
        if model.n_features is None or (self.classifier == "centroid" and model.references is None):
            return "this model's file is of before models went to other graphs: train again."
        return None

    def extended(self, on: ModelOnGraph, larger: Graph) -> ModelOnGraph:
        """g computed anew where it can differ."""
        return on.recomputed_on(larger, self.map)
