"""The hop operator Z → Σ_h ω_h T_h Z of Eq. 7, explicit or factored, with its gradients.

Every T_h is symmetric, so one set of matrices serves both directions: with G the gradient of the output,
that of Z is Σ_h ω_h T_h G, and that of ω_h is ⟨T_h G, Z⟩.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.gpu import fused_sums
from kernode.compute.ranks import Exchange
from kernode.compute.sharing import shared
from kernode.compute.sparse import product, row_blocks, to_torch
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.graph.share import GraphShare
from kernode.hops.corrections import near_rows, stacked_terms
from kernode.hops.cost import hop_cost
from kernode.hops.matrices import Powers, hop_matrices, neighbour_step, normalized_adjacency

Kind = Literal["auto", "explicit", "factored"]


class HopOperator:
    """The linear map Z → Σ_h ω_h T_h Z: h = 0 … H."""

    @staticmethod
    def of(
        graph: Graph, hops: int, powers: Powers, options: TensorOptions, kind: Kind = "auto"
    ) -> HopOperator:
        """Build the operator of a graph; ``"auto"`` takes the cheaper kind."""

        def build() -> HopOperator:
            if isinstance(graph, GraphShare):  # the explicit operator has ever more columns: more to send
                return FactoredHops.build(graph, hops, powers, options)
            cost = hop_cost(graph, hops, powers)
            chosen = cost.kind if kind == "auto" else kind
            cost.require_memory(chosen)
            built = FactoredHops if chosen == "factored" else ExplicitHops
            return built.build(graph, hops, powers, options)

        return shared(graph, ("hops", hops, powers, options, kind), build)

    @abstractmethod
    def by_hop(self, x: Tensor) -> list[Tensor]:
        """T_h x for h = 0 … H: n × w each."""

    @abstractmethod
    def joined(self, parts: list[Tensor]) -> Tensor:
        """Σ_h T_h x_h of a part for each hop (n × w each): n × w."""

    def __call__(self, z: Tensor, hop_weights: Tensor) -> Tensor:
        """Aggregate once: z is n × r × d, hop_weights r × (H+1) (ω_h, Eq. 7); gives n × r × d."""
        return _HopSum.apply(self, z, hop_weights)

    def join(self, parts: list[Tensor]) -> Tensor:
        """Aggregate another input for each hop: n × r × d each; gives n × r × d."""
        out: Tensor = _HopJoin.apply(self, *parts)
        return out


@dataclass(frozen=True)
class ExplicitHops(HopOperator):
    """All terms on top of each other in one matrix: one product serves all hops."""

    terms: Tensor  # CSR; ``each`` and ``plain`` leave T_0 = I out
    identity_first: bool

    @classmethod
    def build(cls, graph: Graph, hops: int, powers: Powers, options: TensorOptions) -> ExplicitHops:
        """Hold the matrices of the definition."""
        matrices = hop_matrices(graph, hops, powers)
        identity_first = powers in ("each", "plain")
        stacked = sparse.vstack(matrices[identity_first:], format="csr")
        return cls(to_torch(stacked, options), identity_first)

    def by_hop(self, x: Tensor) -> list[Tensor]:
        """T_h x for h = 0 … H: n × w each."""
        products = product(self.terms, x).split(len(x))
        return [x, *products] if self.identity_first else list(products)

    @cached_property
    def blocks(self) -> list[Tensor]:
        """Every term that is held, in the same memory."""
        return row_blocks(self.terms, self.terms.shape[1])

    def joined(self, parts: list[Tensor]) -> Tensor:
        """One product for each term."""
        terms = zip(self.blocks, parts[self.identity_first :], strict=True)
        products = [product(term, part) for term, part in terms]
        return sum(products, parts[0]) if self.identity_first else sum(products[1:], products[0])


@dataclass(frozen=True)
class FactoredHops(HopOperator):
    """H products with N or Ā, minus corrections on the pattern of fewer hops.

    - ``each``:  T_h x = N^h x − C_h x, with N = Ā without diagonal and C_h = N^h ⊙ pattern(distance < h).
    - ``last``:  T_h x = (Ā^H ⊙ M^(h)) x for h < H, and T_H x = Ā^H x.
    - ``released``: T_0 x = diag(Ā^H) x, T_H x = Ā^H x, and 0 between them.
    - ``plain``: T_h x = Ā^h x.
    """

    near: Tensor  # CSR, on top of each other: N or Ā, then the terms of corrections.py
    hops: int
    powers: Powers
    exchange: Exchange | None = None  # for a share: brings it the rows of others

    @classmethod
    def build(cls, graph: Graph, hops: int, powers: Powers, options: TensorOptions) -> FactoredHops:
        """Compute the corrections."""
        if isinstance(graph, GraphShare):
            rows = near_rows(graph, hops, powers)
            exchange = Exchange(graph.ranks, graph.bounds, rows.indices, options.device)
            columns = exchange.at(rows.indices)
            shape = rows.shape[0], exchange.given
            rows = sparse.csr_array((rows.data, columns, rows.indptr), shape=shape)
            return cls(to_torch(rows, options), hops, powers, exchange)
        step = neighbour_step(graph) if powers == "each" else normalized_adjacency(graph)
        local = stacked_terms(graph, step, hops, powers)
        near = step if local is None else sparse.vstack([step, local], format="csr")
        return cls(to_torch(near, options), hops, powers)

    @property
    def rows(self) -> int:
        """Nodes whose rows are here."""
        return self.near.shape[1] if self.exchange is None else self.exchange.rows

    @cached_property
    def blocks(self) -> list[Tensor]:
        """N or Ā, then C_2 … C_H, Ā^H ⊙ M^(0) … Ā^H ⊙ M^(H-1), or diag(Ā^H), in the same memory."""
        return row_blocks(self.near, self.rows)

    def _product(self, matrix: Tensor, x: Tensor, minus: Tensor | None = None) -> Tensor:
        """Multiply with x of all nodes, wherever their rows are."""
        return product(matrix, x if self.exchange is None else self.exchange(x), minus)

    def by_hop(self, x: Tensor) -> list[Tensor]:
        """T_h x for h = 0 … H: n × w each."""
        step = self.blocks[0]
        first, *local = self._product(self.near, x).split(len(x))
        powers = [x, first]
        for _ in range(self.hops - len(powers)):
            powers.append(self._product(step, powers[-1]))
        if self.powers == "each" and local:
            for power, correction in zip(powers[2:], local, strict=False):
                correction.neg_().add_(power)
            self._product(step, powers[-1], minus=local[-1])
            return [*powers[:2], *local]
        if self.hops > 1:
            powers.append(self._product(step, powers[-1]))
        if self.powers == "released":
            local += [torch.zeros_like(x) for _ in range(self.hops - 1)]
        return [*local, powers[-1]] if local else powers

    def joined(self, parts: list[Tensor]) -> Tensor:
        """Horner's rule: x_0 + N (x_1 + N (x_2 + …)), and the corrections."""
        (step, *local), total = self.blocks, parts[-1]
        for part in reversed(parts[:-1]):
            total = self._product(step, total)
            if self.powers in ("each", "plain"):
                total += part
        if self.powers == "each":
            for correction, part in zip(local, parts[2:], strict=True):
                total -= self._product(correction, part)
        else:
            for shell, part in zip(local, parts, strict=False):  # "released" has only the first
                total += self._product(shell, part)
        return total


class _HopSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, operator: HopOperator, z: Tensor, hop_weights: Tensor) -> Tensor:
        n, r, d = z.shape
        ctx.operator = operator
        ctx.save_for_backward(z, hop_weights)
        by_hop = operator.by_hop(z.reshape(n, r * d))
        return weighted([part.view(n, r, d) for part in by_hop], hop_weights)[0]

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor, Tensor | None]:
        z, hop_weights = ctx.saved_tensors
        n, r, d = z.shape
        by_hop = [part.view(n, r, d) for part in ctx.operator.by_hop(upstream[0].reshape(n, r * d))]
        return None, *weighted(by_hop, hop_weights, z if ctx.needs_input_grad[2] else None)


class _HopJoin(torch.autograd.Function):
    """Σ_h T_h x_h. Every T_h is symmetric, so that the gradient of x_h is T_h G."""

    @staticmethod
    def forward(ctx: Any, operator: HopOperator, *parts: Tensor) -> Tensor:
        ctx.operator, shape = operator, parts[0].shape
        return operator.joined([part.flatten(1).contiguous() for part in parts]).view(shape)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor | None, ...]:
        shape = upstream[0].shape
        by_hop = ctx.operator.by_hop(upstream[0].flatten(1))
        return None, *(part.view(shape) for part in by_hop)


def weighted(
    by_hop: list[Tensor], hop_weights: Tensor, z: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Σ_h ω_h · part_h (n × r × d), and ⟨part_h, z⟩ of every replica (r × (H+1)) where z is given."""
    gpu = fused_sums(hop_weights)
    if gpu and len(by_hop) <= gpu.MOST_PARTS:
        return gpu.weighted_sum(by_hop, hop_weights, z)
    dots = None if z is None else torch.stack([_dots(part, z) for part in by_hop], dim=1)
    weights = hop_weights.T.unsqueeze(-1).unbind()
    total = by_hop[0] * weights[0]
    for part, weight in zip(by_hop[1:], weights[1:], strict=True):
        total.addcmul_(part, weight)
    return total, dots


def _dots(x: Tensor, y: Tensor) -> Tensor:
    """⟨x, y⟩ of every replica: (n × r × d), (n × r × d) → r."""
    n, r, d = x.shape
    if r == 1:
        return (x.reshape(-1) @ y.reshape(-1))[None]
    return (x.new_ones(n) @ (x * y).view(n, r * d)).view(r, d).sum(dim=1)  # faster than sum(dim=(0, 2))
