"""Any ``torch.nn.Module`` over (x, edge_index) as a feature map: PyTorch Geometric's layers and models."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from kernode.compute.draws import MODULES, Draws, Dropout
from kernode.compute.sparse import SparseMatrix
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_part
from kernode.errors import InputError, warn
from kernode.graph import Graph
from kernode.maps.base import FeatureMap, width_of
from kernode.maps.layers.features import node_features


@dataclass(frozen=True)
class ModuleInputs:
    """Arguments of a module, and one module to call with the parameters of each replica."""

    features: Tensor  # n × f, dense: modules know no sparse X
    edge_index: Tensor  # 2 × both directions of every edge
    module: nn.Module
    edge_weight: Tensor | None = None  # one for each column of edge_index, if the module takes them


@dataclass(frozen=True)
class ModuleMap(FeatureMap):
    """A map made of a module: write :meth:`module` and the settings it needs.

    Modules have no replica axis, so replicas run in a loop. Their own dropout draws from torch's generator,
    which is seeded from (seed, epoch) before each call: a replica gets the draws it gets alone.

    Buffers, such as BatchNorm's running statistics, are stored with the parameters: each replica has its own,
    training steps update them without gradients, and the kept epoch keeps its own. Evaluation only reads
    them.

    A module whose ``forward`` takes ``edge_weight`` gets the weights of a weighted graph, unless the map has
    ``edge_weight = False``; for any other they are left out, with a warning.
    """

    operator: ClassVar[str] = "messages"
    capturable: ClassVar[bool] = False  # the seed is read from the device
    drops: ClassVar[bool] = False  # except in the module's own layers

    @abstractmethod
    def module(self, features: int, outputs: int) -> nn.Module:
        """Build the module; its forward takes (x, edge_index[, edge_weight]) and gives n × outputs."""

    def prepare(self, graph: Graph, options: TensorOptions) -> ModuleInputs:
        """Dense X, the edges, their weights where the module takes them, and the module."""
        x = node_features(graph, options, normalize_rows=getattr(self, "normalize_rows", True))
        # A module may write into what it gets, and X may be the graph's own memory.
        dense = x.matrix.to_dense() if isinstance(x, SparseMatrix) else x.clone()
        coo = graph.adjacency.tocoo()
        edges = torch.stack([torch.tensor(coo.row), torch.tensor(coo.col)]).long().to(options.device)
        with torch.random.fork_rng([]):  # its first parameters are unused, and take none of the user's draws
            module = self.module(graph.n_features, width_of(self)).to(options.dtype).to(options.device)
        given = getattr(self, "edge_weight", takes_edge_weight(module))
        if not given and np.any(coo.data != 1):
            warn(
                f"{type(module).__name__} is not given the weights of the edges of {graph.name!r}: all edges "
                "count the same. Use a module whose forward takes edge_weight, or another map."
            )
        weights = torch.tensor(coo.data, dtype=options.dtype, device=options.device) if given else None
        return ModuleInputs(dense, edges, module, weights)

    def initial(self, prepared: ModuleInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """The module's own initial values, drawn with each replica's seed."""
        modules = []
        for i in range(len(draws.seeds)):
            with _seeded(draws, i, options.device):
                modules.append(self.module(prepared.features.shape[1], width_of(self)))
        states = [dict(module.named_parameters()) | dict(module.named_buffers()) for module in modules]
        stacked = {name: torch.stack([state[name].detach() for state in states]) for name in states[0]}
        return {name: value.to(options.dtype).to(options.device) for name, value in stacked.items()}

    def __call__(
        self, parameters: Parameters, prepared: ModuleInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The module's output for every replica: r × n × d."""
        prepared.module.train(dropout is not None)
        replicas = len(next(iter(parameters.values())))
        return torch.stack([self._one(parameters, prepared, dropout, i) for i in range(replicas)])

    def _one(self, parameters: Parameters, prepared: ModuleInputs, dropout: Dropout | None, i: int) -> Tensor:
        buffers = dict(prepared.module.named_buffers())
        own = {name: value[i] for name, value in parameters.items()}
        # Copies: a module writes into its buffers, and parameters are as they were until its step is done.
        own |= {name: own[name].detach().to(like.dtype, copy=True) for name, like in buffers.items()}
        named = {} if prepared.edge_weight is None else {"edge_weight": prepared.edge_weight}
        with nullcontext() if dropout is None else _seeded(dropout.draws, i, prepared.features.device):
            g = functional_call(prepared.module, own, (prepared.features, prepared.edge_index), named)
        if not isinstance(g, Tensor) or g.dim() != 2 or len(g) != len(prepared.features):
            got = tuple(g.shape) if isinstance(g, Tensor) else type(g).__name__
            raise InputError(
                f"{type(prepared.module).__name__}'s forward must give one vector per node "
                f"({len(prepared.features)} rows). Got {got}.",
                "shape", setting="map",
            )  # fmt: skip
        if dropout is not None:
            for name in buffers:
                parameters[name].data[i].copy_(own[name])  # data: kept values need no gradient
        return g


@contextmanager
def _seeded(draws: Draws, i: int, device: torch.device) -> Iterator[None]:
    """Seed torch's generators from a replica's seed and the epoch, and restore their state afterwards."""
    word = draws.words(MODULES, torch.zeros(1, dtype=torch.int64, device=draws.seeds.device))
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(int(word[0, i]))
        yield


@dataclass(frozen=True)
class Wrapped(ModuleMap):
    """Any module class by its name: ``Wrapped.of(MyNet, hidden_channels=64)``.

    The class is called with ``in_channels``, ``out_channels`` and the settings, as PyTorch Geometric's
    models are. A model file holds its name, so reading one needs ``Wrapped.of(MyNet)`` once before.
    ``edge_weight`` says whether its ``forward`` takes the weights of edges.

    >>> import torch
    >>> class Plain(torch.nn.Module):
    ...     def __init__(self, in_channels, out_channels):
    ...         super().__init__()
    ...         self.linear = torch.nn.Linear(in_channels, out_channels)
    ...     def forward(self, x, edge_index):
    ...         return self.linear(x)
    >>> Wrapped.of(Plain, outputs=8)
    Wrapped(name='Plain', settings=(), outputs=8, normalize_rows=True, edge_weight=False)
    """

    name: str
    settings: tuple[tuple[str, Any], ...] = ()
    outputs: int | None = None
    normalize_rows: bool = True
    edge_weight: bool = False  # as when the map was made; earlier files never passed weights

    known: ClassVar[dict[str, type[nn.Module]]] = {}  # by name, so that no file decides what is imported

    @classmethod
    def of(
        cls, module: type[nn.Module], outputs: int | None = None, normalize_rows: bool = True, **settings: Any
    ) -> Wrapped:
        """Make a map of a module class and its settings."""
        if not (isinstance(module, type) and issubclass(module, nn.Module)):
            got = f"an instance of {type(module).__name__}" if isinstance(module, nn.Module) else module
            sentence = f"Wrapped.of takes a class of torch modules, and its settings. Got {got}."
            raise InputError(sentence, "setting", setting="module")
        name = module.__qualname__
        before = cls.known.get(name)
        if before is not None and before.__module__ != module.__module__:  # else a cell that is run again
            raise InputError(
                f"{name!r} is the name of {before.__module__}.{name} in files already. "
                f"Give {module.__module__}.{name} another name.",
                "conflict", name=name,
            )  # fmt: skip
        cls.known[name] = module
        given = tuple(sorted(settings.items()))
        return cls(name, given, outputs, normalize_rows, takes_edge_weight(module))

    def module(self, features: int, outputs: int) -> nn.Module:
        """Build the module."""
        if self.name not in self.known:
            sentence = f"no module named {self.name!r} is known. Call Wrapped.of({self.name}) first."
            raise InputError(sentence, "unknown", what="module", name=self.name)
        return self.known[self.name](in_channels=features, out_channels=outputs, **dict(self.settings))


def require_map(value: Any, example: str) -> None:
    """Raise unless a value is a map; for a bare module, show how to wrap it."""
    kind = value if isinstance(value, type) else type(value)
    if issubclass(kind, nn.Module):
        what = "the class" if isinstance(value, type) else "an instance of"
        raise InputError(
            f"map must be a kernode map. Got {what} {kind.__name__}: "
            f"write map=kernode.maps.Wrapped.of({kind.__name__}, …) with the settings of its class.",
            "setting", setting="map",
        )  # fmt: skip
    require_part("map", value, FeatureMap, example)


def takes_edge_weight(module: nn.Module | type[nn.Module]) -> bool:
    """Whether a module, or a class of them, does something with ``edge_weight``."""
    named = "edge_weight" in inspect.signature(module.forward).parameters
    # PyTorch Geometric's models all take it, and those of layers without weights leave it unused.
    return named and bool(getattr(module, "supports_edge_weight", True))
