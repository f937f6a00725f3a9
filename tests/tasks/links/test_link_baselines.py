"""Baselines of links against loops over pairs."""

import tracemalloc

import numpy as np
import pytest

import kernode as kn
from graphs import CLUSTERS, dense_features
from kernode.metrics.ranking import link_metrics
from kernode.tasks.links.evaluation import link_baselines


def test_baselines_are_loops_over_pairs():
    split = kn.split_edges(CLUSTERS, seed=0)
    a, x = split.graph.adjacency.toarray() > 0, dense_features(CLUSTERS)
    degrees = a.sum(axis=1)

    def adamic_adar(u, v):
        return sum(1 / np.log(degrees[w]) for w in np.flatnonzero(a[u] & a[v]))

    def cosine(u, v):
        return x[u] @ x[v] / np.linalg.norm(x[u]) / np.linalg.norm(x[v])

    found = link_baselines(split)

    def common_neighbours(u, v):
        return (a[u] & a[v]).sum()

    every = {"edges": adamic_adar, "common_neighbours": common_neighbours, "features": cosine}
    assert set(found) == set(every)
    for name, score in every.items():
        scores = [np.array([score(u, v) for u, v in pairs]) for pairs in (split.test, split.test_negatives)]
        assert found[name] == pytest.approx(link_metrics(*scores), abs=1e-3)


def test_without_test_edges_there_is_nothing_to_compare():
    none = np.empty((0, 2), int)
    assert link_baselines(kn.EdgeSplit(CLUSTERS, none, none, none, none)) == {}


def test_a_hub_is_not_copied_for_each_of_its_edges():
    """A star: 300 test edges, each of whose rows would be the hub's 2,550 entries."""
    n = 3000
    star = kn.Graph.from_edges([(0, i) for i in range(1, n)], np.ones((n, 200), np.float32))
    split = kn.split_edges(star)
    tracemalloc.start()
    found = link_baselines(split)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(found) == {"edges", "common_neighbours", "features"}
    assert peak < 4e6
