"""Concatenated maps: their kernel is the sum of the maps' kernels."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from kernode.compute.draws import Draws, Dropout
from kernode.compute.stack import Parameters, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_part, require_setting
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.maps.base import FeatureMap
from kernode.maps.smoother import DiffusedComponents


def _of_maps(how: Callable[[Iterable[bool]], bool], name: str) -> Any:
    return property(lambda joined: how(getattr(one, name) for one in joined.named.values()))


class JoinedMaps(FeatureMap):
    """Concatenated vectors of several maps; parameter names have the map's name and a dot as prefix."""

    learns = _of_maps(any, "learns")
    drops_input = _of_maps(any, "drops_input")
    per_node = _of_maps(any, "per_node")
    capturable = _of_maps(all, "capturable")

    @property
    @abstractmethod
    def named(self) -> dict[str, FeatureMap]:
        """The maps by name."""

    @property
    def reach(self) -> int | None:
        """The largest reach of the maps."""
        found = [one.reach for one in self.named.values()]
        return None if None in found else max(one for one in found if one is not None)

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Settings that no map uses."""
        return frozenset.intersection(*(one.ignored_settings for one in self.named.values()))

    def least_bytes(self, sizes: GraphSizes, options: TensorOptions) -> float:
        """The sum over the maps."""
        return sum(one.least_bytes(sizes, options) for one in self.named.values())

    def operator_reason(self, sizes: GraphSizes) -> str:
        """The reason of the first map that sums over neighbours."""
        found = [one.operator_reason(sizes) for one in self.named.values()]
        return next((one for one in found if not one.startswith("none")), found[0])

    def prepare(self, graph: Graph, options: TensorOptions) -> Any:
        """Prepare each map, by name."""
        return {name: one.prepare(graph, options) for name, one in self.named.items()}

    def initial(self, prepared: Any, draws: Draws, options: TensorOptions) -> Parameters:
        """First parameters of all maps; two equal maps start from different draws."""
        found: Parameters = {}
        for at, (name, one) in enumerate(self.named.items()):
            own = one.initial(self._own(prepared, name), draws.apart() if at else draws, options)
            found |= {f"{name}.{key}": value for key, value in own.items()}
        return found

    def finished(self, parameters: Parameters, prepared: Any) -> Parameters:
        """The parameters with what each map measured on the graph."""
        found: Parameters = {}
        for name, (one, own) in zip(self.named, self.parts(parameters), strict=True):
            own = one.finished(own, self._own(prepared, name))
            found |= {f"{name}.{key}": value for key, value in own.items()}
        return found

    def __call__(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """g of every node: r × n × Σ d_m."""
        pairs = zip(self.named, self.parts(parameters), strict=True)
        return self._joined(
            one(own, self._own(prepared, name), self._dropped(name, dropout)) for name, (one, own) in pairs
        )

    def rows(self, parameters: Parameters, graph: Graph, nodes: np.ndarray, options: TensorOptions) -> Tensor:
        """g of some nodes, by each map."""
        return self._joined(one.rows(own, graph, nodes, options) for one, own in self.parts(parameters))

    def parts(self, parameters: Parameters) -> Iterator[tuple[FeatureMap, Parameters]]:
        """Each map with its parameters."""
        return ((one, under_prefix(parameters, f"{name}.")) for name, one in self.named.items())

    def _own(self, prepared: Any, name: str) -> Any:
        return prepared[name]

    def _dropped(self, name: str, dropout: Dropout | None) -> Dropout | None:
        """Dropout of one map: on X only if it supports that, and with its own draws."""
        if dropout is None:
            return None
        rates = dropout.input_rates if self.named[name].drops_input else None
        draws = dropout.draws if name == next(iter(self.named)) else dropout.draws.apart()
        return replace(dropout, draws=draws, input_rates=rates)

    def _joined(self, several: Iterable[Tensor]) -> Tensor:
        found = list(several)
        replicas = max(len(g) for g in found)  # without parameters, one replica for all
        return torch.cat([g.expand(replicas, -1, -1) for g in found], dim=-1)


@dataclass(frozen=True)
class ConcatMap(JoinedMaps):
    """``g(v) = (√(1−s) a(v)/‖a(v)‖, √s b(v)/‖b(v)‖)``, so that K̄ = (1−s) K̄_a + s K̄_b.

    A kernel trained on some classes hardly separates nodes of unseen classes. With label-free features added,
    it does.

    - ``first``, ``second``: the maps a and b; b is the label-free :class:`DiffusedComponents` by default.
    - ``share``: s, the weight of the second kernel.

    The vectors are not class scores: use nearest centroids, ``objective="kernel"``.

    >>> from kernode.maps import HopMLP, ConcatMap
    >>> ConcatMap(HopMLP((64,), 32), share=0.3).reach
    10
    """

    first: FeatureMap
    second: FeatureMap = DiffusedComponents()
    share: float = 0.5

    search_space: ClassVar = {"share": (0.1, 0.3, 0.5, 0.7, 0.9)}

    def __post_init__(self) -> None:
        for name, one in self.named.items():
            require_part(name, one, FeatureMap, "kernode.maps.HopMLP(outputs=64)")
        require_setting(0 <= self.share <= 1, "share", "in [0, 1]", self.share)

    @property
    def named(self) -> dict[str, FeatureMap]:
        """Both maps by name."""
        return {"first": self.first, "second": self.second}

    def for_classes(self, classes: int) -> Self:
        """Both maps with one output per class."""
        return replace(self, first=self.first.for_classes(classes), second=self.second.for_classes(classes))

    def _joined(self, several: Iterable[Tensor]) -> Tensor:
        weights = (math.sqrt(1 - self.share), math.sqrt(self.share))
        # eps: a vector of zeros has no direction, and similarity 0 to every node.
        return super()._joined(
            weight * normalize(g, dim=-1, eps=1e-12) for weight, g in zip(weights, several, strict=True)
        )


@dataclass(frozen=True)
class Members(JoinedMaps):
    """``g(v) = (g_1(v), …, g_M(v))``: the concatenated vectors of trained maps, not normalised.

    Parameters of map m are under ``m.``. The kernel :class:`~kernode.kernels.weighted_sum.WeightedSum`
    compares such vectors block by block.
    """

    maps: tuple[FeatureMap, ...]

    drops: ClassVar[bool] = False  # the maps are already trained
    drops_input: ClassVar[bool] = False
    capturable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        fits = isinstance(self.maps, tuple) and bool(self.maps)
        require_setting(fits, "maps", "a tuple of maps", self.maps)
        for one in self.maps:
            require_part("maps", one, FeatureMap, "kernode.maps.HopMLP()")

    @property
    def named(self) -> dict[str, FeatureMap]:
        """The maps by number."""
        return {str(at): one for at, one in enumerate(self.maps)}

    ignored_settings = FeatureMap.ignored_settings

    def check_graph(self, graph: Graph) -> None:
        """Raise if a map does not support the graph."""
        for one in self.maps:
            one.check_graph(graph)

    def least_bytes(self, sizes: GraphSizes, options: TensorOptions) -> float:
        """None: only the graph is stored."""
        return 0.0

    def for_classes(self, classes: int) -> Self:
        """Each map with one output per class."""
        return replace(self, maps=tuple(one.for_classes(classes) for one in self.maps))

    def prepare(self, graph: Graph, options: TensorOptions) -> tuple[Graph, TensorOptions]:
        """The graph itself: each map is prepared when it is evaluated, and its inputs are then freed."""
        return graph, options

    def _own(self, prepared: Any, name: str) -> Any:
        return self.named[name].prepare(*prepared)

    def _dropped(self, name: str, dropout: Dropout | None) -> None:
        return None
