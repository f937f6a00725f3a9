"""A map on standardised features: every column of X to mean 0 and deviation 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.stack import Parameters
from kernode.config import require_part
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.share import ranks_of
from kernode.maps.base import FeatureMap, StagedMap
from kernode.maps.layers.features import largest_of, scaled_features

FIXED = ("column_mean", "column_scale")  # parameters that no gradient reaches


@dataclass(frozen=True)
class StandardizedInputs:
    """What the map takes from the graph, and the statistics of its X."""

    inner: Any
    statistics: np.ndarray  # 2 × f, in float64

    @property
    def features(self) -> Any:
        """X, which is not changed: see :func:`~kernode.maps.layers.mlp.first_layer`."""
        return self.inner.features


def _of_map(name: str) -> Any:
    return property(lambda wrapper: getattr(wrapper.map, name), doc="As the map has it.")


@dataclass(frozen=True)
class Standardized(StagedMap):
    """``g((X − μ) / σ)``: a map on columns of mean 0 and deviation 1, after its rows were scaled or not.

    μ and σ are those of the graph that was learned from. They stand among the map's parameters as
    ``column_mean`` and ``column_scale`` and are not trained, so that other graphs are put on the same scale.
    A sparse X stays sparse.

    - ``map``: any map that begins with a product with X, such as HopMLP, HopNet, GCN or MLP.

    >>> from kernode.maps import GCN, Standardized
    >>> Standardized(GCN((64,), normalize_rows=False)).reach
    2
    """

    map: StagedMap

    def __post_init__(self) -> None:
        require_part("map", self.map, FeatureMap, "kernode.maps.HopNet()")
        if not (isinstance(self.map, StagedMap) and self.map.multiplies_features):
            sentence = f"{type(self.map).__name__} does not begin with a product with X, which is needed."
            fix = "Standardise the features of the graph instead."
            raise InputError(f"{sentence} {fix}", "unsupported", setting="map")

    @property
    def unwrapped(self) -> FeatureMap:
        """The map: its first layer reads μ and σ from the parameters."""
        return self.map

    # as the map has them
    capturable = _of_map("capturable")
    takes_shares = _of_map("takes_shares")
    search_space = _of_map("search_space")
    reach = _of_map("reach")
    ignored_settings = _of_map("ignored_settings")
    least_bytes = _of_map("least_bytes")
    operator_reason = _of_map("operator_reason")
    rows = _of_map("rows")

    def finished(self, parameters: Parameters, prepared: StandardizedInputs) -> Parameters:
        """The map's, and the statistics."""
        return self.map.finished(parameters, prepared.inner)

    def for_classes(self, classes: int) -> Self:
        """With one output of the map per class, where its width was left open."""
        return replace(self, map=self.map.for_classes(classes))

    def with_open_width(self) -> Self:
        """With the map's width left open."""
        return replace(self, map=self.map.with_open_width())

    def prepare(self, graph: Graph, place: Place) -> StandardizedInputs:
        """What the map takes from the graph, and μ and 1/σ of its X."""
        rows = getattr(self.map, "normalize_rows", False)
        return StandardizedInputs(self.map.prepare(graph, place), column_statistics(graph, rows))

    def initial(self, prepared: StandardizedInputs, draws: Draws, place: Place) -> Parameters:
        """The map's, and ``column_mean`` and ``column_scale``, the same for every replica: r × f each."""
        largest = torch.finfo(place.dtype).max  # one over a tiny deviation may be beyond 32 bits
        columns = torch.from_numpy(prepared.statistics).clamp(max=largest).to(place.dtype).to(place.device)
        stacked = (one.expand(len(draws.seeds), -1).contiguous() for one in columns)
        own = self.map.initial(prepared.inner, draws, place)
        return own | dict(zip(FIXED, stacked, strict=True))

    def first_layer(
        self, parameters: Parameters, prepared: StandardizedInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The map's first part."""
        return self.map.first_layer(parameters, prepared.inner, dropout)

    def later_layers(
        self, parameters: Parameters, prepared: StandardizedInputs, first: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """The map's other part: r × n × d."""
        return self.map.later_layers(parameters, prepared.inner, first, dropout)


def column_statistics(graph: Graph, normalize_rows: bool) -> np.ndarray:
    """Mean and one over the deviation of each column (1 where it is constant): 2 × f, in float64."""
    x = scaled_features(graph.features, normalize_rows=normalize_rows)
    n, ranks = max(1, graph.n_nodes), ranks_of(graph)
    mean = ranks.total(np.asarray(x.sum(axis=0)).ravel()) / n
    unit = _unit(max(ranks.gather(largest_of(x))))
    x = x if unit == 1 else x * (1 / unit)
    if sparse.issparse(x):
        squares = ranks.total(np.asarray(x.power(2).sum(axis=0)).ravel()) / n
        variance = np.maximum(squares - (mean / unit) ** 2, 0)
    else:
        variance = ranks.total(((x - mean / unit) ** 2).sum(axis=0)) / n
    spread = np.sqrt(variance) * unit
    return np.stack([mean, 1 / np.where(spread > 1e-12 * np.abs(mean), spread, 1)])


def _unit(largest: float) -> float:
    """A power of two that X is divided by, so that squares neither overflow nor vanish; 1 in most cases."""
    return 1.0 if largest == 0 or 1e-100 < largest < 1e100 else 2.0 ** np.floor(np.log2(largest))
