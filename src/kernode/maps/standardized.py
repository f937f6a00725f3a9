"""A map on standardised features: every column of X to mean 0 and deviation 1."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import sparse

from kernode.compute.draws import Draws
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_part
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.share import ranks_of
from kernode.maps.base import FeatureInputs, FeatureMap, MapWrapper, StagedMap, of_map
from kernode.maps.layers.features import scaled_features

FIXED = ("column_mean", "column_scale")  # parameters that no gradient reaches


@dataclass(frozen=True)
class Standardized(MapWrapper):
    """``g((X − μ) / σ)``: a map on columns of mean 0 and deviation 1, after its rows were scaled or not.

    μ and σ are those of the graph that was learned from. They stand among the map's parameters as
    ``column_mean`` and ``column_scale`` and are not trained, so that other graphs are put on the same scale.
    A sparse X stays sparse.

    - ``map``: any map that begins with a product with X, such as HopMLP, HopNet, GCN or MLP.

    >>> from kernode.maps import GCN, Standardized
    >>> Standardized(GCN((64,), normalize_rows=False)).reach
    2
    """

    takes_shares = of_map("takes_shares")
    reach = of_map("reach")
    rows = of_map("rows")

    def __post_init__(self) -> None:
        require_part("map", self.map, FeatureMap, "kernode.maps.HopNet()")
        if not (isinstance(self.map, StagedMap) and self.map.multiplies_features):
            sentence = f"{type(self.map).__name__} does not begin with a product with X, which is needed."
            fix = "Standardise the features of the graph instead."
            raise InputError(f"{sentence} {fix}", "unsupported", setting="map")

    def prepare(self, graph: Graph, options: TensorOptions) -> FeatureInputs:
        """What the map takes from the graph, and μ and 1/σ of its X."""
        rows = getattr(self.map, "normalize_rows", False)
        return replace(self.map.prepare(graph, options), statistics=column_statistics(graph, rows))

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """The map's, and ``column_mean`` and ``column_scale``, the same for every replica: r × f each."""
        largest = torch.finfo(options.dtype).max  # one over a tiny deviation may be beyond 32 bits
        columns = (
            torch.from_numpy(prepared.statistics).clamp(max=largest).to(options.dtype).to(options.device)
        )
        stacked = (one.expand(len(draws.seeds), -1).contiguous() for one in columns)
        return self.map.initial(prepared, draws, options) | dict(zip(FIXED, stacked, strict=True))


def column_statistics(graph: Graph, normalize_rows: bool) -> np.ndarray:
    """Mean and one over the deviation of each column (1 where it is constant): 2 × f, in float64."""
    x = scaled_features(graph.features, normalize_rows=normalize_rows)
    n, ranks = max(1, graph.n_nodes), ranks_of(graph)
    mean = ranks.total(np.asarray(x.sum(axis=0)).ravel()) / n
    if sparse.issparse(x):
        squares = ranks.total(np.asarray(x.power(2).sum(axis=0)).ravel()) / n
        variance = np.maximum(squares - mean**2, 0)
    else:
        variance = ranks.total(((x - mean) ** 2).sum(axis=0)) / n
    spread = np.sqrt(variance)
    return np.stack([mean, 1 / np.where(spread > 1e-12 * np.abs(mean), spread, 1)])
