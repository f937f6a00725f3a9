"""Any ``torch.nn.Module`` over (x, edge_index) as a feature map: PyTorch Geometric's layers and models."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call

from kernode.compute.draws import MODULES, Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.data.sizes import GraphSizes
from kernode.errors import InputError, MissingExtraError
from kernode.graph import Graph
from kernode.maps.base import FeatureMap, Parameters
from kernode.maps.layers.features import node_features
from kernode.maps.layers.sizes import dense_held
from kernode.maps.layers.widths import width_of


@dataclass(frozen=True)
class ModuleInputs:
    """What a module is called with, and one module to call with every replica's parameters."""

    features: Tensor  # n × f, dense: modules know no sparse X
    edge_index: Tensor  # 2 × both directions of every edge
    module: nn.Module


@dataclass(frozen=True)
class ModuleMap(FeatureMap):
    """A map made of a module: write :meth:`module` and the settings it needs.

    A module knows no stack, so replicas are looped over. Its own dropout draws from torch's generator,
    which is seeded from (seed, epoch) before each call: a replica sees what it sees alone.
    """

    capturable: ClassVar[bool] = False  # the seed is read from the device

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Dropout is the module's own."""
        return frozenset({"dropout", "input_dropout"})

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """A dense X and the edges; what the module holds, nobody knows."""
        return dense_held(sizes, place) + 16.0 * sizes.entries

    def operator_reason(self, sizes: GraphSizes) -> str:
        """As PyTorch Geometric's layers do it."""
        return f"messages: one along every edge, {sizes.step_entries:,} multiply-adds per column"

    @abstractmethod
    def module(self, features: int, outputs: int) -> nn.Module:
        """Build the module; its forward takes (x, edge_index) and gives n × outputs."""

    def prepare(self, graph: Graph, place: Place) -> ModuleInputs:
        """Dense X, the edges and the module."""
        x = node_features(graph, place, normalize_rows=getattr(self, "normalize_rows", True))
        # A module may write into what it gets, and X may be the graph's own memory.
        dense = x.matrix.to_dense() if isinstance(x, SparseMatrix) else x.clone()
        coo = graph.adjacency.tocoo()
        edges = torch.stack([torch.tensor(coo.row), torch.tensor(coo.col)]).long().to(place.device)
        with torch.random.fork_rng([]):  # whose first parameters nobody uses: no draw of the user's is taken
            module = self.module(graph.n_features, width_of(self)).to(place.dtype).to(place.device)
        if next(module.buffers(), None) is not None:
            raise InputError(
                f"{type(module).__name__} keeps buffers (batch statistics?), which replicas cannot share. "
                "Use a module with parameters only."
            )
        return ModuleInputs(dense, edges, module)

    def initial(self, prepared: ModuleInputs, draws: Draws, place: Place) -> Parameters:
        """The module's own start, under each replica's seed."""
        modules = []
        for i in range(len(draws.seeds)):
            with _seeded(draws, i, place.device):
                modules.append(self.module(prepared.features.shape[1], width_of(self)))
        return {
            name: torch.stack([dict(module.named_parameters())[name].detach() for module in modules])
            .to(place.dtype)
            .to(place.device)
            for name, _ in modules[0].named_parameters()
        }

    def __call__(
        self, parameters: Parameters, prepared: ModuleInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The module's output for every replica: r × n × d."""
        prepared.module.train(dropout is not None)
        replicas = len(next(iter(parameters.values())))
        return torch.stack([self._one(parameters, prepared, dropout, i) for i in range(replicas)])

    def _one(self, parameters: Parameters, prepared: ModuleInputs, dropout: Dropout | None, i: int) -> Tensor:
        own = {name: value[i] for name, value in parameters.items()}
        inputs = (prepared.features, prepared.edge_index)
        if dropout is None:
            return functional_call(prepared.module, own, inputs)
        with _seeded(dropout.draws, i, prepared.features.device):
            return functional_call(prepared.module, own, inputs)


class _seeded:  # noqa: N801 (a context, used as a verb)
    """torch's own generators, set by a replica's seed and the epoch for a while, then as they were."""

    def __init__(self, draws: Draws, i: int, device: torch.device) -> None:
        word = draws.words(MODULES, torch.zeros(1, dtype=torch.int64, device=draws.seeds.device))
        self.seed = int(word[0, i])
        self.fork = torch.random.fork_rng([device] if device.type == "cuda" else [])

    def __enter__(self) -> None:
        self.fork.__enter__()
        torch.manual_seed(self.seed)

    def __exit__(self, *error: Any) -> None:
        self.fork.__exit__(*error)


@dataclass(frozen=True)
class Wrapped(ModuleMap):
    """Any module class by its name: ``Wrapped.of(MyNet, hidden_channels=64)``.

    The class is called with ``in_channels``, ``out_channels`` and the settings, as PyTorch Geometric's
    models are. A model file holds its name, so reading one needs ``Wrapped.of(MyNet)`` once before.

    >>> import torch
    >>> class Plain(torch.nn.Module):
    ...     def __init__(self, in_channels, out_channels):
    ...         super().__init__()
    ...         self.linear = torch.nn.Linear(in_channels, out_channels)
    ...     def forward(self, x, edge_index):
    ...         return self.linear(x)
    >>> Wrapped.of(Plain, outputs=8)
    Wrapped(name='Plain', settings=(), outputs=8, normalize_rows=True)
    """

    name: str
    settings: tuple[tuple[str, Any], ...] = ()
    outputs: int | None = None
    normalize_rows: bool = True

    known: ClassVar[dict[str, type[nn.Module]]] = {}  # by name, so that no file decides what is imported

    @classmethod
    def of(
        cls, module: type[nn.Module], outputs: int | None = None, normalize_rows: bool = True, **settings: Any
    ) -> Wrapped:
        """Make a map of a module class and its settings."""
        cls.known[module.__qualname__] = module
        return cls(module.__qualname__, tuple(sorted(settings.items())), outputs, normalize_rows)

    def module(self, features: int, outputs: int) -> nn.Module:
        """Build the module."""
        if self.name not in self.known:
            raise InputError(f"no module named {self.name!r} is known. Call Wrapped.of({self.name}) first.")
        return self.known[self.name](in_channels=features, out_channels=outputs, **dict(self.settings))


def torch_geometric_nn() -> Any:
    """Import PyTorch Geometric, or say how to get it."""
    try:
        with warnings.catch_warnings():  # its import warns of a torch function that it still uses
            warnings.simplefilter("ignore", DeprecationWarning)
            from torch_geometric import nn as layers
    except ImportError:
        raise MissingExtraError("this map needs PyTorch Geometric: pip install 'kernode[pyg]'.") from None
    return layers
