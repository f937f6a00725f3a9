"""A map with one free vector per node: what Theorem 2 needs, and nothing of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.maps.base import FeatureMap, width_of
from kernode.maps.layers.mlp import initial_weight


@dataclass(frozen=True)
class NodeEmbedding(FeatureMap):
    """``g(v)`` is itself the parameter: any kernel of rank ≤ d on these nodes can be expressed.

    - ``outputs``: d; None for one per class.
    """

    outputs: int | None = None

    drops: ClassVar[bool] = False
    per_node: ClassVar[bool] = True

    def prepare(self, graph: Graph, options: TensorOptions) -> int:
        """Only the number of nodes matters."""
        return graph.n_nodes

    def initial(self, prepared: int, draws: Draws, options: TensorOptions) -> Parameters:
        """Draw a vector for every node."""
        return {"vectors": initial_weight(prepared, width_of(self), 0, draws, options)}

    def __call__(self, parameters: Parameters, prepared: int, dropout: Dropout | None = None) -> Tensor:
        """The vectors: r × n × d."""
        return parameters["vectors"]
