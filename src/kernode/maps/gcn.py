"""Graph convolutions: sums over neighbours with Ā, and Kipf & Welling's GCN (the paper's g_GCN, Eq. 13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from kernode.compute.draws import Draws
from kernode.compute.sparse import SparseMatrix
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.hops import normalized_adjacency
from kernode.maps.base import ROWS, WIDTHS, FeatureInputs, LayeredMap
from kernode.maps.layers.mlp import initial_bias, initial_mlp


def propagate(step: SparseMatrix, x: Tensor) -> Tensor:
    """Ā x for a whole stack: n × r × d."""
    return (step @ x.reshape(len(x), -1)).view(x.shape)


class ConvolutionMap(LayeredMap):
    """A map whose layers sum over neighbours with Ā."""

    operator: ClassVar = "adjacency"

    def neighbours(self, graph: Graph, options: TensorOptions) -> SparseMatrix:
        """Ā."""
        return SparseMatrix.of(normalized_adjacency(graph), options, symmetric=True)

    def sums(self, prepared: FeatureInputs, z: Tensor) -> Tensor:
        """Ā z."""
        return propagate(prepared.neighbours, z)


@dataclass(frozen=True)
class GCN(ConvolutionMap):
    """``H ← relu(Ā H W + b)``, layer by layer; the last one without relu. Written for a stack of replicas.

    - ``hidden``, ``outputs``: widths, as in :class:`~kernode.maps.HopMLP`.
    """

    hidden: tuple[int, ...] = (16,)
    outputs: int | None = None
    normalize_rows: bool = True

    search_space: ClassVar = {**WIDTHS, **ROWS}

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """Xavier weights with gain 1 and zero biases, as published."""
        widths = self.widths(prepared.features.shape[1])
        parameters = initial_mlp(widths, draws, options, biases=True, gain=1)
        return parameters | {f"bias_{len(self.hidden)}": initial_bias(widths[-1], draws, options)}
