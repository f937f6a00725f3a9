"""Ā, the exact-hop shells, and the hop operator Σ_h ω_h (Ā^h ⊙ M^(h)) of Eq. 7."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.sparse import Place, SparseMatrix, product

Powers = Literal["each", "last"]


def normalized_adjacency(graph: Graph) -> sparse.csr_array:
    """Ā = D̃^-½ (A + I) D̃^-½, in float64."""
    with_loops = graph.adjacency.astype(np.float64) + sparse.eye_array(graph.n_nodes, format="csr")
    scale = sparse.diags_array(with_loops.sum(axis=1) ** -0.5)
    return (scale @ with_loops @ scale).tocsr()


def hop_shells(graph: Graph, hops: int) -> list[sparse.csr_array]:
    """M^(h) for h = 0 … H: ones where the shortest path between two nodes has exactly h edges."""
    # Booleans: their sparse product is a logical or. Small integers would count paths, and wrap.
    step = (graph.adjacency + sparse.eye_array(graph.n_nodes, format="csr")).astype(bool)
    within = sparse.eye_array(graph.n_nodes, format="csr", dtype=bool)
    shells = [within]
    for _ in range(hops):
        wider = (within @ step).tocsr()
        shells.append((wider > within).tocsr())
        within = wider
    return shells


def hop_matrices(graph: Graph, hops: int, powers: Powers = "each") -> list[sparse.csr_array]:
    """The H + 1 matrices that ω weighs, in either reading of Eq. 7.

    - ``"each"``, the paper: Ā^h ⊙ M^(h).
    - ``"last"``, the authors' released code: Ā^H ⊙ M^(h) for h < H, and the whole Ā^H for h = H.
    """
    if hops < 1:
        raise InputError(f"hops must be an integer ≥ 1. Got {hops}.")
    if powers not in ("each", "last"):
        raise InputError(f"powers must be 'each' or 'last'. Got {powers!r}.")
    step = normalized_adjacency(graph)
    power = [sparse.eye_array(graph.n_nodes, format="csr")]
    for _ in range(hops):
        power.append((power[-1] @ step).tocsr())
    shells = hop_shells(graph, hops)
    if powers == "each":
        terms = [power[h] * shells[h] for h in range(hops + 1)]
    else:
        terms = [power[hops] * shells[h] for h in range(hops)] + [power[hops]]
    return [_canonical(term) for term in terms]


@dataclass(frozen=True)
class HopOperator:
    """The linear map Z → Σ_h ω_h T_h Z, with its gradients in Z and in ω.

    The H + 1 terms T_h stand on top of each other in one matrix, so that one product serves all hops.
    """

    terms: SparseMatrix  # (H+1)·n × n
    n_terms: int

    @classmethod
    def of(cls, graph: Graph, hops: int, powers: Powers, place: Place) -> HopOperator:
        """Build the operator of a graph."""
        matrices = hop_matrices(graph, hops, powers)
        return cls(SparseMatrix.of(sparse.vstack(matrices, format="csr"), place), len(matrices))

    def __call__(self, z: Tensor, hop_weights: Tensor) -> Tensor:
        """Aggregate once: z is n × r × d, hop_weights r × (H+1) (ω_h, Eq. 7); gives n × r × d."""
        return _HopSum.apply(self, z, hop_weights)


class _HopSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, operator: HopOperator, z: Tensor, hop_weights: Tensor) -> Tensor:
        n, r, d = z.shape
        by_hop = product(operator.terms.matrix, z.reshape(n, r * d)).view(-1, n, r, d)
        ctx.operator = operator
        ctx.save_for_backward(by_hop, hop_weights)
        return _weighted(by_hop, hop_weights)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor | None, Tensor | None]:
        by_hop, hop_weights = ctx.saved_tensors
        gradient = upstream[0].contiguous()
        h, n, r, d = by_hop.shape
        grad_z = grad_weights = None
        if ctx.needs_input_grad[1]:
            weighted = torch.stack([gradient * hop_weights[:, k, None] for k in range(h)])
            grad_z = product(ctx.operator.terms.transpose, weighted.view(h * n, r * d)).view(n, r, d)
        if ctx.needs_input_grad[2]:
            grad_weights = (by_hop * gradient).sum(dim=(1, 3)).T
        return None, grad_z, grad_weights


def _weighted(by_hop: Tensor, hop_weights: Tensor) -> Tensor:
    total = by_hop[0] * hop_weights[:, 0, None]
    for h in range(1, len(by_hop)):
        total.addcmul_(by_hop[h], hop_weights[:, h, None])
    return total


def _canonical(matrix: sparse.csr_array) -> sparse.csr_array:
    matrix = sparse.csr_array(matrix)
    matrix.sum_duplicates()
    matrix.sort_indices()
    return matrix
