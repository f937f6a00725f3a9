"""Columns that covariances compare nodes by: features, many words as few components, the degree."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from kernode.compute.sparse import unit_rows
from kernode.compute.stack import Parameters
from kernode.graph import Graph
from kernode.hops.spectral import normalized_adjacency
from kernode.kernels.covariance import NodeInputs

COMPONENTS = 64  # of words, and the most columns with a length scale each
_FILLED = 0.2  # share of a sparse column's entries from which on it is a number, not a word


def learn_columns(graph: Graph) -> Parameters:
    """Return how features become columns: what :func:`node_inputs` needs besides the graph.

    Up to 64 columns are standardised one by one. More are reduced to 64 main components: words after they
    were weighted by their rarity (TF-IDF) and rows scaled to length 1, numbers after they were standardised.
    Of tables only the words are.
    """
    x: Any = graph.features
    n, f = x.shape
    filled = np.bincount(x.indices, minlength=f) / n if sparse.issparse(x) else (x != 0).mean(axis=0)
    many = filled < _FILLED if f > COMPONENTS else np.zeros(f, bool)
    if f > COMPONENTS and (graph.encoding is None or (~many).sum() > COMPONENTS):
        many = np.ones(f, bool)
    found: dict[str, Any] = {"many": many}
    plain = _dense(x[:, ~many])
    found |= {"center": plain.mean(axis=0), "spread": spread_of(plain)}
    if many.any():
        words = bool(np.median(filled[many]) < _FILLED)
        if not words:
            weights = 1 / spread_of(_dense(x))
        elif graph.encoding is None:
            weights = np.log((1 + n) / (1 + filled[many] * n)) + 1
        else:  # tables weight their texts themselves
            weights = np.ones(many.sum())
        weighted = _weighted(x[:, many], weights, words)
        count = min(COMPONENTS, *weighted.shape)
        _, _, axes = randomized_svd(weighted, min(count + 1, *weighted.shape), n_iter=4, random_state=0)
        values = weighted @ axes.T  # the components with the largest variance are among these and their mean
        middle = values.mean(axis=0)
        _, _, turn = np.linalg.svd(values - middle, full_matrices=False)
        turn = turn[:count].T
        size = np.sqrt(np.square((values - middle) @ turn).sum(axis=1).mean() / count)
        if size <= 1e-12 * np.abs(values).max():  # all rows are the same
            size = 1.0
        found |= {
            "weights": weights, "words": np.array([words]), "components": axes.T @ turn,
            "middle": middle @ turn, "size": np.array([size]),
        }  # fmt: skip
    degrees = _degrees(graph)
    found["degrees"] = np.array([degrees.mean(), spread_of(degrees)])
    return {f"columns.{name}": torch.from_numpy(np.asarray(value))[None] for name, value in found.items()}


def node_inputs(columns: Parameters, graph: Graph) -> NodeInputs:
    """Return the columns of a graph's nodes and of their means over neighbours."""
    own = {name.removeprefix("columns."): value[0].numpy() for name, value in columns.items()}
    x: Any = graph.features
    many = own["many"]
    parts = [(_dense(x[:, ~many]) - own["center"]) / own["spread"]]
    middle, deviation = own["degrees"]
    parts.append((_degrees(graph) - middle)[:, None] / deviation)
    groups = list(range(parts[0].shape[1] + 1))
    if "components" in own:
        weighted = _weighted(x[:, many], own["weights"], bool(own["words"][0]))
        values = weighted @ own["components"] - own["middle"]
        parts.append(values / own["size"])
        groups += [len(groups)] * values.shape[1]
    first = np.hstack(parts)
    a = graph.adjacency.astype(np.float64)
    sums = np.asarray(a.sum(axis=1)).ravel()
    step = sparse.diags_array(1 / np.where(sums > 0, sums, 1)) @ a
    blocks = [first]
    for _ in range(2):
        blocks.append(step @ blocks[-1])
    s = normalized_adjacency(graph)
    return NodeInputs(tuple(map(torch.from_numpy, blocks)), tuple(groups), s, sums)


def _weighted(x: Any, weights: np.ndarray, words: bool) -> Any:
    """Columns times their weights; rows of words at length 1."""
    if not words:
        return _dense(x) * weights
    return unit_rows(sparse.csr_array(sparse.csr_array(x, dtype=np.float64) @ sparse.diags_array(weights)))


def spread_of(x: np.ndarray) -> np.ndarray:
    """Standard deviations of columns; 1 where all values are the same, up to the rounding of their mean."""
    spread = x.std(axis=0)
    return np.where(spread > 1e-12 * np.abs(x).max(axis=0, initial=0), spread, 1.0)


def _degrees(graph: Graph) -> np.ndarray:
    """Log of 1 + the degree."""
    return np.log1p(np.asarray(graph.adjacency.sum(axis=1), np.float64).ravel())


def _dense(x: Any) -> np.ndarray:
    return np.asarray(x.toarray() if sparse.issparse(x) else x, np.float64)
