"""Aggregate first, then learn: maps that need no graph while they train (SGC, SIGN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import sparse

from kernode.compute.draws import Draws
from kernode.compute.replicas import whole
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_setting
from kernode.graph import Graph
from kernode.hops import MOST_HOPS, hop_cost, hop_matrices, normalized_adjacency
from kernode.maps.base import HOPS, ROWS, WIDTHS, FeatureInputs, LayeredMap
from kernode.maps.layers.features import scaled_features, to_tensor
from kernode.maps.layers.mlp import initial_mlp


@dataclass(frozen=True)
class Presmoothed(LayeredMap):
    """``g(V) = MLP([T_0 X, T_1 X, … T_H X])``: Eq. 7's hops on the features instead of the output.

    - ``powers``: ``"each"`` or ``"last"`` put the exact hops side by side (as SIGN does with its powers);
      ``"plain"`` takes Ā^H X alone (SGC, when ``hidden`` is empty).
    """

    hidden: tuple[int, ...] = (16,)
    outputs: int | None = None
    hops: int = 2
    powers: Literal["each", "last", "plain"] = "each"
    normalize_rows: bool = True

    multiplies_features: ClassVar[bool] = False
    search_space: ClassVar = {**WIDTHS, **HOPS, **ROWS}

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("hops", self.hops, 1, MOST_HOPS)
        # "released" has nothing between T_0 and T_H: side by side that is columns of zeros.
        known = ("each", "last", "plain")
        require_setting(self.powers in known, "powers", "'each', 'last' or 'plain'", self.powers)

    @property
    def reach(self) -> int:
        """H."""
        return self.hops

    def smooth(self, graph: Graph) -> np.ndarray | sparse.csr_array:
        """Every node's smoothed features, in float64; sparse where that is smaller."""
        x = scaled_features(graph.features, normalize_rows=self.normalize_rows)
        if self.powers == "plain":
            step = normalized_adjacency(graph)
            for _ in range(self.hops):
                x = step @ x
        else:
            hop_cost(graph, self.hops, self.powers).require_memory("explicit")
            parts = [term @ x for term in hop_matrices(graph, self.hops, self.powers)]
            x = sparse.hstack(parts, format="csr") if sparse.issparse(x) else np.hstack(parts)
        if sparse.issparse(x) and x.nnz > 0.25 * x.shape[0] * x.shape[1]:
            return x.toarray()
        return x

    def prepare(self, graph: Graph, options: TensorOptions) -> FeatureInputs:
        """The smoothed features: all that is kept of the graph."""
        return FeatureInputs(to_tensor(self.smooth(graph), options))

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """Xavier weights, no biases."""
        return initial_mlp(self.widths(prepared.features.shape[1]), draws, options)
