"""Two maps side by side: the sum of their kernels is a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

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
from kernode.maps.smoother import DiffusedComponents


def _of_maps(how: Callable[[Iterable[bool]], bool], name: str) -> Any:
    """An attribute that follows from those of both maps."""
    return property(lambda both: how(getattr(one, name) for one in both.maps.values()))


@dataclass(frozen=True)
class ConcatMap(FeatureMap):
    """``g(v) = (√(1−s) a(v)/‖a(v)‖, √s b(v)/‖b(v)‖)``, so that K̄ = (1−s) K̄_a + s K̄_b.

    A kernel that learned some classes hardly separates nodes of others. Next to label-free features it still
    does.

    - ``first``, ``second``: the maps a and b; b is the label-free :class:`DiffusedComponents` by default.
    - ``share``: s, how much the second one counts.

    Vectors are compared, not read as class scores: for nearest centroids, ``objective="kernel"``.

    >>> from kernode.maps import HopMLP, ConcatMap
    >>> ConcatMap(HopMLP((64,), 32), share=0.3).reach
    10
    """

    first: FeatureMap
    second: FeatureMap = DiffusedComponents()
    share: float = 0.5

    search_space: ClassVar = {"share": (0.1, 0.3, 0.5, 0.7, 0.9)}

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            require_part(name, getattr(self, name), FeatureMap, "kernode.maps.HopMLP(outputs=64)")
        require_setting(0 <= self.share <= 1, "share", "in [0, 1]", self.share)

    @property
    def maps(self) -> dict[str, FeatureMap]:
        """Both, by the names of their parameters."""
        return {"first": self.first, "second": self.second}

    learns = _of_maps(any, "learns")
    drops_input = _of_maps(any, "drops_input")
    per_node = _of_maps(any, "per_node")
    capturable = _of_maps(all, "capturable")

    @property
    def reach(self) -> int | None:
        """The longer one."""
        one, other = self.first.reach, self.second.reach
        return None if one is None or other is None else max(one, other)

    @property
    def ignored_settings(self) -> frozenset[str]:
        """What has an effect on neither."""
        return self.first.ignored_settings & self.second.ignored_settings

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """Of both."""
        return self.first.least_bytes(sizes, place) + self.second.least_bytes(sizes, place)

    def operator_reason(self, sizes: GraphSizes) -> str:
        """Of the first, which is the one that learns."""
        return self.first.operator_reason(sizes)

    def for_classes(self, classes: int) -> Self:
        """Both."""
        return replace(self, first=self.first.for_classes(classes), second=self.second.for_classes(classes))

    def prepare(self, graph: Graph, place: Place) -> dict[str, Any]:
        """What both take from the graph."""
        return {name: one.prepare(graph, place) for name, one in self.maps.items()}

    def initial(self, prepared: dict[str, Any], draws: Draws, place: Place) -> Parameters:
        """Those of both, under ``first.`` and ``second.``."""
        own = {"first": draws, "second": draws.apart()}  # two equal maps begin differently
        return {
            f"{name}.{key}": value
            for name, one in self.maps.items()
            for key, value in one.initial(prepared[name], own[name], place).items()
        }

    def __call__(
        self, parameters: Parameters, prepared: dict[str, Any], dropout: Dropout | None = None
    ) -> Tensor:
        """g of every node: r × n × d."""
        return self._joined(
            [
                one(part(parameters, f"{name}."), prepared[name], self._dropped(name, dropout))
                for name, one in self.maps.items()
            ]
        )

    def rows(self, parameters: Parameters, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor:
        """Rows of both."""
        return self._joined(
            [one.rows(part(parameters, f"{name}."), graph, nodes, place) for name, one in self.maps.items()]
        )

    def _dropped(self, name: str, dropout: Dropout | None) -> Dropout | None:
        """Dropout as a map knows it: on X only where it drops any, and with draws of its own."""
        if dropout is None:
            return None
        rates = dropout.input_rates if self.maps[name].drops_input else None
        draws = dropout.draws if name == "first" else dropout.draws.apart()
        return replace(dropout, draws=draws, input_rates=rates)

    def _joined(self, both: list[Tensor]) -> Tensor:
        replicas = max(len(g) for g in both)
        weights = (math.sqrt(1 - self.share), math.sqrt(self.share))
        # eps: a vector of zeros has no direction, and similarity 0 to every node.
        units = [
            weight * torch.nn.functional.normalize(g, dim=-1, eps=1e-12).expand(replicas, -1, -1)
            for weight, g in zip(weights, both, strict=True)
        ]
        return torch.cat(units, dim=-1)
