"""Methods that learn the classes of nodes: their protocol, and the paper's, a row of its Table 2."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part, take
from kernode.config import Config, changed, require_part
from kernode.errors import InputError, bad_setting
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.losses import Joint, KernelLoss, Loss, Softmax
from kernode.losses.kernel_loss import kernel_losses
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.softmax import class_scores
from kernode.maps.base import StagedMap
from kernode.maps.module import require_map
from kernode.metrics.accuracy import accuracy
from kernode.models.changes import Changes
from kernode.models.method import KernelMethod, changed_map, unknown_setting
from kernode.progress import tell
from kernode.tasks.classes.centroids import centroid_scores, reference_scores
from kernode.training.loop import Trained
from kernode.training.settings import Training

if TYPE_CHECKING:
    from kernode.tasks.classes.model import NodeModel
    from kernode.tasks.classes.on_graph import NodeModelOnGraph
    from kernode.tasks.classes.task import NodeTask


@dataclass(frozen=True)
class NodeMethod(Config):
    """A method for the classes of nodes; a new one writes :meth:`train` and :meth:`probabilities`."""

    has_kernel: ClassVar[bool] = False  # K(u, v), learned by the training loop; else by :meth:`train`

    def train(self, task: NodeTask, training: Training) -> Trained:
        """Learn a task, one replica per seed."""
        raise NotImplementedError

    @abstractmethod
    def probabilities(self, on: NodeModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """Class probabilities of nodes (q × m) by a trained model on a graph: r × m × c."""

    @property
    def title(self) -> str:
        """What sentences call it."""
        return type(self).__name__

    def for_classes(self, classes: int) -> NodeMethod:
        """The same method for so many classes."""
        return self

    def changed(self, changes: Changes) -> NodeMethod:
        """The method with other settings."""
        given: dict[str, Any] = {}
        for name in ("map", "kernel", "loss", "method"):
            given |= ({name: changes.parts[name]} if name in changes.parts else {}) | changes.of_part(name)
        found: NodeMethod = changed(self, given)
        return found

    def chosen(self, model: NodeModel, graph: Graph) -> NodeMethod:
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
        """A lower bound of the memory that training takes in addition to the graph, one replica at a time."""
        return 0.0

    def refusal(self, model: NodeModel, graph: Graph) -> str | None:
        """Why a model means nothing on another graph than its own, in a sentence; None where it does."""
        return f"{self.title} learns about the nodes of one graph and of no other."


@dataclass(frozen=True)
class Method(KernelMethod, NodeMethod):
    """K(u, v) = kernel(map(u), map(v)), and the loss that it is trained with.

    A kernel loss L_K answers by nearest centroids (C_K), L_Y and both together by softmax (C_Y).
    """

    loss: Loss = Joint()

    def __post_init__(self) -> None:
        super().__post_init__()
        require_part("loss", self.loss, Loss, "kernode.losses.Hinge()")

    @property
    def classifier(self) -> Literal["centroid", "softmax"]:
        """C_K or C_Y."""
        return "centroid" if self.loss.objective == "kernel" else "softmax"

    def for_classes(self, classes: int) -> Method:
        """The same method with its map as wide as there are classes, where the width was left open."""
        return replace(self, map=self.map.for_classes(classes))

    def initial(self, prepared: Any, draws: Draws, place: Place, classes: int = 1) -> Parameters:
        """All first parameters, under ``map.``, ``kernel.`` and ``class_bias``."""
        parameters = super().initial(prepared, draws, place)
        if self.classifier == "softmax":
            # One bias on the class scores, none in the MLP: not stated in the paper.
            shape = len(draws.seeds), classes
            parameters["class_bias"] = torch.zeros(shape, dtype=place.dtype, device=place.device)
        return parameters

    def first_layer(self, parameters: Parameters, prepared: Any) -> Tensor | None:
        """What evaluation and the next training step share, where the map has such a part."""
        if not isinstance(self.map, StagedMap):
            return None
        return self.map.first_layer(part(parameters, "map."), prepared)

    def embed(
        self,
        parameters: Parameters,
        prepared: Any,
        dropout: Dropout | None = None,
        first: Tensor | None = None,
    ) -> Tensor:
        """g of every node: r × n × d; from its first layer, where that has been computed already."""
        own = part(parameters, "map.")
        if first is None or (dropout is not None and dropout.of_input is not None):
            return self.map(own, prepared, dropout)
        assert isinstance(self.map, StagedMap)
        return self.map.later_layers(own, prepared, first, dropout)

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

    def probabilities(self, on: NodeModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """Softmax of the class scores, before any calibration."""
        g, at = on.together(nodes)
        rows = torch.from_numpy(at).to(on.place.device)
        scores = self.scores(on.parameters, g, on.training_nodes, rows, on.references)
        return scores.softmax(dim=-1).cpu().numpy()

    def changed(self, changes: Changes) -> Method:
        """The method with other parts, or other settings of its parts."""
        own_map, feature_map = "map" not in changes.parts, changes.parts.get("map", self.map)
        require_map(feature_map, "kernode.maps.HopMLP()")
        loss = changed_loss(self.loss, changes.parts.get("loss"), changes.of_part("loss"))
        if own_map and self.classifier == "centroid" and loss.objective != "kernel":  # softmax: one per class
            feature_map = feature_map.with_open_width()
        if unknown := list(changes.of_part("method")):
            raise unknown_setting(unknown[0], feature_map)
        return replace(
            self, map=changed_map(feature_map, changes), kernel=changes.kernel(self.kernel), loss=loss
        )

    @property
    def learns(self) -> bool:
        """Also the bias of the classes."""
        return self.classifier == "softmax" or super().learns

    def varies_by_replica(self, training: Training) -> bool:
        """Whether training or the loss has a number for each replica."""
        own = self.loss.replica_settings().values()
        return super().varies_by_replica(training) or any(isinstance(value, tuple) for value in own)

    def least_bytes(self, sizes: GraphSizes, training: Training, place: Place) -> float:
        """What the map holds, as wide as there are classes."""
        wide = replace(self, map=self.map.for_classes(max(1, sizes.classes)))
        return KernelMethod.least_bytes(wide, sizes, training, place)

    def refusal(self, model: NodeModel, graph: Graph) -> str | None:
        """Vectors of single nodes mean nothing elsewhere; features must have the same columns."""
        if self.map.per_node:
            return super().refusal(model, graph)
        if model.n_features is None or (self.classifier == "centroid" and model.references is None):
            return "this model's file is of before models went to other graphs: train again."
        return None


def changed_loss(loss: Loss, given: Any, settings: dict[str, Any]) -> Loss:
    """A loss with other parts or settings: ``given`` is a loss, or the name of one or of an objective.

    >>> from kernode.losses import Hinge
    >>> changed_loss(Joint(Hinge(margin=0.5)), "kernel", {})
    Hinge(triplets=10000, margin=0.5)
    >>> changed_loss(Joint(), None, {"margin": 0.5, "kernel_weight": 1.0}).kernel
    Hinge(triplets=10000, margin=0.5)
    """
    settings = dict(settings)
    for one in (given, settings.pop("objective", None)):
        loss = loss if one is None else _other_loss(loss, one)
    if (kernel := settings.pop("kernel_loss", None)) is not None:
        loss = _with_kernel_loss(loss, kernel)
    found: Loss = changed(loss, settings)
    return found


def _other_loss(loss: Loss, given: Any) -> Loss:
    """Another loss, by name or as an object: of parts that stay, the settings stay."""
    if isinstance(given, Loss):
        return given
    joint = loss if isinstance(loss, Joint) else Joint()
    kernel = loss if isinstance(loss, KernelLoss) else joint.kernel
    softmax = loss if isinstance(loss, Softmax) else joint.softmax
    losses: dict[str, Loss] = {"kernel": kernel, "softmax": softmax}
    losses |= {"joint": replace(joint, kernel=kernel, softmax=softmax), loss.objective: loss}
    if isinstance(given, str) and given in losses:
        return losses[given]
    if isinstance(given, str) and given.lower() in kernel_losses():
        return _with_kernel_loss(loss, given)
    if isinstance(given, type):
        require_part("loss", given, Loss, "kernode.losses.Hinge()")
    known = ", ".join((*losses, *sorted(kernel_losses())))
    raise bad_setting("loss", f"a loss such as kernode.losses.Hinge(), or one of {known}", given)


def _with_kernel_loss(loss: Loss, given: Any) -> Loss:
    """A loss with another kernel loss, by name or as an object."""
    if isinstance(loss, Joint):
        kernel: Any = _with_kernel_loss(loss.kernel, given)
        return replace(loss, kernel=kernel)
    if not isinstance(loss, KernelLoss):
        raise InputError(
            f"{type(loss).__name__} has no kernel loss to replace: use the joint loss.",
            "no-effect", setting="kernel_loss",
        )  # fmt: skip
    if isinstance(given, KernelLoss):
        return given
    if isinstance(given, type):
        require_part("kernel_loss", given, KernelLoss, "kernode.losses.Hinge()")
    by_name = kernel_losses()
    if not isinstance(given, str) or given.lower() not in by_name:
        raise bad_setting("kernel_loss", f"one of {', '.join(sorted(by_name))}", given)
    kind = by_name[given.lower()]
    return loss if type(loss) is kind else kind(triplets=loss.triplets)


def validation_accuracies(
    task: NodeTask, title: str, settings: Sequence[Any], answers: Callable[[Any], Any]
) -> np.ndarray:
    """Accuracy in percent, by setting and replica: settings × r. Of equals the first is the best.

    ``answers``: class numbers of each row of validation nodes, by a setting.
    """
    if len(settings) > 1 and not task.nodes.validates:
        raise InputError(
            f"{title} chooses between {len(settings)} settings by validation nodes. Give some.",
            "missing",
        )
    accuracies = np.empty((len(settings), task.run.replicas))
    for at, setting in enumerate(settings):
        labels = task.nodes.validation_labels
        accuracies[at] = accuracy(np.stack(answers(setting)), labels) if labels.size else 0.0
        tell(f"{task.run.name}: settings", at + 1, len(settings))
    return accuracies
