"""What the factored operator holds beside Ā: terms on the pattern of fewer than H hops, computed once."""

from __future__ import annotations

import torch
from scipy import sparse

from kernode.graph import Graph
from kernode.hops.cache import kept
from kernode.hops.masked_product import masked_product
from kernode.hops.matrices import Powers, hop_shells


def local_terms(
    graph: Graph, step: sparse.csr_array, hops: int, powers: Powers, device: torch.device
) -> sparse.csr_array | None:
    """On top of each other, or None where there are none.

    - ``each``: C_h = step^h ⊙ pattern(distance < h) for h = 2 … H, on which N^h goes beyond Ā^h ⊙ M^(h).
    - ``last``: step^H ⊙ M^(h) for h < H.
    - ``released``: diag(step^H).
    """
    if powers == "plain" or (powers == "each" and hops == 1):
        return None
    if powers == "each":
        return kept(graph, f"each-{hops}", lambda: _corrections(graph, step, hops, device))
    if powers == "last":
        return kept(graph, f"last-{hops}", lambda: _inner_shells(graph, step, hops, device))
    return kept(graph, f"released-{hops}", lambda: _on_pattern(_identity(graph), step, hops, device))


def _corrections(graph: Graph, step: sparse.csr_array, hops: int, device: torch.device) -> sparse.csr_array:
    nearer, power = _identity(graph), step
    terms = []
    for h in range(2, hops + 1):
        nearer = _one_step_wider(nearer, graph)  # distance < h
        terms.append(masked_product(power, step, nearer, device, f"hop {h} of {hops}"))
        if h < hops:
            power = (power @ step).tocsr()
    return sparse.vstack(terms, format="csr")


def _inner_shells(graph: Graph, step: sparse.csr_array, hops: int, device: torch.device) -> sparse.csr_array:
    nearer = _identity(graph)
    for _ in range(hops - 1):
        nearer = _one_step_wider(nearer, graph)
    whole = _on_pattern(nearer, step, hops, device)
    return sparse.vstack([whole * shell for shell in hop_shells(graph, hops - 1)], format="csr")


def _on_pattern(
    pattern: sparse.csr_array, step: sparse.csr_array, hops: int, device: torch.device
) -> sparse.csr_array:
    """step^H where the pattern has entries; for a single hop that is the diagonal."""
    if hops == 1:  # Ā ⊙ I
        return sparse.diags_array(step.diagonal(), format="csr")
    power = step
    for _ in range(hops - 2):
        power = (power @ step).tocsr()
    return masked_product(power, step, pattern, device, f"{hops} hops")


def _identity(graph: Graph) -> sparse.csr_array:
    return sparse.eye_array(graph.n_nodes, format="csr", dtype=bool)


def _one_step_wider(within: sparse.csr_array, graph: Graph) -> sparse.csr_array:
    step = (graph.adjacency + sparse.eye_array(graph.n_nodes, format="csr")).astype(bool)
    return step if within.nnz == graph.n_nodes else (within @ step).tocsr()
