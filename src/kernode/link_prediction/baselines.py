"""What needs no learning: neighbours that two nodes share, features that are alike. Beside every AUC."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from kernode.data.edge_split import EdgeSplit
from kernode.metrics.ranking import link_metrics

NAMES = {
    "edges": "edges alone (Adamic-Adar)",
    "features": "features alone (cosine)",
}


def link_baselines(split: EdgeSplit) -> dict[str, dict[str, float]]:
    """AUC, AP, Hits@k and MRR in percent of each, on the test edges; they know the training edges alone."""
    parts = (split.test, split.test_negatives)
    if not all(len(part) for part in parts):
        return {}
    degrees = np.maximum(split.graph.adjacency.astype(bool).sum(axis=1), 2)
    shared = sparse.csr_array(split.graph.adjacency.astype(bool) / np.sqrt(np.log(degrees))[None])
    rows = {"edges": shared, "features": normalize(split.graph.features)}
    figures = {name: link_metrics(*(_products(x, pairs) for pairs in parts)) for name, x in rows.items()}
    return {name: {what: round(value, 4) for what, value in one.items()} for name, one in figures.items()}


def _products(x: np.ndarray | sparse.csr_array, pairs: np.ndarray) -> np.ndarray:
    """Dot products of the rows of each pair: m."""
    products = x[pairs[:, 0]] * x[pairs[:, 1]]
    return np.asarray(products.sum(axis=1), float).ravel()
