"""Methods that learn the classes of nodes: their interface, and the paper's method, a row of its Table 2."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws
from kernode.compute.stack import Parameters, replica, take, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config, changed, require_part
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.kernels import BaseKernel
from kernode.losses import Joint, Loss
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.softmax import class_scores
from kernode.metrics.accuracy import accuracy
from kernode.models.method import KernelMethod
from kernode.models.overrides import Changes, changed_kernel, changed_loss, changed_map, flat
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
    """A method for the classes of nodes; a new one defines :meth:`train` and :meth:`probabilities`."""

    has_kernel: ClassVar[bool] = False  # K(u, v)
    closed_form: ClassVar[bool] = False  # trained by :meth:`train`, not by the training loop

    def train(self, task: NodeTask, training: Training) -> Trained:
        """Learn a task, one replica per seed."""
        raise NotImplementedError

    @abstractmethod
    def probabilities(self, on: NodeModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """Class probabilities of nodes (q × m) by a trained model on a graph: r × m × c."""

    @property
    def title(self) -> str:
        """Name in messages."""
        return type(self).__name__

    def for_classes(self, classes: int) -> NodeMethod:
        """Return the method for a number of classes."""
        return self

    def finished(self, parameters: Parameters, prepared: Any) -> Parameters:
        """The parameters after training, with what the map measured of the graph."""
        return parameters

    def own_calibration(self, on: NodeModelOnGraph) -> Any:
        """Return a calibration that needs no validation nodes, if the method has one."""
        return None

    def head(self, parameters: Parameters) -> tuple[Tensor | None, Tensor]:
        """W (r × d × c, None for 1) and b (r × c) with p = softmax(g W + b), for members of a sum."""
        raise InputError(f"{self.title} cannot be a member of a sum of kernels.", "unsupported")

    def for_graph(self, graph: Graph) -> NodeMethod:
        """Return the method for the graph that it is trained on."""
        return self

    def changed(self, changes: Changes) -> NodeMethod:
        """Return the method with other settings."""
        found: NodeMethod = changed(self, flat({k: v for k, v in changes.items() if k != "training"}))
        return found

    def chosen(self, model: NodeModel, graph: Graph) -> NodeMethod:
        """Return the method with the settings that validation chose in a model."""
        return self

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Training settings without effect."""
        return frozenset()

    def least_bytes(self, sizes: GraphSizes, training: Training, options: TensorOptions) -> float:
        """A lower bound of the memory that training takes in addition to the graph, one replica at a time."""
        return 0.0

    def refusal(self, model: NodeModel, graph: Graph) -> str | None:
        """Why a model cannot be used on another graph, as a sentence; None if it can."""
        return f"{self.title} learns about the nodes of one graph and of no other."


@dataclass(frozen=True)
class Method(KernelMethod, NodeMethod):
    """K(u, v) = kernel(map(u), map(v)), and its loss.

    With a kernel loss L_K the classifier is the nearest centroid (C_K), with L_Y or both softmax (C_Y).
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
        """Return the method with an output for each class, if the map's width was left open."""
        return replace(self, map=self.map.for_classes(classes))

    def head(self, parameters: Parameters) -> tuple[Tensor | None, Tensor]:
        """Return the bias of the classes: g has an entry for each."""
        return super().head(parameters) if self.classifier != "softmax" else (None, parameters["class_bias"])

    def for_graph(self, graph: Graph) -> Method:
        """Return the method for the graph that it is trained on."""
        return replace(self, map=self.map.for_graph(graph))

    @torch.no_grad()
    def finished(self, parameters: Parameters, prepared: Any) -> Parameters:
        """The parameters after training, with what the map measured of the graph."""
        own = self.map.finished(under_prefix(parameters, "map."), prepared)
        return parameters | {f"map.{name}": value for name, value in own.items()}

    def initial(self, prepared: Any, draws: Draws, options: TensorOptions, classes: int = 1) -> Parameters:
        """Initial parameters, named ``map.…``, ``kernel.…`` and ``class_bias``."""
        parameters = super().initial(prepared, draws, options)
        if self.classifier == "softmax":
            # One bias on the class scores, none in the MLP: not stated in the paper.
            shape = len(draws.seeds), classes
            parameters["class_bias"] = torch.zeros(shape, dtype=options.dtype, device=options.device)
        return parameters

    def scores(
        self,
        parameters: Parameters,
        g: Tensor,
        training_nodes: NodesByClass,
        nodes: Tensor,
        held: Tensor | None = None,
    ) -> Tensor:
        """Class scores of nodes (q × m): r × m × c.

        ``held``: what :func:`references` found, where the training nodes are not among those of g.
        """
        if self.classifier == "softmax":
            return class_scores(take(g, nodes), parameters["class_bias"])
        held = references(self.kernel, g, training_nodes) if held is None else held
        return centroid_scores(
            self.kernel, under_prefix(parameters, "kernel."), take(g, nodes), held, training_nodes
        )

    def probabilities(self, on: NodeModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """Softmax of the class scores, before any calibration."""
        g, at = on.gather_rows(nodes)
        rows = torch.from_numpy(at).to(on.options.device)
        held = on.class_references if self.classifier == "centroid" else None
        scores = self.scores(on.parameters, g, on.training_nodes, rows, held)
        return scores.softmax(dim=-1).cpu().numpy()

    def changed(self, changes: Changes) -> Method:
        """Return the method with another map, kernel or loss, or other settings of them."""
        feature_map, change = self.map, changes.get("map", {})
        loss = changed_loss(self.loss, changes.get("loss", {}))
        if self.classifier == "centroid" and loss.objective != "kernel":  # softmax: one output per class
            feature_map = feature_map.with_open_width()
        kernel = changed_kernel(self.kernel, changes.get("kernel", {}))
        return replace(self, map=changed_map(feature_map, change), kernel=kernel, loss=loss)

    @property
    def learns(self) -> bool:
        """Whether there are parameters to train, such as the bias of the classes."""
        return self.classifier == "softmax" or super().learns

    def refusal(self, model: NodeModel, graph: Graph) -> str | None:
        """Maps with a vector per node are of one graph."""
        if self.map.per_node or self.map.of_one_graph:
            return super().refusal(model, graph)
        return None


def head_probabilities(method: NodeMethod, parameters: Parameters, g: Tensor) -> np.ndarray:
    """Class probabilities of vectors (r × m × d) by the head of a method: r × m × c."""
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


def references(kernel: BaseKernel, g: Tensor, members: NodesByClass) -> Tensor:
    """Vectors that C_K compares nodes with, from g (r × n × d).

    Class means of what the kernel compares (r × c × d') where it is a dot product: the mean of products is
    the product with the mean. Else the training nodes' own g, class by class (r × m × d).
    """
    training = take(g, members.nodes)
    return members.averaging.to(g.dtype) @ kernel.embed(training) if kernel.dot_product else training


def centroid_scores(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, held: Tensor, members: NodesByClass
) -> Tensor:
    """C_K: μ_y, the mean K̄ between nodes with g (r × m × d) and the training nodes of class y; r × m × c.

    ``held``: of :func:`references`. The softmax of the scores is what C_K reports as probabilities, which a
    temperature then calibrates: similarities lie within [−1, 1], and would never be sure.
    """
    embedded = kernel.embed(g)
    if kernel.dot_product:
        scores = embedded @ held.transpose(1, 2)
    else:
        training, found = kernel.embed(held), []
        step = max(1, GRAM_BLOCK // training.shape[1])
        for i, rows in enumerate(embedded):  # by Gram blocks, one replica after another
            by_class = members.averaging[min(i, len(members.averaging) - 1)].to(rows.dtype).T
            own = training[i : i + 1], replica(parameters, i)
            blocks = [kernel.gram(some[None], *own) @ by_class for some in rows.split(step)]
            found.append(torch.cat(blocks, dim=1))
        scores = torch.cat(found)
    return scores.masked_fill((members.sizes == 0)[:, None], NO_SIMILARITY)
