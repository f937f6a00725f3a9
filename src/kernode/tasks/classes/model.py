"""A trained node classifier: its fields, and the graphs and classes that it can be used with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kernode.compute.tensor_options import TensorOptions
from kernode.errors import FileError, InputError, warn
from kernode.graph import Graph
from kernode.graph.share import GraphShare
from kernode.io.tables.columns import with_target
from kernode.io.tables.table import Repair
from kernode.maps.hop_mlp import HopSum
from kernode.metrics.scoring import figure_name
from kernode.models.file import require_nodes
from kernode.models.model import ARRAY, FACT, Model
from kernode.tasks.classes.calibration import Calibration
from kernode.tasks.classes.task import ALL_LABELLED
from kernode.tasks.classes.threshold import Threshold

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph


def _repairs(values: list[dict[str, Any]]) -> tuple[Repair, ...]:
    return tuple(map(Repair.from_json, values))


@dataclass(frozen=True, kw_only=True, repr=False)
class NodeModel(Model):
    """Learned parameters of r replicas that classify nodes."""

    kind: ClassVar[str] = "model"

    train: np.ndarray = field(metadata=ARRAY)  # q × m training nodes: nearest centroids are their means
    train_labels: np.ndarray = field(metadata=ARRAY)  # q × m
    train_weights: np.ndarray | None = field(default=None, metadata=ARRAY)  # q × m; None: all count the same
    validation: np.ndarray | None = field(default=None, metadata=ARRAY)  # q × v; None in files before 0.2
    tested: np.ndarray | None = field(default=None, metadata=ARRAY)  # q × t; None: none, or not known
    # Of nearest centroids: r × c × d' means, or r × m × d training nodes.
    references: np.ndarray | None = field(default=None, metadata=ARRAY)
    classes: tuple[Any, ...] = field(metadata=FACT | {"read": tuple})  # what the c class numbers stand for
    split: str = field(default="", metadata=FACT)  # how nodes were split
    calibration: Calibration | None = field(default=None, metadata=FACT | {"read": Calibration.from_json})
    threshold: Threshold | None = field(default=None, metadata=FACT | {"read": lambda one: Threshold(**one)})
    n_features: int | None = field(default=None, metadata={"fact": "features"})  # that a graph must have
    repairs: tuple[Repair, ...] = field(default=(), metadata=FACT | {"read": _repairs})  # of tables' rows

    @classmethod
    def upgraded(cls, facts: dict[str, Any]) -> dict[str, Any]:
        """Convert files of 0.1.0, where a loss was a name, and its settings were settings of training."""
        if "variant" in facts:
            return facts
        facts = dict(facts)
        about = facts.pop("labels_of_choice")
        training, method = dict(facts["training"]), dict(facts["method"])
        names = ("kernel_weight", "margin", "triplets", "class_weights")
        losses = {name: training.pop(name) for name in names}
        if "objective" in method:
            method["loss"] = _former_loss(method.pop("objective"), method.pop("kernel_loss"), losses)
        return {
            **facts,
            "method": method,
            "training": training,
            "variant": about.get("variant", "k3"),
            "split": about.get("split", ""),
            "chosen_by_validation": about.get("chosen_by_validation"),
        }

    def check(self) -> None:
        """Raise unless nodes and labels are consistent; a negative node would silently be another one."""
        super().check()
        shape, replicas = self.train.shape, len(self.seeds)
        for name in ("train", "validation", "tested"):
            if getattr(self, name) is not None:
                require_nodes(name, getattr(self, name), replicas)
        labels, weights = self.train_labels, self.train_weights
        if labels.shape != shape or (labels < 0).any() or (labels >= len(self.classes)).any():
            raise ValueError("train_labels are not a class for each of train")
        if weights is not None and weights.shape != shape:
            raise ValueError("train_weights are not one for each of train")

    def on(self, graph: Graph, device: str = "cpu") -> NodeModelOnGraph:
        """Use the model on its graph, or on another one with the same columns of features.

        On another graph nearest centroids are those of the training nodes in their own graph. The column
        that the model predicts is not a feature of that graph, either.
        """
        label = None if self.encoding is None else self.encoding.label
        if self.encoding is not None and label is not None and label in (graph.columns or ()):
            graph = with_target(graph, label, "classes" if self.encoding.numbers is None else "numbers")
        own = self.is_own(graph)
        if not own:
            self._require_use_on(graph)
        if own and self.train.size and self.train.max() >= graph.n_nodes:
            raise FileError(
                f"the model names training nodes that {graph.name!r} does not have. Train again.",
                "wrong-file",
            )
        from kernode.tasks.classes.on_graph import NodeModelOnGraph
        from kernode.tasks.classes.sum import KernelSum, portable

        model = portable(self) if isinstance(self.method, KernelSum) and not own else self
        own = own and not isinstance(graph, GraphShare)
        return NodeModelOnGraph(
            model, graph, TensorOptions.of(self.precision, device), has_training_nodes=own
        )

    def _require_use_on(self, graph: Graph) -> None:
        """Raise unless the model can be used on a graph other than its own."""
        own = f"Give {self.dataset!r}, the graph it was trained on"
        if reason := self.method.refusal(self, graph):
            raise InputError(f"{reason} {own}.", "unsupported", setting="graph")
        if graph.n_features != self.n_features:
            raise InputError(
                f"this model takes {self.n_features} features and {graph.name!r} has {graph.n_features}. "
                f"{own}, or one with the same columns.",
                "shape", setting="graph",
            )  # fmt: skip
        if graph.encoding != self.encoding:
            raise InputError(
                f"the columns of {graph.name!r} were not made as those of {self.dataset!r} were. "
                "Read its tables like those of the model, or make both graphs in the same way.",
                "conflict", setting="graph",
            )  # fmt: skip
        if self.encoding is not None and self.encoding.structure is not None:
            warn(
                f"this model knows nodes by their positions in {self.dataset!r}. In {graph.name!r} they mean "
                "something only near nodes that are in both."
            )

    def of_replicas(self, replicas: list[int]) -> NodeModel:
        """Return the model of some replicas, without the history of training."""
        rows = replicas if len(self.train) > 1 else [0]
        names = ("train", "train_labels", "train_weights", "validation", "tested")
        arrays: Any = {name: None if (one := getattr(self, name)) is None else one[rows] for name in names}
        return replace(
            self,
            **arrays,
            references=None if self.references is None else self.references[replicas],
            parameters={name: value[replicas] for name, value in self.parameters.items()},
            seeds=tuple(self.seeds[i] for i in replicas),
            kept_epochs=self.kept_epochs[replicas],
            history={},
            calibration=None if self.calibration is None else self.calibration.of_replicas(replicas),
        )

    def hop_weights(self) -> np.ndarray | None:
        """ω_h of every replica at its kept epoch: r × (H+1), or None where the map has none.

        NaN where there is no such term: "released" powers have none between the first and the last hop.
        """
        hop_map = self.method.map.unwrapped if hasattr(self.method, "map") else None
        learned = self.parameters.get("map.hop_weights")
        if learned is not None:
            weights = learned.numpy().copy()
        elif isinstance(hop_map, HopSum):
            weights = np.tile(hop_map.first_weights(TensorOptions.of(64)).numpy(), (len(self.seeds), 1))
        else:
            return None
        if isinstance(hop_map, HopSum) and hop_map.powers == "released":
            weights[:, 1 : hop_map.hops] = np.nan
        return weights

    def calibrated(self, mean: np.ndarray) -> np.ndarray:
        """Calibrate the replicas' mean probabilities (… × c), where the model is calibrated."""
        return mean if self.calibration is None else self.calibration.together(mean)

    def answers(self, by_run: np.ndarray, *, shared: bool) -> np.ndarray:
        """Calibrate probabilities (r × m × c): together, as 1 × m × c, where replicas share nodes."""
        if shared:
            return self.calibrated(by_run.mean(axis=0))[None]
        return by_run if self.calibration is None else self.calibration.of_runs(by_run)

    def decided(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the class numbers that ``predict`` gives, by the threshold if there is one: … × c → …"""
        return probabilities.argmax(axis=-1) if self.threshold is None else self.threshold(probabilities)

    def summary(self) -> list[tuple[str, str]]:
        """Return a short description: method, graph, training nodes, validation, hop weights."""
        split = f", split {self.split}" if self.split else ""
        if self.split == ALL_LABELLED:
            split = ": all that have a class"
        own = " in each replica" if len(self.train) > 1 else ""
        lines = super().summary()
        lines[1:2] = [
            ("graph", f"{self.dataset}, {len(self.classes)} classes"),
            ("trained on", f"{self.train.shape[1]:,} nodes{own}{split}"),
        ]
        by, members = self.training.select_by, getattr(self.method, "members", ())
        what = figure_name(by)
        if members:
            shares = (f"{one.weight:.2f} {one.name}" for one in members)
            lines.append(("sum of kernels", ", ".join(shares)))
        if tried := self.chosen_by_validation:
            figures = ", ".join(f"{name} {figure:.1f} %" for name, figure in tried.items())
            lines.append(("members alone" if members else "chosen among", f"{figures} (validation {what})"))
        if len(values := self.history.get(f"validation_{by}", ())) and not members:
            # Label propagation tries settings in the place of epochs.
            epoch = f", at epoch {float(np.median(self.kept_epochs)):g} of {len(values)}"
            epoch = epoch if self.method.has_kernel else ""
            figure = f"{self.validated(by):.2f} % {what}{epoch}"
            lines.append(("validation", f"{figure} (optimistic: used for selection)"))
        if words := describe_hop_weights(self):
            lines.append(("hop weights", words))
        return lines


def describe_hop_weights(model: NodeModel) -> str:
    """Describe the hop weights; empty where the map has none."""
    weights = model.hop_weights()
    if weights is None:
        return ""
    by_walks = getattr(getattr(model.method, "map", None), "powers", "each") == "plain"
    mean = weights.mean(axis=0)
    there = np.flatnonzero(~np.isnan(mean)).tolist()
    return ", ".join(f"{mean[hop]:.2f} for {_far(hop, by_walks)}".replace("-", "−") for hop in there)


def _far(hop: int, by_walks: bool) -> str:
    if hop == 0:
        return "the node itself"
    s = "s" * (hop > 1)
    return f"walks of {hop} step{s}" if by_walks else f"nodes {hop} hop{s} away"


def _former_loss(objective: str, kernel_loss: str, settings: dict[str, Any]) -> dict[str, Any]:
    kernel = {"kind": kernel_loss.capitalize(), "triplets": settings["triplets"]}
    if kernel_loss == "hinge":
        kernel["margin"] = settings["margin"]
    softmax = {"kind": "Softmax", "class_weights": settings["class_weights"]}
    weight = settings["kernel_weight"]
    joint = {"kind": "Joint", "kernel": kernel, "softmax": softmax, "kernel_weight": weight}
    return {"kernel": kernel, "softmax": softmax, "joint": joint}[objective]


@dataclass(frozen=True)
class ClassNames:
    """The classes of a model on a graph, by number: the model's c first, then others that the graph has."""

    classes: tuple[Any, ...]  # as the model has them: names, or numbers
    names: tuple[str, ...]
    known: np.ndarray  # n: the class of each node in the graph, −1 if unknown
    graph: Graph

    @classmethod
    def of(cls, model: NodeModel, graph: Graph, has_training_nodes: bool = True) -> ClassNames:
        """Compare the classes of a model and a graph.

        A model may have learned the graph's classes by name or by number. If it learned another target, or if
        it is unclear what its numbers mean in this graph, only its training nodes have a known class. Labels
        of the training nodes decide. Without them names are trusted and numbers are not: other targets have a
        0, too.
        """
        own, same = model.classes, isinstance(model.classes[0], str)
        of_graph: Any = graph.class_names if same else range(graph.n_classes)
        shared = [one for one in own if isinstance(one, str | int | np.integer) and one in of_graph]
        if shared and (same or len(shared) == len(own)):
            classes = (*own, *(one for one in of_graph if one not in own))
            known = np.array([*(classes.index(one) for one in of_graph), -1])[graph.labels]
            labels = known[model.train] if has_training_nodes else np.array([-1])
            if (there := labels >= 0).any():
                same = bool((labels[there] == model.train_labels[there]).all())
            if same:
                by_name = isinstance(own[0], str)
                names = classes if by_name else tuple(graph.class_names[one] for one in classes)
                return cls(classes, names, known, graph)
        known = np.full(graph.n_nodes, -1)
        if has_training_nodes:
            known[model.train.ravel()] = model.train_labels.ravel()
        return cls(own, tuple(str(one) for one in own), known, graph)

    def numbered(self, y: list[Any]) -> tuple[ClassNames, np.ndarray]:
        """Return the number of each class in y, and the classes with those that are new at the end.

        Where the model has names, y may hold the graph's numbers, and the other way round.
        """
        by_name = isinstance(self.classes[0], str)
        pairs = ((i, name) if by_name else (name, i) for i, name in enumerate(self.graph.class_names))
        numbers: dict[Any, int] = {one: number for number, one in enumerate(self.classes)}
        numbers = {other: numbers[own] for other, own in pairs if own in numbers} | numbers
        new = sorted({one for one in y if one not in numbers}, key=lambda one: (str(type(one)), one))
        strange = [one for one in new if isinstance(one, str) != by_name]
        if strange:
            raise self.unknown(strange[0])
        numbers |= {one: len(self.classes) + at for at, one in enumerate(new)}
        wider = replace(self, classes=(*self.classes, *new), names=(*self.names, *map(str, new)))
        return wider, np.array([numbers[one] for one in y], np.int64)

    def unknown(self, one: Any) -> InputError:
        """Return the error about a class in y that means nothing to the model."""
        return InputError(
            f"no class in y, such as {one!r}, is one of the model's, such as {self.classes[0]!r}. Give the "
            "classes as the model learned them.",
            "unknown", what="class", setting="y", name=one,
        )  # fmt: skip
