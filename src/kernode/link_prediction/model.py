"""A trained link predictor: what was learned, from what, with everything needed to use and to repeat it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kernode.compute.place import Place
from kernode.compute.stack import Parameters
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.edge_split import EdgeSplit, split_edges
from kernode.io.tables.columns import Encoding
from kernode.link_prediction.method import LinkMethod
from kernode.link_prediction.model_on_graph import LinkModelOnGraph
from kernode.link_prediction.task import LinkTask
from kernode.training.loop import Trained
from kernode.training.notebook import as_html, runs_in_words
from kernode.training.settings import Training


@dataclass(frozen=True, kw_only=True)
class LinkModel:
    """Learned parameters of r replicas; it knows its graph by name and fingerprint.

    It holds the graph only where that was asked for when it was saved.
    """

    method: LinkMethod
    training: Training
    parameters: Parameters
    seeds: tuple[int, ...]
    precision: int
    dataset: str  # the whole graph's name, and below the fingerprint that it must have
    fingerprint: str
    split_seed: int | None  # of the split whose training edges it saw; None: of a split of one's own
    all_edges: bool = False  # whether it saw every edge of the graph, and none was held out
    held_out: np.ndarray | None = None  # m × 2, of such a split: edges beside those; None in files of before
    kept_epochs: np.ndarray | None = None  # r; None in files of before
    history: dict[str, np.ndarray] = field(default_factory=dict)
    variant: str = ""  # what the method is called: for the reader
    seconds: float = field(default=0.0, compare=False)  # of training; not stored, so that files compare
    encoding: Encoding | None = None  # of a graph from tables: what was done to their columns
    graph: Graph | None = field(default=None, compare=False, repr=False)  # that has the fingerprint
    threads: int | None = field(default=None, compare=False)  # it had; not stored either

    @classmethod
    def of(
        cls, task: LinkTask, method: LinkMethod, training: Training, trained: Trained, variant: str
    ) -> LinkModel:
        """What training left of a task."""
        return cls(
            method=method,
            training=training,
            parameters={name: value.cpu() for name, value in trained.parameters.items()},
            seeds=task.run.seeds,
            precision=task.run.precision,
            dataset=task.whole.name,
            fingerprint=task.whole.fingerprint,
            split_seed=task.split_seed,
            all_edges=task.all_edges,
            held_out=task.held_out if task.split_seed is None else None,
            kept_epochs=trained.epochs,
            history=trained.history,
            variant=variant,
            seconds=trained.seconds,
            encoding=task.whole.encoding,
            threads=trained.threads,
        )

    def split_of(self, whole: Graph) -> EdgeSplit:
        """The split that it learned from, made again; of an own split only the training edges are known."""
        if whole.fingerprint != self.fingerprint and self.split_seed is None and not self.all_edges:
            raise InputError(
                f"the model was trained on a split of {self.dataset!r} that was its user's own. Pass "
                "graph=split.graph, the graph of its training edges."
            )
        if whole.fingerprint != self.fingerprint:
            raise InputError(
                f"the model was trained on {self.dataset!r}, which {whole.name!r} is not. Give that graph."
            )
        if self.split_seed is not None:
            return split_edges(whole, self.split_seed)
        none = np.empty((0, 2), np.int64)
        return EdgeSplit(whole, none, none, none, none)

    def on(self, split: EdgeSplit, device: str = "cpu") -> LinkModelOnGraph:
        """Use the model on the training edges of its split."""
        held_out = (
            self.held_out if self.split_seed is None else np.concatenate([split.validation, split.test])
        )
        return LinkModelOnGraph(self, split.graph, Place.of(self.precision, device), held_out)

    def save(self, path: str | Path, graph: Graph | None = None) -> Path:
        """Write one .safetensors file; the training edges follow from the graph and the split's seed.

        ``graph`` goes into it where it is given: the whole one, or an own split's.
        """
        from kernode.link_prediction.model_file import write_link_model  # here: a file holds a model

        return write_link_model(self, path, graph)

    @classmethod
    def load(cls, path: str | Path) -> LinkModel:
        """Read what :meth:`save` wrote."""
        from kernode.link_prediction.model_file import read_link_model

        return read_link_model(path)

    def _repr_html_(self) -> str:
        """For notebooks."""
        return self.summary_html("kernode link model")

    def summary_html(self, title: str) -> str:
        """What was learned, for notebooks, under a title."""
        held = "every edge, none held out" if self.all_edges else "the training edges of a split"
        lines = [
            ("method", self.variant or type(self.method.map).__name__),
            ("graph", self.dataset),
            ("trained on", held),
            ("runs", runs_in_words(self.seeds)),
        ]
        by_epoch = self.history.get("validation_auc")
        if by_epoch is not None and len(by_epoch) and self.kept_epochs is not None:
            kept = [by_epoch[max(1, epoch) - 1, i] for i, epoch in enumerate(self.kept_epochs)]
            lines.append(("validation", f"{np.mean(kept):.2f} % AUC; it chose, and so flatters"))
        method = self.method
        parts = {"map": method.map, "kernel": method.kernel, "loss": method.loss}
        return as_html(title, lines, {**parts, "training": self.training})

    def __repr__(self) -> str:
        return f"LinkModel({json.dumps(self.method.to_json())} on {self.dataset!r}, seeds {list(self.seeds)})"
