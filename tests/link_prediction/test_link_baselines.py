"""Baselines of links against loops over pairs."""

import numpy as np
import pytest

import kernode as kn
from graphs import CLUSTERS, dense_features
from kernode.link_prediction.baselines import link_baselines
from kernode.metrics.ranking import link_metrics


def test_baselines_are_loops_over_pairs():
    split = kn.split_edges(CLUSTERS, seed=0)
    a, x = split.graph.adjacency.toarray() > 0, dense_features(CLUSTERS)
    degrees = a.sum(axis=1)

    def adamic_adar(u, v):
        return sum(1 / np.log(degrees[w]) for w in np.flatnonzero(a[u] & a[v]))

    def cosine(u, v):
        return x[u] @ x[v] / np.linalg.norm(x[u]) / np.linalg.norm(x[v])

    found = link_baselines(split)
    for name, score in (("edges", adamic_adar), ("features", cosine)):
        scores = [np.array([score(u, v) for u, v in pairs]) for pairs in (split.test, split.test_negatives)]
        assert found[name] == pytest.approx(link_metrics(*scores), abs=1e-3)


def test_without_test_edges_there_is_nothing_to_compare():
    none = np.empty((0, 2), int)
    assert link_baselines(kn.EdgeSplit(CLUSTERS, none, none, none, none)) == {}
