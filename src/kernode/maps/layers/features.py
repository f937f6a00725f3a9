"""X as a map sees it: at its place, sparse if it was sparse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.chunks import row_chunks
from kernode.compute.place import Place
from kernode.compute.sharing import shared
from kernode.compute.sparse import SparseMatrix
from kernode.errors import InputError
from kernode.graph import Graph

Features = Tensor | SparseMatrix  # X as a map sees it
_LARGEST = float(np.finfo(np.float32).max)


def to_place(x: Any, place: Place) -> Features:
    """Move a matrix to a place, sparse if it is sparse."""
    require_room(x, place)
    if sparse.issparse(x) and place.device.type == "cuda":
        entries = x.shape[0] * x.shape[1]
        # A GPU multiplies zeros faster than it skips them: Pubmed's words (10 %), not Cora's (1 %).
        if x.nnz > 0.03 * entries and entries < 2**28:
            x = x.toarray()
    if sparse.issparse(x):
        return SparseMatrix.of(x, place)
    return torch.from_numpy(np.asarray(x)).to(place.dtype).to(place.device)


def node_features(graph: Graph, place: Place, *, normalize_rows: bool) -> Features:
    """X at a place; where it can be used as it is, the graph's own memory, which must not be written to."""

    key = ("features", place, normalize_rows)
    return shared(graph, key, lambda: placed_features(graph.features, place, normalize_rows=normalize_rows))


def placed_features(x: np.ndarray | sparse.csr_array, place: Place, *, normalize_rows: bool) -> Features:
    """X, or some rows of it, at a place.

    A dense X is scaled block by block, so that besides the result no copy of it is ever held.
    """
    if sparse.issparse(x):
        return to_place(scaled_features(x, normalize_rows=normalize_rows), place)
    wanted = np.dtype(np.float64 if place.dtype == torch.float64 else np.float32)
    fits = x.dtype == wanted and x.flags.c_contiguous and x.flags.aligned
    if fits and not normalize_rows and place.device.type == "cpu":
        with warnings.catch_warnings():
            # torch has no read-only tensors, and says so once; a map only ever reads X.
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            return torch.from_numpy(x)
    out = torch.empty(x.shape, dtype=place.dtype, device=place.device)
    for rows in row_chunks(x):
        scaled = scaled_features(x[rows], normalize_rows=normalize_rows)
        require_room(scaled, place)
        out[rows] = torch.from_numpy(scaled).to(place.dtype)
    return out


def require_room(x: Any, place: Place) -> None:
    """Refuse numbers that the place's precision takes for infinity, before they spoil everything."""
    values = x.data if sparse.issparse(x) else np.asarray(x)
    if place.dtype != torch.float32 or not values.size:
        return
    if (largest := float(max(values.max(), -values.min()))) > _LARGEST:  # no copy is made
        raise InputError(
            f"features reach {largest:.3g}, more than 32 bits hold. Scale them, or compute with a precision "
            "of 64.",
            "setting", setting="precision",
        )  # fmt: skip


def scaled_features(features: np.ndarray | sparse.csr_array, *, normalize_rows: bool) -> Any:
    """Return X (n × f) in float64; ``normalize_rows`` makes the absolute values of a row sum to 1."""
    x: Any = features.astype(np.float64)
    if not normalize_rows:
        return x
    sums = np.asarray(abs(x).sum(axis=1)).ravel()
    scale = 1 / np.where(sums > 0, sums, 1)
    return (sparse.diags_array(scale) @ x).tocsr() if sparse.issparse(x) else x * scale[:, None]
