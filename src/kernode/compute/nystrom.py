"""Nyström's vectors: K(V, Z) L⁻ᵀ with L Lᵀ = K(Z, Z) of landmarks Z."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from kernode.compute.chunks import chunks

JITTER = 1e-6
_ROWS = 4096


def landmark_factor(among: Tensor, jitter: float = JITTER) -> Tensor:
    """L of K(Z, Z), in float64 whatever K is in: rounded to float32 it may not be p.s.d."""
    among = among.double()
    eye = torch.eye(len(among), dtype=among.dtype, device=among.device)
    return torch.linalg.cholesky((among + among.T) / 2 + jitter * eye)


def nystrom(factor: Tensor, columns: Callable[[slice], Tensor], n: int) -> Tensor:
    """Vectors of n nodes, from K between some of them and the landmarks, in its precision: n × m.

    >>> k = torch.tensor([[1.0, 0.5], [0.5, 1.0]])
    >>> g = nystrom(landmark_factor(k), lambda rows: k[rows], 2)
    >>> (g @ g.T).round(decimals=4)
    tensor([[1.0000, 0.5000],
            [0.5000, 1.0000]])
    """
    found = []
    for rows in chunks(n, _ROWS):
        own = columns(rows)
        found.append(torch.linalg.solve_triangular(factor.to(own.dtype), own.T, upper=False).T)
    return torch.cat(found)
