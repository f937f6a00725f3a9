"""Sums over neighbours with Ā, for a stack of replicas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.graph import Graph
from kernode.hops import normalized_adjacency
from kernode.io.sizes import GraphSizes
from kernode.maps.base import FeatureInputs
from kernode.maps.layers.features import node_features


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


def adjacency_reason(sizes: GraphSizes) -> str:
    """What summing over neighbours takes, in a sentence."""
    return f"adjacency: Ā itself, {sizes.step_entries:,} multiply-adds per column in every product"


def propagate(step: SparseMatrix, x: Tensor) -> Tensor:
    """Ā x for a whole stack: n × r × d."""
    return (step @ x.reshape(len(x), -1)).view(x.shape)
