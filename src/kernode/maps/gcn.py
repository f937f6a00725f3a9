"""Kipf & Welling's graph convolution as a feature map (the paper's g_GCN, Eq. 13)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.maps.base import Parameters, StagedMap
from kernode.maps.layers.linear import initial_bias, initial_weight, multiply_stacked
from kernode.maps.layers.mlp import activate, first_layer
from kernode.maps.layers.propagation import GraphInputs, adjacency_reason, graph_inputs, propagate
from kernode.maps.layers.sizes import ROWS, WIDTHS, adjacency_held, check_widths, layers_held, width_of


@dataclass(frozen=True)
class GCN(StagedMap):
    """``H ← relu(Ā H W + b)``, layer by layer; the last one without relu. Written for a stack of replicas.

    - ``hidden``, ``outputs``: widths, as in :class:`~kernode.maps.HopMLP`.
    """

    hidden: tuple[int, ...] = (16,)
    outputs: int | None = None
    normalize_rows: bool = True

    operator_reason = staticmethod(adjacency_reason)
    search_space: ClassVar = {**WIDTHS, **ROWS}

    def __post_init__(self) -> None:
        check_widths(self.hidden, self.outputs)

    @property
    def reach(self) -> int:
        """One edge for each layer."""
        return len(self.hidden) + 1

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """X, Ā and the layers."""
        return layers_held(self, sizes, place) + adjacency_held(sizes, place)

    def prepare(self, graph: Graph, place: Place) -> GraphInputs:
        """X and Ā."""
        return graph_inputs(graph, place, normalize_rows=self.normalize_rows)

    def initial(self, prepared: GraphInputs, draws: Draws, place: Place) -> Parameters:
        """Xavier weights with gain 1 and zero biases, as published."""
        widths = (prepared.features.shape[1], *self.hidden, width_of(self))
        parameters = {}
        for layer, (rows, columns) in enumerate(pairwise(widths)):
            parameters[f"weight_{layer}"] = initial_weight(rows, columns, layer, draws, place, gain=1)
            parameters[f"bias_{layer}"] = initial_bias(columns, draws, place)
        return parameters

    def beginning(
        self, parameters: Parameters, prepared: GraphInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The first layer before its relu."""
        x = first_layer(parameters, prepared.features, dropout)  # n × r × width
        return propagate(prepared.step, x) + parameters["bias_0"]

    def finish(
        self, parameters: Parameters, prepared: GraphInputs, beginning: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """H of the last layer: r × n × d."""
        x = beginning
        for layer in range(1, len(self.hidden) + 1):
            x = activate(x, layer, dropout)
            x = propagate(prepared.step, multiply_stacked(x, parameters[f"weight_{layer}"]))
            x = x + parameters[f"bias_{layer}"]
        return x.transpose(0, 1)
