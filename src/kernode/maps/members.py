"""Several maps side by side: what a sum of kernels is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part
from kernode.config import require_part, require_setting
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.maps.base import FeatureMap


@dataclass(frozen=True)
class Members(FeatureMap):
    """``g(v) = (g_1(v), …, g_M(v))``: the vectors of trained maps, one after the other, as each gives them.

    Parameters of map m are under ``m.``. The kernel :class:`~kernode.kernels.weighted_sum.WeightedSum`
    compares such vectors block by block.
    """

    maps: tuple[FeatureMap, ...]

    capturable: ClassVar[bool] = False
    drops: ClassVar[bool] = False  # its maps were trained before

    def __post_init__(self) -> None:
        require_setting(
            isinstance(self.maps, tuple) and bool(self.maps), "maps", "a tuple of maps", self.maps
        )
        for one in self.maps:
            require_part("maps", one, FeatureMap, "kernode.maps.HopMLP()")

    @property
    def reach(self) -> int | None:
        """The longest."""
        found = [one.reach for one in self.maps]
        return None if None in found else max(one for one in found if one is not None)

    @property
    def per_node(self) -> bool:  # type: ignore[override]
        """Where one map is."""
        return any(one.per_node for one in self.maps)

    def check_graph(self, graph: Graph) -> None:
        """Raise where a map refuses the graph."""
        for one in self.maps:
            one.check_graph(graph)

    def operator_reason(self, sizes: GraphSizes) -> str:
        """Of the first map that sums over neighbours."""
        found = [one.operator_reason(sizes) for one in self.maps]
        return next((one for one in found if not one.startswith("none")), found[0])

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """None: it holds the graph alone."""
        return 0.0

    def for_classes(self, classes: int) -> Self:
        """Each for so many classes."""
        return replace(self, maps=tuple(one.for_classes(classes) for one in self.maps))

    def prepare(self, graph: Graph, place: Place) -> Graph:
        """The graph itself: what each map takes from it is computed when its turn comes, and then let go."""
        return graph

    def initial(self, prepared: Graph, draws: Draws, place: Place) -> Parameters:
        """Those of all maps, under 0., 1., …"""
        return {
            f"{at}.{name}": value
            for at, one in enumerate(self.maps)
            for name, value in one.initial(one.prepare(prepared, place), draws, place).items()
        }

    def finished(self, parameters: Parameters, prepared: Graph) -> Parameters:
        """What each measured of the graph, too."""
        place = _place(parameters)
        return {
            f"{at}.{name}": value
            for at, (one, own) in enumerate(self.parts(parameters))
            for name, value in one.finished(own, one.prepare(prepared, place)).items()
        }

    def __call__(self, parameters: Parameters, prepared: Graph, dropout: Dropout | None = None) -> Tensor:
        """g of every node: r × n × Σ d_m."""
        place = _place(parameters)
        return _joined(one(own, one.prepare(prepared, place), None) for one, own in self.parts(parameters))

    def rows(self, parameters: Parameters, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor:
        """Rows of each."""
        return _joined(one.rows(own, graph, nodes, place) for one, own in self.parts(parameters))

    def parts(self, parameters: Parameters) -> Iterator[tuple[FeatureMap, Parameters]]:
        """Each map with its parameters."""
        return ((one, part(parameters, f"{at}.")) for at, one in enumerate(self.maps))


def _place(parameters: Parameters) -> Place:
    like = next(value for value in parameters.values() if value.is_floating_point())
    return Place(like.dtype, like.device)


def _joined(found: Iterator[Tensor]) -> Tensor:
    several = list(found)
    replicas = max(len(g) for g in several)
    return torch.cat([g.expand(replicas, -1, -1) for g in several], dim=-1)
