"""A trained model: parameters, settings and data, to use it and to repeat its training."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from kernode.compute.stack import Parameters, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config
from kernode.errors import InputError, KernodeError
from kernode.graph import Graph
from kernode.graph.lookup import as_nodes
from kernode.graph.share import require_whole
from kernode.io import load_graph
from kernode.io.registry import is_registered
from kernode.io.tables.encoding import Encoding
from kernode.kernels import NodeKernel
from kernode.training.loop import Trained
from kernode.training.run import Run
from kernode.training.settings import Training

FACT: dict[str, Any] = {"fact": ""}  # of a field: a file holds it as plain values, under this key or its name
_CLASSES = 12  # shown in notebooks
ARRAY = {"array": True}  # … as an array, unless None


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """Learned parameters of r replicas; it knows its graph by name and fingerprint.

    It holds the graph only if saved with it. Tasks add fields.
    """

    kind: ClassVar[str]  # of a file
    kinds: ClassVar[dict[str, type[Model]]] = {}

    method: Any = field(metadata=FACT | {"read": Config.from_json})
    training: Training = field(metadata=FACT | {"read": Training.from_json})
    parameters: Parameters
    seeds: tuple[int, ...] = field(metadata=FACT | {"read": tuple})
    precision: int = field(metadata=FACT)
    dataset: str = field(metadata=FACT)  # the graph's name, and below the fingerprint that it must have
    fingerprint: str = field(metadata=FACT)
    kept_epochs: Any = field(default=None, metadata=ARRAY)  # r numbers; None in files of links before 0.2
    history: dict[str, np.ndarray] = field(default_factory=dict)
    variant: str = field(default="", metadata=FACT)  # the name of the method
    # Validation figure and epochs of each variant, if several were tried.
    chosen_by_validation: dict[str, float] | None = field(default=None, metadata=FACT)
    epochs_tried: dict[str, int] | None = field(default=None, metadata=FACT)
    # For a graph from tables: the encoding of their columns.
    encoding: Encoding | None = field(default=None, metadata=FACT | {"read": Encoding.from_json})
    seconds: float = field(default=0.0, compare=False)  # of training; not stored, so that files compare
    threads: int | None = field(default=None, compare=False)  # not stored either
    graph: Graph | None = field(default=None, compare=False, repr=False)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Model.kinds[cls.kind] = cls

    @staticmethod
    def learned(trained: Trained, graph: Graph, run: Run) -> dict[str, Any]:
        """Return the fields that every training sets."""
        return {
            "seeds": run.seeds,
            "precision": run.precision,
            "parameters": {name: value.cpu() for name, value in trained.parameters.items()},
            "dataset": graph.name,
            "fingerprint": graph.fingerprint,
            "kept_epochs": trained.epochs,
            "history": trained.history,
            "seconds": trained.seconds,
            "threads": trained.threads,
            "encoding": graph.encoding,
        }

    @abstractmethod
    def on(self, graph: Any, device: str = "cpu") -> ModelOnGraph:
        """Use the model on a graph."""

    @classmethod
    def upgraded(cls, facts: dict[str, Any]) -> dict[str, Any]:
        """Convert the metadata of files of earlier versions."""
        return facts

    def check(self) -> None:
        """Raise ValueError unless the fields are consistent: a checksum does not prove that."""
        r, texts = len(self.seeds), (self.dataset, self.fingerprint, self.variant)
        if not r or not all(type(seed) is int for seed in self.seeds) or self.precision not in (32, 64):
            raise ValueError("seeds or precision are not valid integers")
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a name is not text")
        for name, value in self.parameters.items():
            if not value.dim() or len(value) != r:
                raise ValueError(f"{name} does not have an entry for each of {r} replicas")
            if value.isnan().any():  # a module's buffer may well be infinite
                raise ValueError(f"{name} has NaN values")
        if self.kept_epochs is not None and self.kept_epochs.shape != (r,):
            raise ValueError("kept_epochs does not have an entry for each replica")

    def save(self, path: str | Path, graph: Graph | None = None) -> Path:
        """Write one .safetensors file; the same training writes the same bytes.

        ``graph`` goes into it where it is given.
        """
        from kernode.models.file import write_model  # here: a file holds a model

        return write_model(self, path, graph)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote."""
        from kernode.models.file import read_model

        return read_model(path, cls)  # type: ignore[return-value]

    def validated(self, by: str) -> float:
        """The validation figure of the kept epochs in percent, the mean of the replicas; 0 without one."""
        by_epoch = self.history.get(f"validation_{by}")
        if by_epoch is None or not len(by_epoch) or self.kept_epochs is None:
            return 0.0
        return float(np.mean([by_epoch[max(1, epoch) - 1, i] for i, epoch in enumerate(self.kept_epochs)]))

    @property
    def choice(self) -> dict[str, Any]:
        """The fields about candidates that were tried."""
        return {"chosen_by_validation": self.chosen_by_validation, "epochs_tried": self.epochs_tried}

    def summary(self) -> list[tuple[str, str]]:
        """Return a short description: pairs of a name and a text."""
        name, r = self.variant or self.method.title, len(self.seeds)
        seeds = f"{r}, seeds {self.seeds[0]} to {self.seeds[-1]}" if r > 1 else f"1, seed {self.seeds[0]}"
        return [("method", name), ("graph", self.dataset), ("replicas", seeds)]

    def own_graph(self) -> Graph | None:
        """Return the graph in the file, or the built-in one it was trained on; None if there is neither.

        A graph with the same name but another fingerprint does not count.
        """
        if self.graph is not None or not is_registered(self.dataset):
            return self.graph
        found = load_graph(self.dataset)
        return found if found.fingerprint == self.fingerprint else None

    def is_own(self, graph: Graph) -> bool:
        """Whether a graph is the one of training, or the grown one in the file."""
        held = () if self.graph is None else (self.graph.fingerprint,)
        return graph.fingerprint in (self.fingerprint, *held)

    def __str__(self) -> str:
        return "\n".join(f"{name:<14} {words}" for name, words in self.summary())

    def __repr__(self) -> str:
        settings = json.dumps(self.method.to_json())
        return f"{type(self).__name__}({settings} on {self.dataset!r}, seeds {list(self.seeds)})"


@dataclass(frozen=True)
class Report:
    """Figures of a model, with baselines; ``print`` it. Of classes and links in percent; R² is a fraction."""

    figures: dict[str, Any]
    describe: Callable[[dict[str, Any]], list[str]] = field(repr=False, compare=False)  # in lines

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return self.figures

    def __str__(self) -> str:
        return "\n".join(self.describe(self.figures))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        test = self.figures.get("test", self.figures)
        if "r2" in test:
            named = {"this model": test} | test.get("baselines", {})
            keys = ("r2", "mae", "rmse")
            rows = [(name, *(f"{one[key]:.4g}" for key in keys)) for name, one in named.items()]
            return html_table("Numbers of test nodes", ("", "R²", "MAE", "RMSE"), rows)
        means = [name.removesuffix("_mean") for name in test if name.endswith("_mean")]
        rows = [
            (one.replace("_", " "), f"{test[f'{one}_mean']:.2f} ± {test[f'{one}_std']:.2f}")
            for one in means
            if test[f"{one}_mean"] is not None
        ]
        table = html_table("Test figures in percent", ("figure", "mean ± spread of replicas"), rows)
        figures = ("precision", "recall", "f1", "support")
        classes = sorted(test.get("classes", ()), key=lambda one: -one["support"])[:_CLASSES]
        rows = [(one["class"], *(f"{one[name]:.3g}" for name in figures)) for one in classes]
        return table + html_table("Largest classes", ("class", *figures), rows) if rows else table


class History(dict[str, np.ndarray]):
    """Values of every replica by epoch; a notebook shows their means in the first and the last epoch."""

    def _repr_html_(self) -> str:
        rows = [
            (name.replace("_", " "), *(np.round(values[at].mean(axis=0), 4) for at in (0, -1)))
            for name, values in self.items()
            if len(values)
        ]
        epochs = max(map(len, self.values()), default=0)
        return html_table("Means of the replicas", ("", "epoch 1", f"epoch {epochs}"), rows)


def html_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table for a notebook."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    cells = ["".join(f"<td>{escape(str(value))}</td>" for value in row) for row in rows]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table>"


@dataclass(frozen=True)
class ModelOnGraph:
    """A model on a graph, which predicts for its nodes and caches what it computes."""

    model: Any
    graph: Graph
    options: TensorOptions
    known_g: Tensor | None = field(default=None, compare=False, repr=False)  # g, if it is already computed
    prepared: Any = field(
        default=None, compare=False, repr=False
    )  # the map's inputs from training, used once

    @cached_property
    @torch.no_grad()
    def g(self) -> Tensor:
        """The learned representation of every node: r × n × d."""
        if self.known_g is not None:
            return self.known_g.to(self.options.device)
        g = self.embed()
        object.__setattr__(self, "prepared", None)  # it is larger than g, and has served
        return g

    def embed(self) -> Tensor:
        """Compute g of every node: r × n × d."""
        method = self.model.method
        if not method.has_kernel:
            raise InputError(f"{method.title} has no feature map and no kernel.", "unsupported")
        method.map.check_graph(self.graph)
        prepared = method.map.prepare(self.graph, self.options) if self.prepared is None else self.prepared
        try:
            g: Tensor = method.represent(self.parameters, prepared)
        except Exception:
            self._require_fit(prepared)
            raise
        return g.expand(len(self.model.seeds), -1, -1)

    def _require_fit(self, prepared: Any) -> None:
        """Raise where the parameters do not fit the map: a user's module may have changed."""
        if not hasattr(self.model.method, "initial"):
            return
        draws, classes = (
            Run(self.model.seeds[:1], self.options).draws(),
            len(getattr(self.model, "classes", ())),
        )
        expected: Parameters = self.model.method.initial(prepared, draws, self.options, classes)
        shapes, own = ({k: tuple(v.shape[1:]) for k, v in p.items()} for p in (expected, self.parameters))
        for name in shapes | own:
            if shapes.get(name) != own.get(name):
                raise KernodeError(
                    f"this model's parameters do not fit its {self.model.method.title}: {name} has the shape "
                    f"{own.get(name)} in each replica, not {shapes.get(name)}. Train it again.",
                    "wrong-file",
                )

    @cached_property
    def kernel(self) -> NodeKernel:
        """K(u, v), the mean over replicas."""
        require_whole(self.graph, "K(u, v) of any two nodes")
        g = self.g
        return NodeKernel(
            self.model.method.kernel, g, under_prefix(self.parameters, "kernel."), self.graph.node_names
        )

    @property
    def landmarks(self) -> tuple[np.ndarray, ...]:
        """Nodes on which g depends besides the parameters."""
        return ()

    def with_metadata(self, **about: Any) -> Self:
        """Return a copy with other metadata in its model, on which g does not depend."""
        found = replace(self, model=replace(self.model, **about))
        if "g" in vars(self):
            vars(found)["g"] = self.g
        return found

    def facts(self) -> dict[str, Any]:
        """Return the common head of reports: what was trained, and how."""
        model = self.model
        return {
            "dataset": model.dataset,
            "variant": model.variant,
            "replicas": len(model.seeds),
            "seed": model.seeds[0],
            "device": self.options.device.type,
            "threads": model.threads,
            "epochs": model.training.epochs,
        }

    def find(self, nodes: Any) -> np.ndarray:
        """Indices of nodes, by name or by index."""
        return self.graph.find(as_nodes(nodes))

    def find_one(self, node: Any) -> int:
        """Index of a single node, by name or by index."""
        at = self.find(np.atleast_1d(np.asanyarray(node)))  # positions stay positions
        if len(at) != 1:
            raise InputError(f"this takes one node. Got {len(at)} nodes.", "setting", setting="node")
        return int(at[0])

    @cached_property
    def parameters(self) -> Parameters:
        """The model's parameters on the device."""
        return {name: value.to(self.options.device) for name, value in self.model.parameters.items()}

    @cached_property
    def cache(self) -> dict[str, Any]:
        """Cache of results for all nodes."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again, and the device."""
        known = None if self.known_g is None else self.known_g.cpu()  # which may have no such device
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {"prepared": None, "known_g": known}
