"""X as a map sees it: at its place, sparse if it was sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.graph import Graph
from kernode.sparse import Place, SparseMatrix


def node_features(graph: Graph, place: Place, *, normalize_rows: bool) -> Tensor | SparseMatrix:
    """Return X (n × f); with ``normalize_rows`` each row sums to 1 in absolute value, if it is not empty."""
    x: Any = graph.features.astype(np.float64)
    if normalize_rows:
        sums = np.asarray(abs(x).sum(axis=1)).ravel()
        scale = 1 / np.where(sums > 0, sums, 1)
        x = sparse.diags_array(scale) @ x if sparse.issparse(x) else x * scale[:, None]
    if sparse.issparse(x):
        return SparseMatrix.of(x.tocsr(), place)
    return torch.from_numpy(x).to(place.dtype).to(place.device)
