"""Graph attention as a feature map (the paper's g_GAT), written for a stack of replicas."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.maps.base import FeatureMap, Parameters
from kernode.maps.layers.attention import Edges, attend, attention_reason
from kernode.maps.layers.features import node_features
from kernode.maps.layers.input_dropout import kept, masked_product, scale_of
from kernode.maps.layers.linear import initial_weight
from kernode.maps.layers.sizes import attention_held, features_held, trained
from kernode.maps.layers.widths import ROWS, WIDTHS, check_widths, width_of


@dataclass(frozen=True)
class AttentionInputs:
    """What graph attention takes from the graph: X and the edges."""

    features: Tensor | SparseMatrix  # n × f
    edges: Edges


@dataclass(frozen=True)
class GAT(FeatureMap):
    """Veličković et al. 2018: hidden layers of ``heads`` heads side by side, then one head.

    - ``hidden``: widths of the hidden layers, all heads together.
    - ``attention_dropout``: rate on the inputs of each layer and on the attention weights, as published.
    """

    hidden: tuple[int, ...] = (64,)
    outputs: int | None = None
    heads: int = 8
    attention_dropout: float = 0.6
    normalize_rows: bool = True

    search_space: ClassVar = {**WIDTHS, "attention_dropout": (0.2, 0.4, 0.6), **ROWS}

    def __post_init__(self) -> None:
        check_widths(self.hidden, self.outputs)
        if self.heads < 1 or any(width % self.heads for width in self.hidden):
            raise InputError(
                f"GAT's hidden widths must be multiples of its heads. Got {self.hidden} and {self.heads}."
            )
        if not 0 <= self.attention_dropout < 1:
            raise InputError(f"attention_dropout must be in [0, 1). Got {self.attention_dropout}.")

    @property
    def reach(self) -> int:
        """One edge for each layer."""
        return len(self.hidden) + 1

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Dropout has the map's own rate."""
        return frozenset({"dropout", "input_dropout"})

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """X, the edges, the layers, and of every edge and head its score before and after softmax."""
        held = features_held(sizes, place, normalize_rows=self.normalize_rows)
        held += attention_held(sizes, place, self.heads * len(self.hidden) + 1)
        return held + trained((sizes.features, *self.hidden, width_of(self)), sizes, place)

    def operator_reason(self, sizes: GraphSizes) -> str:
        """Attention."""
        return attention_reason(sizes)

    def prepare(self, graph: Graph, place: Place) -> AttentionInputs:
        """X and the edges."""
        x = node_features(graph, place, normalize_rows=self.normalize_rows)
        return AttentionInputs(x, Edges.of(graph, place))

    def initial(self, prepared: AttentionInputs, draws: Draws, place: Place) -> Parameters:
        """Xavier weights and attention vectors with gain 1 and zero biases, as published."""
        widths = (prepared.features.shape[1], *self.hidden, width_of(self))
        parameters = {}
        for layer, (rows, columns) in enumerate(pairwise(widths)):
            heads = self._heads(layer)
            shapes = {"weight": (rows, columns)} | dict.fromkeys(
                ("source", "target"), (heads, columns // heads)
            )
            for use, (name, shape) in enumerate(shapes.items()):
                stream = len(shapes) * layer + use
                parameters[f"{name}_{layer}"] = initial_weight(*shape, stream, draws, place, gain=1)
            parameters[f"bias_{layer}"] = torch.zeros(
                len(draws.seeds), columns, dtype=place.dtype, device=place.device
            )
        return parameters

    def __call__(
        self, parameters: Parameters, prepared: AttentionInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The last layer's sums: r × n × d."""
        own = self._own_rate(dropout)
        h = masked_product(prepared.features, parameters["weight_0"], own)
        x = self._attend(h, parameters, 0, prepared.edges, own)
        for layer in range(1, len(self.hidden) + 1):
            x, weight = functional.elu(x, inplace=True), parameters[f"weight_{layer}"]
            if own is not None:  # weights are fewer than elements of x: they are scaled
                x, weight = (
                    x * kept(own, 2 * layer, x[0].numel()).view(x.shape),
                    weight * scale_of(own, weight),
                )
            x = self._attend(torch.bmm(x, weight), parameters, layer, prepared.edges, own)
        return x

    def _heads(self, layer: int) -> int:
        return self.heads if layer < len(self.hidden) else 1

    def _own_rate(self, dropout: Dropout | None) -> Dropout | None:
        """The same draws at the map's own rate; layer l draws from 2 l for its input, then for attention."""
        if dropout is None or self.attention_dropout == 0:
            return None
        return Dropout(dropout.draws, torch.full_like(dropout.rates, self.attention_dropout))

    def _attend(
        self, h: Tensor, parameters: Parameters, layer: int, edges: Edges, dropout: Dropout | None
    ) -> Tensor:
        """The rest of a layer from h = x W (r × n × width): as large."""
        keep = scale = None
        if dropout is not None:
            keep = kept(dropout, 2 * layer + 1, self._heads(layer) * len(edges.sources))
            scale = scale_of(dropout, h)
        vectors = parameters[f"source_{layer}"], parameters[f"target_{layer}"]
        return attend(h, vectors, parameters[f"bias_{layer}"], edges, keep, scale)
