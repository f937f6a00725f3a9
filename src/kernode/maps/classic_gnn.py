"""Message passing as it is tuned today: GCN, GraphSAGE or GAT with LayerNorm, residuals and depth.

Luo, Shi and Wu, "Classic GNNs are strong baselines", NeurIPS 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.sparse import SparseMatrix
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_setting
from kernode.graph import Graph
from kernode.hops import normalized_adjacency
from kernode.maps.base import ROWS, WIDTHS, FeatureInputs, LayeredMap, check_heads
from kernode.maps.gat import Attention, Edges, initial_attention
from kernode.maps.gcn import propagate
from kernode.maps.layers.mlp import (
    activate,
    first_products,
    initial_bias,
    initial_linear,
    initial_norm,
    initial_weight,
    layer_norm,
    multiply_stacked,
)

LAYERS = ("gcn", "sage", "gat")
_STREAMS = 8  # of randomness, for the parameters of each layer


@dataclass(frozen=True)
class ClassicGNN(LayeredMap):
    """``H ← relu(LayerNorm(layer(H) + H R + b))``, layer by layer, then a linear layer to the classes.

    - ``layer``: ``"gcn"`` (Ā H W), ``"sage"`` (GraphSAGE: the neighbours' mean times W, and H times a root
      weight) or ``"gat"`` (attention with ``heads`` heads side by side).
    - ``hidden``: one width for each layer of message passing.
    - ``norm``, ``residual``: whether there is a LayerNorm, and a linear residual H R + b.
    - ``head``: whether a linear layer makes g; otherwise one more layer of message passing does, with
      neither norm nor residual.

    >>> from kernode.maps import ClassicGNN
    >>> ClassicGNN("sage", hidden=(64, 64), outputs=7).reach
    2
    """

    layer: Literal["gcn", "sage", "gat"] = "gcn"
    hidden: tuple[int, ...] = (64, 64)
    outputs: int | None = None
    norm: bool = True
    residual: bool = True
    head: bool = True
    heads: int = 1
    normalize_rows: bool = False

    operator: ClassVar = "adjacency"
    search_space: ClassVar = {
        **WIDTHS, "norm": (True, False), "residual": (True, False), **ROWS
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        require_setting(self.layer in LAYERS, "layer", f"one of {', '.join(map(repr, LAYERS))}", self.layer)
        require_setting(bool(self.hidden), "hidden", "a width for each layer of message passing", self.hidden)
        check_heads(self.hidden, self.heads)
        require_setting(self.heads == 1 or self.layer == "gat", "heads", "1 but for layer='gat'", self.heads)

    @property
    def reach(self) -> int:
        """One edge for each layer of message passing."""
        return len(self.hidden) + (not self.head)

    def neighbours(self, graph: Graph, options: TensorOptions) -> Edges | SparseMatrix:
        """The edges, Ā, or the mean over neighbours D⁻¹ A: nothing where a node has none."""
        if self.layer == "gat":
            return Edges.of(graph, options)
        if self.layer == "gcn":
            return SparseMatrix.of(normalized_adjacency(graph), options, symmetric=True)
        mean = graph.adjacency.astype(np.float64)
        mean.data /= np.repeat(np.asarray(mean.sum(axis=1)).ravel(), np.diff(mean.indptr))
        return SparseMatrix.of(mean, options, symmetric=False)

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """As PyTorch Geometric's layers and torch's linear ones start; LayerNorm with scale 1 and shift 0."""
        parameters: Parameters = {}
        widths = self.widths(prepared.features.shape[1])
        for layer, (rows, columns) in enumerate(pairwise(widths)):
            last, stream = layer == len(self.hidden), _STREAMS * layer
            weight, bias = initial_linear(rows, columns, stream, draws, options)
            if last and self.head:
                return parameters | {"head": weight, "head_bias": bias}
            if self.layer == "sage":
                root, _ = initial_linear(rows, columns, stream + 2, draws, options)
                own = {"weight": weight, "bias": bias, "root": root}
            elif self.layer == "gat":
                own = initial_attention(rows, columns, self._heads(layer), stream, draws, options)
            else:
                weight = initial_weight(rows, columns, stream, draws, options, gain=1)
                own = {"weight": weight, "bias": initial_bias(columns, draws, options)}
            parameters |= {f"{name}_{layer}": value for name, value in own.items()}
            if self.residual and not last:
                weight, bias = initial_linear(rows, columns, stream + 4, draws, options)
                parameters |= {f"residual_{layer}": weight, f"residual_bias_{layer}": bias}
            if self.norm and not last:
                parameters |= initial_norm(columns, layer, draws, options)
        return parameters

    def first_layer(
        self, parameters: Parameters, prepared: FeatureInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The first layer before its relu."""
        products = first_products(parameters, prepared.features, self._weights(parameters, 0), dropout)
        return self._pass_messages(products, parameters, 0, prepared)

    def later_layers(
        self, parameters: Parameters, prepared: FeatureInputs, first: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """The other layers and the head: r × n × d."""
        x = first
        for layer in range(1, self.reach):
            x = activate(x, layer, dropout)
            products = [multiply_stacked(x, weight) for weight in self._weights(parameters, layer)]
            x = self._pass_messages(products, parameters, layer, prepared)
        if self.head:
            x = activate(x, self.reach, dropout)
            x = multiply_stacked(x, parameters["head"]) + parameters["head_bias"]
        return x.transpose(0, 1)

    def _heads(self, layer: int) -> int:
        return self.heads if layer < len(self.hidden) else 1

    def _weights(self, parameters: Parameters, layer: int) -> list[Tensor]:
        """What a layer's input is multiplied with: the neighbours' weight and perhaps its own."""
        own = [parameters[name] for name in (f"root_{layer}", f"residual_{layer}") if name in parameters]
        # Root weight and residual are added first: one product is cheaper than two.
        return [parameters[f"weight_{layer}"], *([sum(own[1:], own[0])] if own else [])]

    def _pass_messages(
        self, products: list[Tensor], parameters: Parameters, layer: int, prepared: FeatureInputs
    ) -> Tensor:
        """A layer before its relu, from the products of its input with its weights: n × r × width."""
        h, *own = products
        bias = parameters[f"bias_{layer}"]
        if f"residual_bias_{layer}" in parameters:
            bias = bias + parameters[f"residual_bias_{layer}"]
        if self.layer == "gat":
            vectors = parameters[f"source_{layer}"], parameters[f"target_{layer}"]
            x = Attention.apply(h.transpose(0, 1), *vectors, bias, prepared.neighbours, None, None)
            x = x.transpose(0, 1).contiguous()
        else:
            x = propagate(prepared.neighbours, h) + bias
        if own:
            x = x + own[0]
        return layer_norm(x, layer, parameters) if f"norm_scale_{layer}" in parameters else x
