"""Standardised features: every column of X to mean 0 and deviation 1 on the graph that was learned from.

Mean and deviation travel with the parameters, but are not trained: other graphs are read on the same scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse

from kernode.compute.place import Place
from kernode.compute.stack import Parameters
from kernode.graph import Graph
from kernode.maps.layers.features import largest_of, scaled_features

FIXED = ("column_mean", "column_scale")  # parameters that no gradient reaches


def column_statistics(graph: Graph, feature_map: Any) -> np.ndarray | None:
    """Of X as a map sees it: each column's mean, and one over its deviation (1 where it is constant).

    2 × f, in float64; None for a map that does not standardise.
    """
    if not feature_map.standardize:
        return None
    x = scaled_features(graph, normalize_rows=feature_map.normalize_rows)
    n = max(1, graph.n_nodes)
    mean = graph.total(np.asarray(x.sum(axis=0)).ravel()) / n
    unit = _unit(graph.largest(largest_of(x)))
    x = x if unit == 1 else x * (1 / unit)
    if sparse.issparse(x):
        squares = graph.total(np.asarray(x.power(2).sum(axis=0)).ravel()) / n
        variance = np.maximum(squares - (mean / unit) ** 2, 0)
    else:
        variance = graph.total(((x - mean / unit) ** 2).sum(axis=0)) / n
    spread = np.sqrt(variance) * unit
    return np.stack([mean, 1 / np.where(spread > 1e-12 * np.abs(mean), spread, 1)])


def _unit(largest: float) -> float:
    """A power of two that X is divided by before it is squared: 1, but for numbers whose squares are none."""
    return 1.0 if largest == 0 or 1e-100 < largest < 1e100 else 2.0 ** np.floor(np.log2(largest))


def initial_columns(statistics: np.ndarray | None, replicas: int, place: Place) -> Parameters:
    """``column_mean`` and ``column_scale``, the same for every replica: r × f each, or none."""
    if statistics is None:
        return {}
    largest = torch.finfo(place.dtype).max  # one over a tiny deviation may be beyond 32 bits
    mean, scale = torch.from_numpy(statistics).clamp(max=largest).to(place.dtype).to(place.device)
    values = (one.expand(replicas, -1).contiguous() for one in (mean, scale))
    return dict(zip(FIXED, values, strict=True))
