"""A trained model: what was learned, from what, and what it answers about a graph."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part
from kernode.data.tables.columns import Encoding
from kernode.data.tables.repairs import Repair
from kernode.errors import InputError
from kernode.graph import Graph, checked_nodes
from kernode.graph.growth import touched
from kernode.graph.neighbourhoods import ball
from kernode.kernels.node_kernel import NodeKernel
from kernode.losses.triplets import Members
from kernode.maps.base import LARGEST_PART
from kernode.node_classification.classifiers import probabilities
from kernode.node_classification.kled import KLED
from kernode.node_classification.kled_search import probabilities as kled_probabilities
from kernode.node_classification.kled_search import search
from kernode.node_classification.method import Method
from kernode.node_classification.task import Lesson
from kernode.node_classification.trainer import train
from kernode.recipe import Recipe
from kernode.storage import read_tensors, write_tensors
from kernode.training.checkpoint import Checkpoint
from kernode.training.loop import Progress
from kernode.training.settings import Training
from kernode.version import __version__


@dataclass(frozen=True)
class Model:
    """Learned parameters of r replicas, with everything needed to use and to repeat them."""

    method: Method | KLED
    training: Training
    parameters: Parameters
    train: np.ndarray  # q × m training nodes: nearest centroids are their means
    train_labels: np.ndarray  # q × m
    classes: tuple[Any, ...]  # what the c class numbers stand for
    seeds: tuple[int, ...]
    precision: int
    dataset: str  # the graph's name, and below the fingerprint that it must have
    fingerprint: str
    kept_epochs: np.ndarray  # r
    history: dict[str, np.ndarray]
    labels_of_choice: dict[str, Any] = field(default_factory=dict)  # variant, split: for the reader
    seconds: float = field(default=0.0, compare=False)  # of training; not stored, so that files compare
    n_features: int | None = None  # that a graph must have; None in files of before
    references: Tensor | None = None  # of nearest centroids: r × c × d' means, or r × m × d training nodes
    encoding: Encoding | None = None  # of a graph from tables: what was done to their columns
    repairs: tuple[Repair, ...] = ()  # and to their rows

    @classmethod
    def learn(
        cls,
        graph: Graph,
        method: Method | KLED,
        training: Training,
        lesson: Lesson,
        seeds: list[int],
        place: Place,
        classes: tuple[Any, ...],
        *,
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
        **labels_of_choice: Any,
    ) -> Model:
        """Train one replica per seed on a graph."""
        if isinstance(method, KLED):
            trained = search(method, graph, lesson, len(seeds), progress)
        else:
            method = method.for_classes(lesson.classes)
            trained = train(
                graph, method, training, lesson, seeds, place, progress=progress, checkpoint=checkpoint
            )
        return cls(
            method,
            training,
            {name: value.cpu() for name, value in trained.parameters.items()},
            lesson.train,
            lesson.train_labels,
            classes,
            tuple(seeds),
            64 if place.dtype == torch.float64 else 32,
            graph.name,
            graph.fingerprint,
            trained.epochs,
            trained.history,
            labels_of_choice,
            trained.seconds,
            graph.n_features,
            None if trained.references is None else trained.references.cpu(),
            graph.encoding,
            tuple(repair.short() for repair in graph.repairs),
        )

    def on(self, graph: Graph, device: str = "cpu") -> Answers:
        """Use the model on its graph, or on another one with the same columns of features.

        On another graph nearest centroids stay those of the training nodes in their own graph.
        """
        at_home = graph.fingerprint == self.fingerprint
        if not at_home:
            self._require_use_on(graph)
        return Answers(self, graph, Place.of(self.precision, device), at_home)

    def _require_use_on(self, graph: Graph) -> None:
        """Raise unless what was learned means something on another graph than the model's own."""
        own = f"Give {self.dataset!r}, the graph it was trained on"
        if isinstance(self.method, KLED) or self.method.map.per_node:
            kind = "KLED" if isinstance(self.method, KLED) else type(self.method.map).__name__
            raise InputError(f"{kind} learns about the nodes of one graph and of no other. {own}.")
        needed = self.n_features is None, self.method.classifier == "centroid" and self.references is None
        if any(needed):
            raise InputError(
                f"this model's file is of before models went to other graphs. {own}, or train again."
            )
        if graph.n_features != self.n_features:
            raise InputError(
                f"this model takes {self.n_features} features and {graph.name!r} has {graph.n_features}. "
                f"{own}, or one with the same columns."
            )
        if graph.encoding != self.encoding:
            raise InputError(
                f"the columns of {graph.name!r} were not made as those of {self.dataset!r} were. "
                "Read its tables with read_table(…, like=model), or make both graphs in the same way."
            )
        if self.encoding is not None and self.encoding.structure is not None:
            warnings.warn(
                f"this model knows nodes by their positions in {self.dataset!r}. In {graph.name!r} they mean "
                "something only near nodes that are in both.",
                stacklevel=3,
            )

    def save(self, path: str | Path) -> Path:
        """Write one .safetensors file; the same training writes the same bytes."""
        arrays = {
            "train": self.train,
            "train_labels": self.train_labels,
            "kept_epochs": self.kept_epochs,
            **{f"history.{name}": value for name, value in self.history.items()},
        }
        tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in arrays.items()}
        tensors |= {f"parameters.{name}": value for name, value in self.parameters.items()}
        if self.references is not None:
            tensors["references"] = self.references
        facts = {
            "kernode": __version__,
            "method": self.method.to_json(),
            "training": self.training.to_json(),
            "classes": self.classes,
            "seeds": self.seeds,
            "precision": self.precision,
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "features": self.n_features,
            "labels_of_choice": self.labels_of_choice,
        }
        if self.encoding is not None:
            facts["encoding"] = self.encoding.to_json()
            facts["repairs"] = [repair.to_json() for repair in self.repairs]
        return write_tensors(path, "model", tensors, facts)

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read what :meth:`save` wrote."""
        tensors, facts = read_tensors(path, "model")
        return cls(
            Recipe.from_json(facts["method"]),  # type: ignore[arg-type]
            Training.from_json(facts["training"]),
            part(tensors, "parameters."),
            tensors["train"].numpy(),
            tensors["train_labels"].numpy(),
            tuple(facts["classes"]),
            tuple(facts["seeds"]),
            facts["precision"],
            facts["dataset"],
            facts["fingerprint"],
            tensors["kept_epochs"].numpy(),
            {name: value.numpy() for name, value in part(tensors, "history.").items()},
            facts["labels_of_choice"],
            n_features=facts.get("features"),
            references=tensors.get("references"),
            encoding=Encoding.from_json(facts["encoding"]) if "encoding" in facts else None,
            repairs=tuple(Repair.from_json(repair) for repair in facts.get("repairs", ())),
        )

    def hop_weights(self) -> np.ndarray | None:
        """ω_h of every replica at its kept epoch: r × (H+1), or None where the map has none."""
        learned = self.parameters.get("map.hop_weights")
        if learned is not None:
            return learned.numpy()
        hop_map = getattr(self.method, "map", None)
        constant = getattr(hop_map, "hop_weights", None)
        if constant is None:
            return None
        return np.tile(float(constant) ** np.arange(hop_map.hops + 1), (len(self.seeds), 1))  # type: ignore[union-attr]

    def __repr__(self) -> str:
        return f"Model({json.dumps(self.method.to_json())} on {self.dataset!r}, seeds {list(self.seeds)})"


@dataclass(frozen=True)
class Answers:
    """A model together with a graph: its own, one that grew from it, or another with the same columns."""

    model: Model
    graph: Graph
    place: Place
    at_home: bool = True  # whether the training nodes are nodes of this graph
    recomputed: np.ndarray | None = field(default=None, compare=False)  # by on_extended; None for all nodes
    known: Tensor | None = field(
        default=None, compare=False, repr=False
    )  # g, where there is nothing left to compute

    @cached_property
    @torch.no_grad()
    def g(self) -> Tensor:
        """The learned representation of every node: r × n × d."""
        if self.known is not None:
            return self.known
        method = self._method
        g = method.embed(self._parameters, method.map.prepare(self.graph, self.place))
        return g.expand(len(self.model.seeds), -1, -1)  # a map without parameters gives one for all

    @torch.no_grad()
    def on_extended(self, larger: Graph) -> Answers:
        """The same model after nodes or edges arrived: :func:`kernode.graph.growth.extended` of this graph.

        g equals what the whole larger graph gives, degrees of old neighbours included, but is computed only
        where it can differ: within ``reach`` edges of a node whose edges or features changed. Elsewhere it
        keeps its bits. Weights stay as they were learned.
        """
        new = touched(self.graph, larger)
        if isinstance(self.model.method, KLED):
            return replace(self, graph=larger)
        feature_map = self._method.map
        if feature_map.per_node:
            raise InputError(
                f"{type(feature_map).__name__} has a vector for each node it was trained on, and none for "
                "others. Train again on the larger graph, or use a map of features, such as HopMLP."
            )
        if feature_map.reach is None:
            return replace(self, graph=larger, known=None, recomputed=None)
        # Within reach in the larger graph. Where an edge is gone, the ends of it are touched themselves, and
        # from the last touched node of any old path on, that path is still there.
        around = ball(larger, new, feature_map.reach)
        if len(around) > LARGEST_PART * larger.n_nodes:  # then everything at once is less work
            return replace(self, graph=larger, known=None, recomputed=None)
        own = part(self._parameters, "map.")
        g = _replaced(self.g, feature_map.rows(own, larger, around, self.place), around, larger.n_nodes)
        return replace(self, graph=larger, known=g, recomputed=around)

    @cached_property
    def kernel(self) -> NodeKernel:
        """K(u, v), the mean over replicas."""
        own = part(self._parameters, "kernel.")
        return NodeKernel(self._method.kernel, self.g, own, self.graph.node_names)

    @torch.no_grad()
    def probabilities(self, nodes: Any = None) -> np.ndarray:
        """Class probabilities: r × m × c, for nodes (m, or q × m where replicas differ; all if None).

        For nearest centroids these are a softmax over class similarities: a monotone reading, not a
        calibrated probability.
        """
        nodes = np.arange(self.graph.n_nodes) if nodes is None else nodes
        indices = np.atleast_2d(checked_nodes(nodes, self.graph.n_nodes))
        if isinstance(self.model.method, KLED):
            return np.take_along_axis(self._diffused, indices[..., None], axis=1)
        rows = torch.from_numpy(indices).to(self.place.device)
        scores = self._method.scores(self._parameters, self.g, self._members, rows, self._references)
        return probabilities(scores).cpu().numpy()

    @cached_property
    def _diffused(self) -> np.ndarray:
        """KLED's probabilities of all nodes."""
        model = self.model
        assert isinstance(model.method, KLED)
        return kled_probabilities(
            model.method, self.graph, model.parameters, model.train, model.train_labels, len(model.classes)
        )

    @property
    def _method(self) -> Method:
        if isinstance(self.model.method, KLED):
            raise InputError("KLED has no feature map: its kernel, exp(−scale L), is never held as a whole.")
        return self.model.method

    @cached_property
    def _parameters(self) -> Parameters:
        return {name: value.to(self.place.device) for name, value in self.model.parameters.items()}

    @cached_property
    def _references(self) -> Tensor | None:
        """What stands for training nodes that are not in the graph; None where they are."""
        held = self.model.references
        return None if self.at_home or held is None else held.to(self.place.device)

    @cached_property
    def _members(self) -> Members:
        model = self.model
        return Members.of(model.train, model.train_labels, len(model.classes), self.place.device)


def _replaced(g: Tensor, rows: Tensor, nodes: np.ndarray, n: int) -> Tensor:
    """g (r × n' × d) as r × n × d with other rows at some nodes, those beyond n' among them."""
    r, old, d = g.shape
    held = g[: len(rows)].transpose(0, 1)  # a map without parameters gives one for all replicas
    grown = held.new_empty(n, len(rows), d)
    grown[:old] = held
    grown[torch.from_numpy(nodes).to(g.device)] = rows.transpose(0, 1)
    return grown.transpose(0, 1).expand(r, -1, -1)
