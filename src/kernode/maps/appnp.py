"""Predict, then propagate (Gasteiger et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.replicas import whole
from kernode.compute.sparse import SparseMatrix
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.hops import MOST_HOPS, hop_rows
from kernode.io.sizes import GraphSizes
from kernode.maps.base import Parameters, StagedMap
from kernode.maps.layers.features import placed_features
from kernode.maps.layers.mlp import finish_mlp, first_layer, initial_mlp, pull_back_mlp
from kernode.maps.layers.propagation import GraphInputs, adjacency_reason, graph_inputs, propagate
from kernode.maps.layers.sizes import adjacency_held, features_held, trained
from kernode.maps.layers.widths import ROWS, WIDTHS, check_widths, width_of
from kernode.maps.neighbour_sum import NeighbourSum, Shares


@dataclass(frozen=True)
class APPNP(StagedMap, NeighbourSum):
    """``Z ← (1 − a) Ā Z + a MLP(X)``, ``steps`` times from Z = MLP(X): personalised PageRank.

    - ``teleport``: a, how much of a node's own prediction comes back at every step.
    """

    hidden: tuple[int, ...] = (64,)
    outputs: int | None = None
    steps: int = 10
    teleport: float = 0.1
    normalize_rows: bool = True

    search_space: ClassVar = {**WIDTHS, "steps": (5, 10), "teleport": (0.05, 0.1, 0.2), **ROWS}

    def __post_init__(self) -> None:
        check_widths(self.hidden, self.outputs)
        whole("steps", self.steps, 1, MOST_HOPS)
        if not 0 < self.teleport <= 1:
            raise InputError(f"teleport must be in (0, 1]. Got {self.teleport}.")

    @property
    def reach(self) -> int:
        """One edge for each step."""
        return self.steps

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """X, Ā and the MLP."""
        held = features_held(sizes, place, normalize_rows=self.normalize_rows) + adjacency_held(sizes, place)
        return held + trained((sizes.features, *self.hidden, width_of(self)), sizes, place)

    def operator_reason(self, sizes: GraphSizes) -> str:
        """Ā, as it is."""
        return adjacency_reason(sizes)

    def prepare(self, graph: Graph, place: Place) -> GraphInputs:
        """X and Ā."""
        return graph_inputs(graph, place, normalize_rows=self.normalize_rows)

    def initial(self, prepared: GraphInputs, draws: Draws, place: Place) -> Parameters:
        """Xavier weights, no biases."""
        return initial_mlp((prepared.features.shape[1], *self.hidden, width_of(self)), draws, place)

    def beginning(
        self, parameters: Parameters, prepared: GraphInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The product with X."""
        return first_layer(parameters, prepared.features, dropout)

    def finish(
        self, parameters: Parameters, prepared: GraphInputs, beginning: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """Z after the last step: r × n × d."""
        own = finish_mlp(parameters, beginning, dropout)
        z = own
        for _ in range(self.steps):
            z = (1 - self.teleport) * propagate(prepared.step, z) + self.teleport * own
        return z.transpose(0, 1)

    def shares(self, graph: Graph, node: int) -> Shares:
        """Ā^h at one row, h = 0 … steps."""
        near = hop_rows(graph, self.steps, "plain", np.array([node]))
        values = np.stack([term.toarray()[0] for term in near.terms()])
        return Shares(near.columns, (*range(self.steps + 1),), values)

    def term_weights(self, parameters: Parameters, replicas: int, place: Place) -> Tensor:
        """a(1 − a)^h, and (1 − a)^steps for the last."""
        hops = torch.arange(self.steps + 1, dtype=place.dtype, device=place.device)
        weights = (1 - self.teleport) ** hops
        weights[:-1] *= self.teleport
        return weights.expand(replicas, -1)

    def features_of(self, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor | SparseMatrix:
        """Rows of X."""
        return placed_features(graph.features[nodes], place, normalize_rows=self.normalize_rows)

    def first_product(self, parameters: Parameters, x: Tensor | SparseMatrix) -> Tensor:
        """The product with X."""
        return first_layer(parameters, x)

    def node_outputs(self, parameters: Parameters, first: Tensor) -> Tensor:
        """What the MLP gives for each node."""
        return finish_mlp(parameters, first, None)[:, :, None]

    def pull_back(self, parameters: Parameters, first: Tensor, towards: Tensor) -> tuple[Tensor, Tensor]:
        """By the chain rule."""
        return pull_back_mlp(parameters, first, towards[:, :, 0]), first.new_zeros(first.shape[1])
