"""A trained model: what was learned, from what, with everything needed to use and to repeat it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.stack import Parameters
from kernode.errors import FileError, InputError, warn
from kernode.graph import Graph
from kernode.graph.share import GraphShare
from kernode.io.tables.columns import Encoding
from kernode.io.tables.table import Repair
from kernode.maps import HopMLP
from kernode.node_classification.calibration import Calibration
from kernode.node_classification.method import NodeMethod
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.summary import summary
from kernode.node_classification.task import NodeTask
from kernode.training.loop import Trained
from kernode.training.notebook import as_html
from kernode.training.settings import Training


@dataclass(frozen=True, kw_only=True)
class Model:
    """Learned parameters of r replicas; it knows its graph by name and fingerprint.

    It holds the graph only where that was asked for when it was saved.
    """

    method: NodeMethod
    training: Training
    parameters: Parameters
    train: np.ndarray  # q × m training nodes: nearest centroids are their means
    train_labels: np.ndarray  # q × m
    train_weights: np.ndarray | None = None  # q × m; None: all count alike
    validation: np.ndarray | None = None  # q × v nodes that chose the epoch; None in files of before
    tested: np.ndarray | None = None  # q × t nodes that were kept for a test; None: none, or nobody said
    classes: tuple[Any, ...]  # what the c class numbers stand for
    seeds: tuple[int, ...]
    precision: int
    dataset: str  # the graph's name, and below the fingerprint that it must have
    fingerprint: str
    kept_epochs: np.ndarray  # r
    history: dict[str, np.ndarray]
    variant: str = ""  # what the method is called, and how nodes were split: for the reader
    split: str = ""
    chosen_by_validation: dict[str, float] | None = None  # what each variant had, where several were tried
    epochs_tried: dict[str, int] | None = None  # and after how many epochs
    calibration: Calibration | None = None  # makes probabilities chances; None in files of before
    seconds: float = field(default=0.0, compare=False)  # of training; not stored, so that files compare
    threads: int | None = field(default=None, compare=False)  # it had; not stored either
    n_features: int | None = None  # that a graph must have; None in files of before
    references: Tensor | None = None  # of nearest centroids: r × c × d' means, or r × m × d training nodes
    encoding: Encoding | None = None  # of a graph from tables: what was done to their columns
    repairs: tuple[Repair, ...] = ()  # and to their rows
    graph: Graph | None = field(default=None, compare=False, repr=False)  # its own, or what that grew to

    @classmethod
    def of(
        cls, task: NodeTask, method: NodeMethod, training: Training, trained: Trained, **about: Any
    ) -> Model:
        """What training left of a task; ``about`` is for the reader: variant, split."""
        graph = task.graph
        return cls(
            method=method,
            training=training,
            parameters={name: value.cpu() for name, value in trained.parameters.items()},
            train=task.nodes.train,
            train_labels=task.nodes.train_labels,
            train_weights=task.train_weights,
            validation=task.nodes.validation,
            classes=task.classes,
            seeds=task.run.seeds,
            precision=task.run.precision,
            dataset=graph.name,
            fingerprint=graph.fingerprint,
            kept_epochs=trained.epochs,
            history=trained.history,
            seconds=trained.seconds,
            threads=trained.threads,
            n_features=graph.n_features,
            references=None if trained.references is None else trained.references.cpu(),
            encoding=graph.encoding,
            repairs=tuple(repair.short() for repair in graph.repairs),
            **about,
        )

    def on(self, graph: Graph, device: str = "cpu") -> ModelOnGraph:
        """Use the model on its graph, or on another one with the same columns of features.

        On another graph nearest centroids stay those of the training nodes in their own graph.
        """
        own = self.is_own(graph)
        if not own:
            self._require_use_on(graph)
        if own and self.train.size and self.train.max() >= graph.n_nodes:
            raise FileError(f"the model names training nodes that {graph.name!r} does not have. Train again.")
        own = own and not isinstance(graph, GraphShare)
        return ModelOnGraph(self, graph, Place.of(self.precision, device), has_training_nodes=own)

    def is_own(self, graph: Graph) -> bool:
        """Whether a graph is the one that was learned from, or the one that it grew to and is held."""
        held = () if self.graph is None else (self.graph.fingerprint,)
        return graph.fingerprint in (self.fingerprint, *held)

    def _require_use_on(self, graph: Graph) -> None:
        """Raise unless what was learned means something on another graph than the model's own."""
        own = f"Give {self.dataset!r}, the graph it was trained on"
        if reason := self.method.refusal(self, graph):
            raise InputError(f"{reason} {own}.")
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
            warn(
                f"this model knows nodes by their positions in {self.dataset!r}. In {graph.name!r} they mean "
                "something only near nodes that are in both."
            )

    def save(self, path: str | Path, graph: Graph | None = None) -> Path:
        """Write one .safetensors file; the same training writes the same bytes.

        ``graph`` goes into it where it is given: the one that was learned from, or one that it grew to.
        """
        from kernode.node_classification.model_file import write_model  # here: a file holds a model

        return write_model(self, path, graph)

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read what :meth:`save` wrote."""
        from kernode.node_classification.model_file import read_model

        return read_model(path)

    def of_replicas(self, replicas: list[int]) -> Model:
        """The same with some of its replicas, without the history of training."""
        rows = replicas if len(self.train) > 1 else [0]
        return replace(
            self,
            parameters={name: value[replicas] for name, value in self.parameters.items()},
            train=self.train[rows],
            train_labels=self.train_labels[rows],
            train_weights=None if self.train_weights is None else self.train_weights[rows],
            validation=None if self.validation is None else self.validation[rows],
            tested=None if self.tested is None else self.tested[rows],
            seeds=tuple(self.seeds[i] for i in replicas),
            kept_epochs=self.kept_epochs[replicas],
            history={},
            references=None if self.references is None else self.references[replicas],
            calibration=None if self.calibration is None else self.calibration.of_replicas(replicas),
        )

    def hop_weights(self) -> np.ndarray | None:
        """ω_h of every replica at its kept epoch: r × (H+1), or None where the map has none.

        NaN where it weighs nothing: ``powers="released"`` has no terms between the first and the last hop.
        """
        hop_map = getattr(self.method, "map", None)
        learned = self.parameters.get("map.hop_weights")
        if learned is not None:
            weights = learned.numpy().copy()
        elif isinstance(hop_map, HopMLP):
            weights = np.tile(hop_map.first_weights(Place.of(64)).numpy(), (len(self.seeds), 1))
        else:
            return None
        if isinstance(hop_map, HopMLP) and hop_map.powers == "released":
            weights[:, 1 : hop_map.hops] = np.nan
        return weights

    def as_chances(self, mean: np.ndarray) -> np.ndarray:
        """The replicas' mean probabilities (… × c), calibrated where the model is."""
        return mean if self.calibration is None else self.calibration.together(mean)

    @property
    def choice(self) -> dict[str, Any]:
        """What was tried, as a model holds it."""
        return {"chosen_by_validation": self.chosen_by_validation, "epochs_tried": self.epochs_tried}

    def validation_accuracy(self) -> float:
        """Percent, each replica at the epoch that it kept, their mean; 0 where nothing validated."""
        return self.validated("accuracy")

    def validated(self, by: str) -> float:
        """The same of whatever chose the epochs: "accuracy" or "map"."""
        by_epoch = self.history.get(f"validation_{by}")
        if by_epoch is None or not len(by_epoch):
            return 0.0
        return float(np.mean([by_epoch[max(1, epoch) - 1, i] for i, epoch in enumerate(self.kept_epochs)]))

    def _repr_html_(self) -> str:
        """For notebooks."""
        return self.summary_html("kernode model")

    def summary_html(self, title: str) -> str:
        """What was learned, for notebooks, under a title."""
        method = self.method
        parts = {name: getattr(method, name, None) for name in ("map", "kernel", "loss")}
        settings = {"method": method} if parts["map"] is None else parts
        return as_html(title, summary(self), {**settings, "training": self.training})

    def __repr__(self) -> str:
        return f"Model({json.dumps(self.method.to_json())} on {self.dataset!r}, seeds {list(self.seeds)})"
