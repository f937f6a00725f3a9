"""The features X as a tensor, sparse if they are sparse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.chunks import row_chunks
from kernode.compute.sharing import shared
from kernode.compute.sparse import SparseMatrix
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.graph import Graph

Features = Tensor | SparseMatrix  # X as a map sees it
_LARGEST = float(np.finfo(np.float32).max)


def to_tensor(x: Any, options: TensorOptions) -> Features:
    """Return a matrix as a tensor, sparse if it is sparse."""
    require_room(x, options)
    if sparse.issparse(x) and options.device.type == "cuda":
        entries = x.shape[0] * x.shape[1]
        # A GPU multiplies zeros faster than it skips them: Pubmed's words (10 %), not Cora's (1 %).
        if x.nnz > 0.03 * entries and entries < 2**28:
            x = x.toarray()
    if sparse.issparse(x):
        return SparseMatrix.of(x, options)
    return torch.from_numpy(np.asarray(x)).to(options.dtype).to(options.device)


def node_features(graph: Graph, options: TensorOptions, *, normalize_rows: bool) -> Features:
    """Return X as a tensor; where possible it is the graph's own memory, which must not be written to."""
    key = ("features", options, normalize_rows)
    return shared(graph, key, lambda: feature_tensor(graph.features, options, normalize_rows=normalize_rows))


def feature_tensor(
    x: np.ndarray | sparse.csr_array, options: TensorOptions, *, normalize_rows: bool
) -> Features:
    """Return X, or some rows of it, as a tensor.

    A dense X is scaled block by block, so that besides the result no copy of it is ever held.
    """
    if sparse.issparse(x):
        return to_tensor(scaled_features(x, normalize_rows=normalize_rows), options)
    wanted = np.dtype(np.float64 if options.dtype == torch.float64 else np.float32)
    fits = x.dtype == wanted and x.flags.c_contiguous and x.flags.aligned
    if fits and not normalize_rows and options.device.type == "cpu":
        with warnings.catch_warnings():
            # torch has no read-only tensors, and says so once; a map only ever reads X.
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            return torch.from_numpy(x)
    out = torch.empty(x.shape, dtype=options.dtype, device=options.device)
    for rows in row_chunks(x):
        scaled = scaled_features(x[rows], normalize_rows=normalize_rows)
        require_room(scaled, options)
        out[rows] = torch.from_numpy(scaled).to(options.dtype)
    return out


def require_room(x: Any, options: TensorOptions) -> None:
    """Raise for numbers that are infinite in the dtype."""
    values = x.data if sparse.issparse(x) else np.asarray(x)
    if options.dtype != torch.float32 or not values.size:
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
