"""X as a map sees it: at its place, sparse if it was sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.graph import Graph
from kernode.sparse import Place, SparseMatrix


def scaled_features(graph: Graph, *, normalize_rows: bool) -> Any:
    """Return X (n × f) in float64; ``normalize_rows`` makes the absolute values of a row sum to 1."""
    x: Any = graph.features.astype(np.float64)
    if not normalize_rows:
        return x
    sums = np.asarray(abs(x).sum(axis=1)).ravel()
    scale = 1 / np.where(sums > 0, sums, 1)
    return (sparse.diags_array(scale) @ x).tocsr() if sparse.issparse(x) else x * scale[:, None]


def to_place(x: Any, place: Place) -> Tensor | SparseMatrix:
    """Move a matrix to a place, sparse if it is sparse."""
    if sparse.issparse(x):
        return SparseMatrix.of(x, place)
    return torch.from_numpy(np.asarray(x)).to(place.dtype).to(place.device)


def node_features(graph: Graph, place: Place, *, normalize_rows: bool) -> Tensor | SparseMatrix:
    """X at a place."""
    return to_place(scaled_features(graph, normalize_rows=normalize_rows), place)
