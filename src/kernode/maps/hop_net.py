"""Eq. 7 with an output layer for each hop, biases and LayerNorm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.graph.neighbourhoods import degrees
from kernode.maps.base import FeatureInputs
from kernode.maps.hop_mlp import HopMLP
from kernode.maps.layers.mlp import finish_mlp, initial_weight


@dataclass(frozen=True)
class HopNet(HopMLP):
    """``g(V) = Σ_h ω_h (Ā^h ⊙ M^(h)) MLP_h(X)``, where the MLPs share all layers but the last.

    Hidden layers have biases. It is still linear in the MLP's outputs of the neighbours.

    - ``norm``: whether hidden layers have LayerNorm.
    - ``residual``: whether a hidden layer's input is added to its output, where both have one width.
    - ``self_loop``: whether Ā's diagonal, 1/(degree + 1), is one more term: a GCN's self-loop.
    - ``hidden``, ``outputs``, ``hops``, ``powers``, ``hop_weights``, ``normalize_rows``: as in
      :class:`~kernode.maps.HopMLP`.

    >>> from kernode.maps import HopNet
    >>> HopNet(hops=2, self_loop=True).terms
    4
    """

    hidden: tuple[int, ...] = (256,)
    norm: bool = True
    residual: bool = False
    self_loop: bool = False

    biases = True

    @property
    def terms(self) -> int:
        """Number of terms, each with a weight and an output layer: hops 0 … H, then Ā's diagonal."""
        return self.hops + 1 + self.self_loop

    def first_weights(self, options: TensorOptions) -> Tensor:
        """c^h, and 1 where they are learned; Ā's diagonal has that of hop 0."""
        weights = super().first_weights(options)
        return torch.cat([weights, weights[:1]]) if self.self_loop else weights

    def prepare(self, graph: Graph, options: TensorOptions) -> FeatureInputs:
        """X, the hop operator, and Ā's diagonal where it is a term."""
        prepared = super().prepare(graph, options)
        if not self.self_loop:
            return prepared
        loops = 1 / (graph.adjacency.astype(np.float64).sum(axis=1) + 1)
        return replace(prepared, loops=torch.from_numpy(loops).to(options.dtype).to(options.device))

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """Xavier weights, biases of zero, LayerNorm with scale 1 and shift 0."""
        widths, last = self.widths(prepared.features.shape[1]), len(self.hidden)
        of_terms = initial_weight(widths[-2], widths[-1], last, draws, options, count=self.terms)
        return super().initial(prepared, draws, options) | {f"weight_{last}": of_terms}

    def later_layers(
        self, parameters: Parameters, prepared: FeatureInputs, first: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """g of every node: r × n × d."""
        z = finish_mlp(parameters, first, dropout, residual=self.residual)  # n × r × terms·d
        parts = self._weighted(z, parameters)
        g = prepared.neighbours.join(parts[: self.hops + 1])
        if prepared.loops is not None:
            g = g + prepared.loops[:, None, None] * parts[-1]
        return g.transpose(0, 1)

    def terms_at(self, graph: Graph, nodes: np.ndarray) -> tuple[np.ndarray, list[sparse.csr_array]]:
        """T_h at some rows, and after them Ā's diagonal."""
        columns, terms = super().terms_at(graph, nodes)
        if not self.self_loop:
            return columns, terms
        at = np.searchsorted(columns, nodes), np.arange(len(nodes) + 1)
        loops = sparse.csr_array((1 / (degrees(graph, nodes) + 1), *at), shape=terms[0].shape)
        return columns, [*terms, loops]

    def node_outputs(self, parameters: Parameters, first: Tensor) -> Tensor:
        """The output layers' values for each node: k × r × terms × d."""
        return self._by_term(finish_mlp(parameters, first, None, residual=self.residual, hold=True))

    def _weighted(self, z: Tensor, parameters: Parameters) -> list[Tensor]:
        """What each term sums, times its weight: n × r × d each."""
        weights = self.term_weights(parameters, z.shape[1], TensorOptions(z.dtype, z.device))
        return list((self._by_term(z) * weights[..., None]).unbind(dim=2))

    def _by_term(self, z: Tensor) -> Tensor:
        """n × r × terms·d → n × r × terms × d."""
        return z.view(*z.shape[:2], self.terms, z.shape[2] // self.terms)
