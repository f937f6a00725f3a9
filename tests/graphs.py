"""Graphs and vectors to test on: drawn by hypothesis, or made with a seed."""

import numpy as np
import torch
from hypothesis import strategies as st
from scipy import sparse

import kernode as kn


@st.composite
def graphs(draw, max_nodes=12, weighted=None):
    """Any small graph: isolated nodes, weights, sparse or dense features."""
    n = draw(st.integers(1, max_nodes))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    weighted = draw(st.booleans()) if weighted is None else weighted
    features = random.normal(size=(n, 5)) * (random.random((n, 5)) < 0.7)
    return kn.Graph.from_edges(
        np.array(edges, dtype=int).reshape(-1, 2),
        features=sparse.csr_array(features) if draw(st.booleans()) else features,
        labels=random.integers(0, min(n, 3), n),
        weights=random.uniform(0.5, 2, len(edges)) if weighted else None,
    )


def clustered_graph(n=60, classes=3, seed=0, features=8):
    """A graph whose edges and features both carry the classes, so that learning works."""
    random = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    near = labels[:, None] == labels[None]
    linked = np.triu(random.random((n, n)) < np.where(near, 6 / n, 1 / n), 1)
    words = np.abs(random.normal(size=(n, features)) + 2 * np.eye(classes, features)[labels])
    return kn.Graph.from_edges(np.argwhere(linked), features=words, labels=labels, name="clusters")


def path_graph(n, features=5):
    """A path, 0 – 1 – … – n − 1, whose features are random: how far something reaches is seen on it."""
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    return kn.Graph.from_edges(edges, np.random.default_rng(0).random((n, features)), name="path")


def dense_features(graph):
    """X as a dense array: n × f."""
    return graph.features.toarray() if sparse.issparse(graph.features) else np.asarray(graph.features)


def vectors(r=2, n=6, d=3, seed=0):
    """Any g, in float64: r × n × d."""
    return torch.randn(r, n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


CLUSTERS = clustered_graph(n=120)  # what most tests learn from, with the split of tasks.py


def rare_graph(n=600, share=0.08, seed=0, names=("honest", "fraud")):
    """A graph with a rare class, of which features and edges say something."""
    random = np.random.default_rng([seed, n])  # not the numbers that split the nodes
    labels = np.zeros(n, int)
    labels[random.permutation(n)[: round(share * n)]] = 1
    first, second = random.integers(n, size=(2, 3 * n))
    among = (labels[first] == 1) & (random.random(3 * n) < 0.4)
    second[among] = random.choice(np.flatnonzero(labels), among.sum())
    words = random.normal(size=(n, 8)) + np.outer(labels, [0.8, 0.8, 0, 0, 0, 0, 0, 0])
    edges = np.stack([first, second], axis=1)[first != second]
    return kn.Graph.from_edges(edges, words, labels, class_names=names, name="rare")


def number_graph(n=160, seed=0, names=False):
    """A graph with a price for most nodes: features decide some of it, the rest is smooth on the edges."""
    random = np.random.default_rng(seed)
    places, features = random.random((n, 2)), random.standard_normal((n, 3))
    gaps = np.square(places[:, None] - places[None]).sum(axis=-1)
    near = np.argsort(gaps, axis=1)[:, 1:5]
    edges = np.column_stack([np.repeat(np.arange(n), 4), near.ravel()])
    smooth = np.sin(3 * places[:, 0]) + np.cos(4 * places[:, 1])
    prices = 50 + 10 * smooth + 4 * features[:, 0] + random.standard_normal(n)
    targets = np.where(np.arange(n) % 20 == 19, np.nan, prices)
    return kn.Graph.from_edges(
        edges, features, targets=targets, target_name="price", name="houses",
        node_names=[f"house {i}" for i in range(n)] if names else None,
    )  # fmt: skip
