"""Ā, the exact-hop shells M^(h), and the matrices of Eq. 7, each held whole: the definition."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy import sparse

from kernode.compute.replicas import whole
from kernode.config import require_setting
from kernode.graph import Graph

Powers = Literal["each", "last", "released", "plain"]
MOST_HOPS = 1000  # a neighbourhood is the whole graph long before


def normalized_adjacency(graph: Graph) -> sparse.csr_array:
    """Ā = D̃^-½ (A + I) D̃^-½, in float64."""
    with_loops = graph.adjacency.astype(np.float64) + sparse.eye_array(graph.n_nodes, format="csr")
    return scaled(with_loops.tocsr(), with_loops.sum(axis=1) ** -0.5)


def neighbour_step(graph: Graph) -> sparse.csr_array:
    """N: Ā without its diagonal, in float64.

    A walk of h steps to a node at distance h never pauses, so Ā^h ⊙ M^(h) = N^h ⊙ M^(h).
    """
    adjacency = graph.adjacency.astype(np.float64)
    return scaled(adjacency, (adjacency.sum(axis=1) + 1) ** -0.5)


def scaled(matrix: sparse.csr_array, scale: np.ndarray, rows: slice = slice(None)) -> sparse.csr_array:
    """diag(scale) · matrix · diag(scale), in place, or some rows of it."""
    matrix.data *= np.repeat(scale[rows], np.diff(matrix.indptr))
    matrix.data *= scale[matrix.indices]
    return matrix


def hop_shells(graph: Graph, hops: int) -> list[sparse.csr_array]:
    """M^(h) for h = 0 … H: ones where the shortest path between two nodes has exactly h edges."""
    own = sparse.eye_array(graph.n_nodes, format="csr")
    return _shells(own, (graph.adjacency + own).tocsr(), hops)


def _shells(own: sparse.csr_array, step: sparse.csr_array, hops: int) -> list[sparse.csr_array]:
    # Booleans: their sparse product is a logical or. Small integers would count paths, and wrap.
    pattern = sparse.csr_array((np.ones(step.nnz, bool), step.indices, step.indptr), shape=step.shape)
    within = own.astype(bool)
    shells = [within]
    for _ in range(hops):
        wider = (within @ pattern).tocsr()
        shells.append((wider > within).tocsr())  # reached, and not before
        within = wider
    return shells


def check_hops(hops: int, powers: str) -> None:
    """Raise unless hops and powers are a reading of Eq. 7."""
    whole("hops", hops, 1, MOST_HOPS)
    known = powers in get_args(Powers)
    require_setting(known, "powers", "'each', 'last', 'released' or 'plain'", powers)


def hop_matrices(graph: Graph, hops: int, powers: Powers = "each") -> list[sparse.csr_array]:
    """The H + 1 matrices that ω weighs, in one of the readings of Eq. 7.

    - ``"each"``, the paper: Ā^h ⊙ M^(h).
    - ``"last"``, what the text of the authors' program intends: Ā^H ⊙ M^(h) for h < H, and the whole Ā^H.
    - ``"released"``, what that program computes: it writes Ā^H ⊙ M^(h), 0 < h < H, into an array of integers,
      where every entry, being below 1, becomes 0. Left are diag(Ā^H) and the whole Ā^H.
    - ``"plain"``, no masks: Ā^h. Nodes nearer than h hops count again, but nothing beyond Ā is ever held.
    """
    check_hops(hops, powers)
    own = sparse.eye_array(graph.n_nodes, format="csr")
    return terms_at(own, normalized_adjacency(graph), hops, powers)


def terms_at(
    own: sparse.csr_array, step: sparse.csr_array, hops: int, powers: Powers
) -> list[sparse.csr_array]:
    """Return some rows of these matrices, from the same rows of I and the whole of Ā."""
    power = [own]
    for _ in range(hops):
        power.append((power[-1] @ step).tocsr())
    if powers == "plain":
        terms = power
    elif powers == "released":
        terms = [power[hops] * own, *(sparse.csr_array(own.shape) for _ in range(hops - 1)), power[hops]]
    elif powers == "each":
        terms = [power[h] * shell for h, shell in enumerate(_shells(own, step, hops))]
    else:
        terms = [power[hops] * shell for shell in _shells(own, step, hops)[:hops]] + [power[hops]]
    terms = [sparse.csr_array(term) for term in terms]
    for term in terms:
        term.sum_duplicates()  # which sorts as well
    return terms
