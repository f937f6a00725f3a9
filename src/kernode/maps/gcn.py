"""Kipf & Welling's graph convolution as a feature map (the paper's g_GCN, Eq. 13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.maps.base import LayeredMap, Parameters
from kernode.maps.layers.linear import initial_bias
from kernode.maps.layers.mlp import initial_mlp
from kernode.maps.layers.propagation import GraphInputs, adjacency_reason, graph_inputs, propagate
from kernode.maps.layers.sizes import ROWS, WIDTHS, adjacency_held


@dataclass(frozen=True)
class GCN(LayeredMap):
    """``H ← relu(Ā H W + b)``, layer by layer; the last one without relu. Written for a stack of replicas.

    - ``hidden``, ``outputs``: widths, as in :class:`~kernode.maps.HopMLP`.
    """

    hidden: tuple[int, ...] = (16,)
    outputs: int | None = None
    normalize_rows: bool = True

    operator_reason = staticmethod(adjacency_reason)
    search_space: ClassVar = {**WIDTHS, **ROWS}

    @property
    def reach(self) -> int:
        """One edge for each layer."""
        return len(self.hidden) + 1

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """X, Ā and the layers."""
        return super().least_bytes(sizes, place) + adjacency_held(sizes, place)

    def prepare(self, graph: Graph, place: Place) -> GraphInputs:
        """X and Ā."""
        return graph_inputs(graph, place, normalize_rows=self.normalize_rows)

    def initial(self, prepared: GraphInputs, draws: Draws, place: Place) -> Parameters:
        """Xavier weights with gain 1 and zero biases, as published."""
        widths = self.widths(prepared.features.shape[1])
        parameters = initial_mlp(widths, draws, place, biases=True, gain=1)
        return parameters | {f"bias_{len(self.hidden)}": initial_bias(widths[-1], draws, place)}

    def sums(self, prepared: GraphInputs, z: Tensor) -> Tensor:
        """Ā z."""
        return propagate(prepared.step, z)
