"""A trained model: what was learned, from what, with everything needed to use and to repeat it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part
from kernode.errors import InputError, KernodeError
from kernode.graph import Graph
from kernode.graph.lookup import as_nodes
from kernode.graph.share import require_whole
from kernode.io import load_graph
from kernode.io.registry import is_registered
from kernode.io.tables.columns import Encoding
from kernode.kernels import NodeKernel
from kernode.training.loop import Trained
from kernode.training.run import Run
from kernode.training.settings import Training


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """Learned parameters of r replicas; it knows its graph by name and fingerprint.

    It holds the graph only where that was asked for when it was saved. A task adds its own fields, and says
    what of them a file holds.
    """

    kind: ClassVar[str]  # of a file
    kinds: ClassVar[dict[str, type[Model]]] = {}
    optional_facts: ClassVar[tuple[str, ...]] = ()  # of a file, that not every model writes

    method: Any  # a Config
    training: Training
    parameters: Parameters
    seeds: tuple[int, ...]
    precision: int
    dataset: str  # the graph's name, and below the fingerprint that it must have
    fingerprint: str
    kept_epochs: Any = None  # r numbers; None in files of links before 0.2
    history: dict[str, np.ndarray] = field(default_factory=dict)
    variant: str = ""  # the name of the method
    chosen_by_validation: dict[str, float] | None = None  # what each variant had, where several were tried
    epochs_tried: dict[str, int] | None = None  # and after how many epochs
    encoding: Encoding | None = None  # of a graph from tables: what was done to their columns
    seconds: float = field(default=0.0, compare=False)  # of training; not stored, so that files compare
    threads: int | None = field(default=None, compare=False)  # not stored either
    graph: Graph | None = field(default=None, compare=False, repr=False)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Model.kinds[cls.kind] = cls

    @staticmethod
    def learned(trained: Trained, graph: Graph, run: Run) -> dict[str, Any]:
        """The fields that every training leaves, for a model of a graph."""
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

    def own_arrays(self) -> Mapping[str, np.ndarray | Tensor | None]:
        """Arrays of the task that a file holds; those that are None are left out."""
        return {}

    def own_facts(self) -> dict[str, Any]:
        """Plain values of the task that a file holds."""
        return {}

    @classmethod
    @abstractmethod
    def own_fields(cls, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Any]:
        """The task's fields from a file's tensors and facts."""

    @classmethod
    def upgraded(cls, facts: dict[str, Any]) -> dict[str, Any]:
        """Facts of a file of any earlier version in today's form."""
        return facts

    def check(self) -> None:  # noqa: B027 (a task may have nothing to check)
        """Raise ValueError unless the fields fit each other: anybody can make a file's checksum right."""

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
        """What was tried, as a model holds it."""
        return {"chosen_by_validation": self.chosen_by_validation, "epochs_tried": self.epochs_tried}

    @property
    def parts(self) -> dict[str, Any]:
        """What the method is made of, by name."""
        found = {name: getattr(self.method, name, None) for name in ("map", "kernel", "loss")}
        return {"method": self.method} if found["map"] is None else found

    def summary(self) -> list[tuple[str, str]]:
        """The model in a few lines: a name and words."""
        name = self.variant or self.method.title
        return [("method", name), ("graph", self.dataset), ("replicas", describe_seeds(self.seeds))]

    def own_graph(self) -> Graph | None:
        """The graph that the model holds, or the built-in one that it learned from; None: it must be given.

        Any other graph may be called cora, too: what has another fingerprint is not its graph.
        """
        if self.graph is not None or not is_registered(self.dataset):
            return self.graph
        found = load_graph(self.dataset)
        return found if found.fingerprint == self.fingerprint else None

    def __str__(self) -> str:
        return "\n".join(f"{name:<14} {words}" for name, words in self.summary())

    def __repr__(self) -> str:
        settings = json.dumps(self.method.to_json())
        return f"{type(self).__name__}({settings} on {self.dataset!r}, seeds {list(self.seeds)})"


@dataclass(frozen=True)
class Report:
    """Figures of a model in percent, and what to compare them with; ``print`` it."""

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


def describe_seeds(seeds: tuple[int, ...]) -> str:
    """Say how many replicas there are, with which seeds.

    >>> describe_seeds((3,)), describe_seeds((0, 1, 2))
    ('1, seed 3', '3, seeds 0 to 2')
    """
    r = len(seeds)
    return f"{r}, seeds {seeds[0]} to {seeds[-1]}" if r > 1 else f"1, seed {seeds[0]}"


def _misfit(found: Parameters, expected: Parameters) -> str | None:
    for name in (*expected, *found):
        if name not in found:
            return f"{name} is missing"
        if name not in expected:
            return f"{name} is unknown to it"
        shape, should = found[name].shape[1:], expected[name].shape[1:]
        if shape != should:
            return f"{name} has the shape {tuple(shape)} in each replica, not {tuple(should)}"
    return None


@dataclass(frozen=True)
class ModelOnGraph:
    """A model on a graph: all that it answers about the graph's nodes. What it computes it keeps."""

    model: Any
    graph: Graph
    place: Place
    known_g: Tensor | None = field(default=None, compare=False, repr=False)  # where nothing is left to do
    prepared: Any = field(default=None, compare=False, repr=False)  # by the map while training, used once

    @cached_property
    @torch.no_grad()
    def g(self) -> Tensor:
        """The learned representation of every node: r × n × d."""
        if self.known_g is not None:
            return self.known_g.to(self.place.device)
        with self.checked_fit():
            g = self.embed()
        object.__setattr__(self, "prepared", None)  # it is larger than g, and has served
        return g

    def embed(self) -> Tensor:
        """Compute g of every node: r × n × d."""
        method = self.model.method
        prepared = method.map.prepare(self.graph, self.place) if self.prepared is None else self.prepared
        g: Tensor = method.represent(self.parameters, prepared).expand(len(self.model.seeds), -1, -1)
        return g

    @contextmanager
    def checked_fit(self) -> Iterator[None]:
        """Where computing fails, say which parameter does not fit its map, if that is why.

        A user's module may have changed since it was trained.
        """
        try:
            yield
        except KernodeError:
            raise
        except Exception as error:
            misfit = _misfit(self.model.parameters, self.expected_parameters())
            if misfit is None:
                raise
            title = self.model.method.title
            raise KernodeError(
                f"this model's parameters do not fit its {title}: {misfit}. Train it again.",
                "wrong-file", title=title,
            ) from error  # fmt: skip

    def expected_parameters(self) -> Parameters:
        """Parameters of one replica as the method makes them now."""
        method, draws = self.model.method, Run(self.model.seeds[:1], self.place).draws()
        made: Parameters = method.initial(method.map.prepare(self.graph, self.place), draws, self.place)
        return made

    @cached_property
    def kernel(self) -> NodeKernel:
        """K(u, v), the mean over replicas."""
        require_whole(self.graph, "K(u, v) of any two nodes")
        g = self.g
        return NodeKernel(
            self.model.method.kernel, g, part(self.parameters, "kernel."), self.graph.node_names
        )

    def with_metadata(self, **about: Any) -> Self:
        """The same with more fields of its model set, on none of which g depends: g stays computed."""
        found = replace(self, model=replace(self.model, **about))
        if "g" in vars(self):
            vars(found)["g"] = self.g
        return found

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
        return {name: value.to(self.place.device) for name, value in self.model.parameters.items()}

    @cached_property
    def cache(self) -> dict[str, Any]:
        """Room for what is computed once for all nodes."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again: a pickle goes to another process, or another machine."""
        known = None if self.known_g is None else self.known_g.cpu()  # which may have no such device
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {"prepared": None, "known_g": known}
