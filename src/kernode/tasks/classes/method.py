"""Methods that learn the classes of nodes: their protocol, and the paper's, a row of its Table 2."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part, replica, take
from kernode.config import Config, changed, require_part
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.kernels import BaseKernel
from kernode.losses import Joint, Loss
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.softmax import class_scores
from kernode.metrics.accuracy import accuracy
from kernode.models.changes import Changes, changed_kernel, changed_loss, changed_map, flat
from kernode.models.method import KernelMethod
from kernode.progress import report_progress
from kernode.training.loop import Trained
from kernode.training.settings import Training

if TYPE_CHECKING:
    from kernode.tasks.classes.model import NodeModel
    from kernode.tasks.classes.on_graph import NodeModelOnGraph
    from kernode.tasks.classes.task import NodeTask


NO_SIMILARITY = -1e3  # to a class without training nodes: below every mean of K̄, but finite
GRAM_BLOCK = 2**24  # entries of a Gram matrix that are held at a time


@dataclass(frozen=True)
class NodeMethod(Config):
    """A method for the classes of nodes; a new one writes :meth:`train` and :meth:`probabilities`."""

    has_kernel: ClassVar[bool] = False  # K(u, v)
    closed_form: ClassVar[bool] = False  # whether :meth:`train` learns it, and not the training loop

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

    def finished(self, parameters: Parameters, prepared: Any) -> Parameters:
        """The parameters after training, with what the map measured of the graph."""
        return parameters

    def own_calibration(self, on: NodeModelOnGraph) -> Any:
        """A calibration by other nodes than those that validate; None where there is none."""
        return None

    def head(self, parameters: Parameters) -> tuple[Tensor | None, Tensor]:
        """W (r × d × c, None for 1) and b (r × c) with p = softmax(g W + b), for members of a sum."""
        raise InputError(f"{self.title} cannot be a member of a sum of kernels.", "unsupported")

    def for_graph(self, graph: Graph) -> NodeMethod:
        """The same method for the graph that it learns from."""
        return self

    def changed(self, changes: Changes) -> NodeMethod:
        """The method with other settings."""
        found: NodeMethod = changed(self, flat({k: v for k, v in changes.items() if k != "training"}))
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

    def head(self, parameters: Parameters) -> tuple[Tensor | None, Tensor]:
        """The bias of the classes: g has an entry for each."""
        return super().head(parameters) if self.classifier != "softmax" else (None, parameters["class_bias"])

    def for_graph(self, graph: Graph) -> Method:
        """The same method with its map for the graph that it learns from."""
        return replace(self, map=self.map.for_graph(graph))

    @torch.no_grad()
    def finished(self, parameters: Parameters, prepared: Any) -> Parameters:
        """The parameters after training, with what the map measured of the graph."""
        own = self.map.finished(part(parameters, "map."), prepared)
        return parameters | {f"map.{name}": value for name, value in own.items()}

    def initial(self, prepared: Any, draws: Draws, place: Place, classes: int = 1) -> Parameters:
        """All first parameters, under ``map.``, ``kernel.`` and ``class_bias``."""
        parameters = super().initial(prepared, draws, place)
        if self.classifier == "softmax":
            # One bias on the class scores, none in the MLP: not stated in the paper.
            shape = len(draws.seeds), classes
            parameters["class_bias"] = torch.zeros(shape, dtype=place.dtype, device=place.device)
        return parameters

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
        g, at = on.gather_rows(nodes)
        rows = torch.from_numpy(at).to(on.place.device)
        scores = self.scores(on.parameters, g, on.training_nodes, rows, on.references)
        return scores.softmax(dim=-1).cpu().numpy()

    def changed(self, changes: Changes) -> Method:
        """The method with other parts, or other settings of its parts."""
        feature_map, change = self.map, changes.get("map", {})
        loss = changed_loss(self.loss, changes.get("loss", {}))
        if self.classifier == "centroid" and loss.objective != "kernel":  # softmax: one output per class
            feature_map = feature_map.with_open_width()
        kernel = changed_kernel(self.kernel, changes.get("kernel", {}))
        return replace(self, map=changed_map(feature_map, change), kernel=kernel, loss=loss)

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
        if self.map.per_node or self.map.of_one_graph:
            return super().refusal(model, graph)
        if model.n_features is None or (self.classifier == "centroid" and model.references is None):
            return "this model's file is of before models went to other graphs: train again."
        return None


def head_probabilities(method: NodeMethod, parameters: Parameters, g: Tensor) -> np.ndarray:
    """Class probabilities of vectors (r × m × d) by a method's own head: r × m × c."""
    weights, bias = method.head(parameters)
    scores = (g if weights is None else g.to(weights.dtype) @ weights) + bias[:, None]
    return scores.softmax(dim=-1).cpu().numpy()


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
        report_progress(f"{task.run.name}: settings", at + 1, len(settings))
    return accuracies


def centroid_scores(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, members: NodesByClass, nodes: Tensor
) -> Tensor:
    """C_K: μ_y, the mean K̄ between a node and the training nodes of class y; r × m × c.

    g is r × n × d, nodes q × m. Their softmax is what C_K reports as probabilities, which a temperature then
    calibrates: similarities lie within [−1, 1], and would never be sure.
    """
    return reference_scores(kernel, parameters, take(g, nodes), references(kernel, g, members), members)


def references(kernel: BaseKernel, g: Tensor, members: NodesByClass) -> Tensor:
    """What C_K needs of the training nodes where they are not at hand, from g (r × n × d).

    Class means of what the kernel compares (r × c × d') where it is a dot product: the mean of products is
    the product with the mean. Else the training nodes' own g, class by class (r × m × d).
    """
    training = take(g, members.nodes)
    return members.averaging.to(g.dtype) @ kernel.embed(training) if kernel.dot_product else training


def reference_scores(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, held: Tensor, members: NodesByClass
) -> Tensor:
    """C_K of nodes with g (r × m × d) from what :func:`references` held: r × m × c."""
    embedded = kernel.embed(g)
    if kernel.dot_product:
        scores = embedded @ held.transpose(1, 2)
    else:
        training, found = kernel.embed(held), []
        step = max(1, GRAM_BLOCK // training.shape[1])
        for i, rows in enumerate(embedded):  # by Gram blocks, one replica after another
            by_class = members.averaging[min(i, len(members.averaging) - 1)].to(rows.dtype).T
            own = training[i : i + 1], replica(parameters, i)
            parts = [kernel.gram(some[None], *own) @ by_class for some in rows.split(step)]
            found.append(torch.cat(parts, dim=1))
        scores = torch.cat(found)
    return scores.masked_fill((members.sizes == 0)[:, None], NO_SIMILARITY)
