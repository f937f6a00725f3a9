"""Graph convolutions: sums over neighbours with Ā, and Kipf & Welling's GCN (the paper's g_GCN, Eq. 13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.compute.stack import Parameters
from kernode.graph import Graph
from kernode.hops import normalized_adjacency
from kernode.maps.base import ROWS, WIDTHS, FeatureInputs, LayeredMap
from kernode.maps.layers.features import node_features
from kernode.maps.layers.mlp import initial_bias, initial_mlp


@dataclass(frozen=True)
class GraphInputs(FeatureInputs):
    """What a convolution takes from the graph: X and Ā."""

    step: SparseMatrix  # Ā, n × n, or another mean over neighbours


def graph_inputs(graph: Graph, place: Place, *, normalize_rows: bool, mean: bool = False) -> GraphInputs:
    """Return X and Ā at a place, or the mean over neighbours D⁻¹ A: nothing where a node has none."""
    if mean:
        step = graph.adjacency.astype(np.float64)
        step.data /= np.repeat(np.asarray(step.sum(axis=1)).ravel(), np.diff(step.indptr))
    else:
        step = normalized_adjacency(graph)
    features = node_features(graph, place, normalize_rows=normalize_rows)
    return GraphInputs(features, SparseMatrix.of(step, place, symmetric=not mean))


def propagate(step: SparseMatrix, x: Tensor) -> Tensor:
    """Ā x for a whole stack: n × r × d."""
    return (step @ x.reshape(len(x), -1)).view(x.shape)


class ConvolutionMap(LayeredMap):
    """A map whose layers sum over neighbours with Ā."""

    operator: ClassVar = "adjacency"

    def prepare(self, graph: Graph, place: Place) -> GraphInputs:
        """X and Ā."""
        return graph_inputs(graph, place, normalize_rows=self.normalize_rows)

    def sums(self, prepared: GraphInputs, z: Tensor) -> Tensor:
        """Ā z."""
        return propagate(prepared.step, z)


@dataclass(frozen=True)
class GCN(ConvolutionMap):
    """``H ← relu(Ā H W + b)``, layer by layer; the last one without relu. Written for a stack of replicas.

    - ``hidden``, ``outputs``: widths, as in :class:`~kernode.maps.HopMLP`.
    """

    hidden: tuple[int, ...] = (16,)
    outputs: int | None = None
    normalize_rows: bool = True

    search_space: ClassVar = {**WIDTHS, **ROWS}

    def initial(self, prepared: GraphInputs, draws: Draws, place: Place) -> Parameters:
        """Xavier weights with gain 1 and zero biases, as published."""
        widths = self.widths(prepared.features.shape[1])
        parameters = initial_mlp(widths, draws, place, biases=True, gain=1)
        return parameters | {f"bias_{len(self.hidden)}": initial_bias(widths[-1], draws, place)}
