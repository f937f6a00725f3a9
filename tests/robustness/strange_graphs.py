"""Graphs that nobody tests on, and that everybody has."""

import numpy as np

import kernode as kn
from graphs import clustered_graph

N = 24
NO_EDGES = np.empty((0, 2), int)


def _pairs(n):
    return np.argwhere(np.triu(np.ones((n, n)), 1))


def _graph(edges, features=None, labels=None, n=N, **more):
    random = np.random.default_rng(0)
    features = random.random((n, 4)) if features is None else features
    labels = np.arange(n) % 2 if labels is None else labels
    return kn.Graph.from_edges(edges, features, labels, **more)


def star(leaves):
    """A node that all others are linked with, and with nothing else."""
    edges = np.stack([np.zeros(leaves, int), np.arange(1, leaves + 1)], axis=1)
    return _graph(edges, n=leaves + 1)


def thousands_of_classes():
    """Three nodes of each of two thousand."""
    return _graph(_ring(6000), n=6000, labels=np.arange(6000) // 3)


def _ring(n):
    return np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)


def _scaled(factor, dtype=np.float64):
    graph = clustered_graph(n=N, features=4)
    return kn.Graph(graph.adjacency, (graph.features * factor).astype(dtype), graph.labels)


def _contradicting():
    """Every edge twice, in both directions, with weights that disagree; and loops."""
    ring = _ring(N)
    edges = np.concatenate([ring, ring[:, ::-1], ring, np.repeat(np.arange(N), 2).reshape(-1, 2)])
    weights = np.concatenate([np.full(N, 1e-3), np.full(N, 1e3), np.ones(2 * N)])
    return _graph(edges, weights=weights)


def _two_parts():
    half = N // 2
    return _graph(np.concatenate([_pairs(half), half + _pairs(half)]), labels=np.arange(N) // half)


def _of_all_sizes():
    return _graph(_ring(N), np.random.default_rng(0).random((N, 3)) * [1e30, 1e-30, 1.0])


GRAPHS = {
    "no edges": lambda: _graph(NO_EDGES),
    "one node": lambda: _graph(NO_EDGES, n=1, labels=[0]),
    "two nodes": lambda: _graph([(0, 1)], n=2, labels=[0, 1]),
    "one class": lambda: _graph(_ring(N), labels=np.zeros(N, int)),
    "no class": lambda: _graph(_ring(N), labels=np.full(N, -1)),
    "star": lambda: star(300),
    "clique": lambda: _graph(_pairs(N)),
    "two parts": _two_parts,
    "isolated nodes": lambda: _graph(_pairs(6)),
    "zero features": lambda: _graph(_ring(N), np.zeros((N, 3))),
    "constant features": lambda: _graph(_ring(N), np.full((N, 3), 7.0)),
    "one constant feature": lambda: _graph(_ring(N), np.ones((N, 1))),
    "half of the rows zero": lambda: _graph(_ring(N), np.outer(np.arange(N) % 2, np.arange(1.0, 5))),
    "every node a class": lambda: _graph(_ring(200), n=200, labels=np.arange(200)),
    "huge features": lambda: _scaled(1e30),
    "features beyond float32": lambda: _scaled(1e200),
    "tiny features": lambda: _scaled(1e-30),
    "features below float32": lambda: _scaled(1e-200),
    "huge and tiny together": _of_all_sizes,
    "negative features": lambda: _scaled(-1.0),
    "huge weights": lambda: _graph(_ring(N), weights=np.full(N, 1e30)),
    "tiny weights": lambda: _graph(_ring(N), weights=np.full(N, 1e-30)),
    "weights from tiny to huge": lambda: _graph(_ring(N), weights=10.0 ** np.linspace(-35, 35, N)),
    "contradicting edges": _contradicting,
}
