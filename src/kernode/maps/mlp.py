"""A multi-layer perceptron on the features alone: what a graph must beat."""

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
from kernode.maps.layers.features import Features, node_features
from kernode.maps.layers.linear import initial_linear, multiply_stacked
from kernode.maps.layers.mlp import activate, first_layer, initial_norm, layer_norm
from kernode.maps.layers.sizes import ROWS, WIDTHS, check_widths, layers_held, width_of


@dataclass(frozen=True)
class MLP(StagedMap):
    """``H ← relu(LayerNorm(H W + b))``, layer by layer; the last one linear. It sees no edge.

    - ``hidden``, ``outputs``: widths, as in :class:`~kernode.maps.HopMLP`; ``norm``: whether there is a
      LayerNorm.
    """

    hidden: tuple[int, ...] = (64,)
    outputs: int | None = None
    norm: bool = False
    normalize_rows: bool = False

    search_space: ClassVar = {**WIDTHS, "norm": (True, False), **ROWS}

    def __post_init__(self) -> None:
        check_widths(self.hidden, self.outputs)

    @property
    def reach(self) -> int:
        """None but the node itself."""
        return 0

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """X and the layers."""
        return layers_held(self, sizes, place)

    def prepare(self, graph: Graph, place: Place) -> Features:
        """X."""
        return node_features(graph, place, normalize_rows=self.normalize_rows)

    def initial(self, prepared: Features, draws: Draws, place: Place) -> Parameters:
        """As torch's linear layers start; LayerNorm with scale 1 and shift 0."""
        parameters: Parameters = {}
        for layer, (rows, columns) in enumerate(pairwise((prepared.shape[1], *self.hidden, width_of(self)))):
            weight, bias = initial_linear(rows, columns, 2 * layer, draws, place)
            parameters |= {f"weight_{layer}": weight, f"bias_{layer}": bias}
            if self.norm and layer < len(self.hidden):
                parameters |= initial_norm(columns, layer, draws, place)
        return parameters

    def beginning(self, parameters: Parameters, prepared: Features, dropout: Dropout | None = None) -> Tensor:
        """The first layer before LayerNorm and relu."""
        return first_layer(parameters, prepared, dropout) + parameters["bias_0"]

    def finish(
        self, parameters: Parameters, prepared: Features, beginning: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """The last layer: r × n × d."""
        x = beginning
        for layer in range(1, len(self.hidden) + 1):
            x = layer_norm(x, layer - 1, parameters) if self.norm else x
            x = activate(x, layer, dropout)
            x = multiply_stacked(x, parameters[f"weight_{layer}"]) + parameters[f"bias_{layer}"]
        return x.transpose(0, 1)
