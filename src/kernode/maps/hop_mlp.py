"""g_θ, the paper's feature map (Eq. 7)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.neighbourhoods import degrees
from kernode.hops import HopOperator, Powers, check_hops, cost_of, hop_rows
from kernode.io.sizes import GraphSizes
from kernode.maps.base import LARGEST_PART, Parameters, StagedMap
from kernode.maps.layers.columns import column_statistics, initial_columns
from kernode.maps.layers.features import node_features, placed_features
from kernode.maps.layers.linear import initial_weights
from kernode.maps.layers.mlp import finish_mlp, first_layer, initial_mlp, pull_back_mlp
from kernode.maps.layers.sizes import hops_trained
from kernode.maps.layers.widths import HOPS, ROWS, WIDTHS, check_widths, width_of
from kernode.maps.neighbour_sum import NeighbourSum, Shares
from kernode.recipe import LATER

Term = Literal["identity", "loop", "both"]


@dataclass(frozen=True)
class HopInputs:
    """What Eq. 7 takes from the graph: X, the exact-hop operator, and what its settings ask for beside."""

    features: Tensor | SparseMatrix  # n × f
    operator: HopOperator
    loops: Tensor | None = None  # n: Ā's diagonal
    statistics: np.ndarray | None = None  # 2 × f: of X's columns


@dataclass(frozen=True)
class HopMLP(StagedMap, NeighbourSum):
    """``g(V) = (Σ_h ω_h (Ā^h ⊙ M^(h))) MLP(X)``: an MLP on every node, then one aggregation.

    - ``hidden``: widths of the MLP's hidden layers; ``(16,)`` is two layers, ``()`` is one.
    - ``outputs``: width of g; None for one per class, which the softmax classifier needs.
    - ``hops``: H; neighbours at exactly 0, 1, … H hops are summed.
    - ``powers``: ``"each"`` as in the paper, ``"last"`` as the text of its authors' program intends,
      ``"released"`` as that program computes, ``"plain"`` for Ā^h without masks
      (:func:`kernode.hops.hop_matrices`).
    - ``hop_weights``: ``"learned"``, a number c for the fixed weights c^h, or ``"pagerank"`` for those of
      personalised PageRank, a(1 − a)^h and (1 − a)^H for the last.
    - ``normalize_rows``: scale each row of X to sum 1.

    Beyond the paper, and all of it still linear in what the MLP gives for each neighbour:

    - ``teleport``: a. With learned weights, they begin as personalised PageRank's: with plain powers and ten
      hops GPRGNN (Chien et al. 2021), and with ``hop_weights="pagerank"`` APPNP.
    - ``self_term``: what stands for a node itself: T_0, in the paper the ``"identity"``, Ā's diagonal (1 over
      the degree and one: GCN's self-loop, ``"loop"``), or ``"both"``, each with a weight.
    - ``per_hop``: an output layer for each hop, ``Σ_h ω_h (Ā^h ⊙ M^(h)) MLP_h(X)``.
    - ``biases``, ``norm`` (LayerNorm), ``residual``: in the MLP's hidden layers.
    - ``standardize``: every column of X to mean 0 and deviation 1, after its rows were scaled or not.

    >>> from kernode.maps import HopMLP
    >>> HopMLP(hidden=(512,), outputs=128, hops=3).layers
    2
    """

    takes_shares: ClassVar[bool] = True

    hidden: tuple[int, ...] = (16,)
    outputs: int | None = None
    hops: int = 2
    powers: Powers = "each"
    hop_weights: Literal["learned", "pagerank"] | float = "learned"
    normalize_rows: bool = True  # not stated in the paper; its released code does it
    teleport: float | None = field(default=None, metadata=LATER)
    self_term: Term = field(default="identity", metadata=LATER)
    per_hop: bool = field(default=False, metadata=LATER)
    biases: bool = field(default=False, metadata=LATER)
    norm: bool = field(default=False, metadata=LATER)
    residual: bool = field(default=False, metadata=LATER)
    standardize: bool = field(default=False, metadata=LATER)

    def __post_init__(self) -> None:
        check_hops(self.hops, self.powers)
        check_widths(self.hidden, self.outputs)
        c, a = self.hop_weights, self.teleport
        if c not in ("learned", "pagerank") and not (isinstance(c, Real) and math.isfinite(c)):
            raise InputError(f"hop_weights must be 'learned', 'pagerank' or a finite number c. Got {c!r}.")
        if a is not None and not (isinstance(a, Real) and 0 < a <= 1):
            raise InputError(f"teleport must be in (0, 1], or None. Got {a!r}.")
        if c == "pagerank" and a is None:
            raise InputError(
                "hop_weights='pagerank' needs a teleport: HopMLP(…, hop_weights='pagerank', teleport=0.1)."
            )
        if a is not None and c not in ("learned", "pagerank"):
            raise InputError(f"teleport has no effect on the fixed hop_weights {c!r}: leave it out.")
        if self.self_term not in get_args(Term):
            raise InputError(f"self_term must be 'identity', 'loop' or 'both'. Got {self.self_term!r}.")

    @property
    def search_space(self) -> dict[str, tuple[Any, ...]]:  # type: ignore[override]
        """Widths, hops and rows, and weights that stay where they begin."""
        fixed = 1.0 if self.teleport is None else "pagerank"
        return {**WIDTHS, **HOPS, "hop_weights": ("learned", fixed), **ROWS}

    @property
    def layers(self) -> int:
        """Number of layers of the MLP."""
        return len(self.hidden) + 1

    @property
    def terms(self) -> int:
        """What ω weighs: hops 0 … H, and after them Ā's diagonal where it stands beside the identity."""
        return self.hops + 1 + (self.self_term == "both")

    @property
    def reach(self) -> int:
        """H."""
        return self.hops

    def least_bytes(self, sizes: GraphSizes, place: Place) -> float:
        """X and, one after the other, building the hop operator and training with it."""
        cost, widths = (
            cost_of(sizes, self.hops, self.powers),
            (sizes.features, *self.hidden, self._last_width),
        )
        return hops_trained(cost, widths, sizes, place, normalize_rows=self.normalize_rows)

    def operator_reason(self, sizes: GraphSizes) -> str:
        """Explicit or factored, whichever is cheaper."""
        return cost_of(sizes, self.hops, self.powers).reason()

    def prepare(self, graph: Graph, place: Place) -> HopInputs:
        """X and the hop operator of a graph."""
        features = node_features(graph, place, normalize_rows=self.normalize_rows)
        loops = self._loops(np.asarray(graph.adjacency.sum(axis=1)), place)
        operator = HopOperator.of(graph, self.hops, self.powers, place)
        return HopInputs(features, operator, loops, column_statistics(graph, self))

    def initial(self, prepared: HopInputs, draws: Draws, place: Place) -> Parameters:
        """Xavier weights, and ω_h = 1 (not stated in the paper; its released code's start)."""
        widths = (prepared.features.shape[1], *self.hidden, width_of(self))
        parameters = initial_mlp(widths, draws, place, biases=self.biases, norm=self.norm)
        if self.per_hop:
            last = f"weight_{self.layers - 1}"
            parameters[last] = initial_weights(
                widths[-2], widths[-1], self.terms, self.layers - 1, draws, place
            )
        if self.hop_weights == "learned":
            start = self.first_weights(place).expand(len(draws.seeds), -1).contiguous()
            parameters["hop_weights"] = start
        return parameters | initial_columns(prepared.statistics, len(draws.seeds), place)

    def beginning(
        self, parameters: Parameters, prepared: HopInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The product with X."""
        return first_layer(parameters, prepared.features, dropout)

    def finish(
        self, parameters: Parameters, prepared: HopInputs, beginning: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """Eq. 7: r × n × d."""
        z = finish_mlp(parameters, beginning, dropout, residual=self.residual)  # n × r × d
        weights = self.term_weights(parameters, z.shape[1], Place(z.dtype, z.device))
        if self._plain:
            return prepared.operator(z, weights).transpose(0, 1)
        by_hop, own = self._parts(z, weights, prepared.loops)
        g = prepared.operator.join(by_hop)
        return (g if own is None else g + own).transpose(0, 1)

    def rows(self, parameters: Parameters, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor:
        """Rows of Eq. 7 (r × m × d), from the MLP of the nodes within H hops alone."""
        # Exact hops take time in proportion to the rows that they are built for; beyond half of them, all
        # are built, since those of a whole graph are kept on disk and serve again.
        if len(nodes) > LARGEST_PART * graph.n_nodes:
            return super().rows(parameters, graph, nodes, place)
        near = hop_rows(graph, self.hops, self.powers, nodes)
        x = placed_features(graph.features[near.columns], place, normalize_rows=self.normalize_rows)
        z = finish_mlp(parameters, first_layer(parameters, x), None, residual=self.residual)  # k × r × d
        weights = self.term_weights(parameters, z.shape[1], place)
        if self._plain:
            return near(z, weights, place).transpose(0, 1)
        parts, own = self._parts(z, weights, self._loops(degrees(graph, near.columns), place))
        together = torch.stack(parts, dim=1)  # T_h of all parts, of which each needs its own
        by_hop = near.by_hop(together.flatten(1), place)
        chosen = [part.view(len(part), *together.shape[1:])[:, h] for h, part in enumerate(by_hop)]
        if own is not None:
            chosen.append(own[torch.from_numpy(near.at).to(place.device)])
        return sum(chosen[1:], chosen[0]).transpose(0, 1)

    def shares(self, graph: Graph, node: int) -> Shares:
        """T_h at one row, and Ā's diagonal where that stands in for it or beside it."""
        near = hop_rows(graph, self.hops, self.powers, np.array([node]))
        values = np.stack([term.toarray()[0] for term in near.terms()])
        hops = range(self.hops + 1)
        if self.self_term == "identity":
            return Shares(near.columns, (*hops,), values)
        loop = np.zeros((1, len(near.columns)))
        loop[0, near.at] = 1 / (degrees(graph, np.array([node])) + 1)
        if self.self_term == "loop":
            return Shares(near.columns, (*hops,), np.concatenate([loop, values[1:]]))
        return Shares(near.columns, (*hops, 0), np.concatenate([values, loop]))

    def term_weights(self, parameters: Parameters, replicas: int, place: Place) -> Tensor:
        """ω_h: r × terms."""
        if self.hop_weights == "learned":
            return parameters["hop_weights"]
        return self.first_weights(place).expand(replicas, -1)

    def features_of(self, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor | SparseMatrix:
        """Rows of X."""
        return placed_features(graph.features[nodes], place, normalize_rows=self.normalize_rows)

    def first_product(self, parameters: Parameters, x: Tensor | SparseMatrix) -> Tensor:
        """The product with X."""
        return first_layer(parameters, x)

    def node_outputs(self, parameters: Parameters, first: Tensor) -> Tensor:
        """What the MLP gives for each node, for each hop where it differs."""
        z = finish_mlp(parameters, first, None, residual=self.residual, hold=True)
        return z.view(*z.shape[:2], self.terms if self.per_hop else 1, -1)

    def pull_back(self, parameters: Parameters, first: Tensor, towards: Tensor) -> tuple[Tensor, Tensor]:
        """By the chain rule where hidden layers are weights and relu; else as for any map."""
        if self.biases or self.norm or self.residual:
            return super().pull_back(parameters, first, towards)
        return pull_back_mlp(parameters, first, towards.flatten(2)), first.new_zeros(first.shape[1])

    @property
    def _plain(self) -> bool:
        """Whether all terms weigh the same z: Eq. 7 as the paper has it."""
        return not self.per_hop and self.self_term == "identity"

    def _loops(self, degrees: np.ndarray, place: Place) -> Tensor | None:
        """Ā's diagonal, where it is used: one over the degree and the self-loop."""
        if self.self_term == "identity":
            return None
        return torch.from_numpy(1 / (degrees.astype(np.float64) + 1)).to(place.dtype).to(place.device)

    def _parts(self, z: Tensor, weights: Tensor, loops: Tensor | None) -> tuple[list[Tensor], Tensor | None]:
        """What T_0 … T_H are applied to, each weighted, and what a node adds itself: n × r × d each."""
        if self.per_hop:
            n, r, width = z.shape
            parts = list((z.view(n, r, self.terms, width // self.terms) * weights[..., None]).unbind(dim=2))
        else:
            parts = [z * weight[:, None] for weight in weights.T]
        if loops is None:
            return parts, None
        loop = loops[:, None, None]
        if self.self_term == "both":
            return parts[:-1], loop * parts[-1]
        return [torch.zeros_like(parts[0]), *parts[1:]], loop * parts[0]

    @property
    def _last_width(self) -> int:
        return width_of(self) * (self.terms if self.per_hop else 1)

    def first_weights(self, place: Place) -> Tensor:
        """Where ω begins, or stays: as many as there are terms."""
        hops = torch.arange(self.hops + 1, dtype=place.dtype, device=place.device)
        if self.teleport is not None:
            weights = (1 - self.teleport) ** hops
            weights[:-1] *= self.teleport
        else:
            weights = (1.0 if self.hop_weights == "learned" else float(self.hop_weights)) ** hops
        # Beside the identity Ā's diagonal begins with the same weight; PageRank has it inside its powers.
        loop = weights[:1] if self.teleport is None else torch.zeros_like(weights[:1])
        return torch.cat([weights, loop]) if self.self_term == "both" else weights
