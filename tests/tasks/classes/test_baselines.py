"""Baselines against slow, obvious oracles: with an oracle's answers as the truth they are all right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

import kernode as kn
from graphs import CLUSTERS, dense_features, graphs
from kernode.tasks.classes.baselines import baselines
from kernode.tasks.classes.task import LabelledNodes
from tasks import SPLIT, labelled_nodes


def accuracy_of(name, graph, train, labels, nodes, answers):
    """A baseline's accuracy without validation nodes, where it takes its first setting."""
    known = LabelledNodes.without_validation(np.asarray(train), np.asarray(labels))
    return baselines(graph, known, np.atleast_2d(nodes), np.atleast_2d(answers))[name]["accuracy_mean"]


@given(graphs(), st.integers(0, 5))
def test_label_propagation_is_a_loop_over_neighbours(graph, seed):
    random = np.random.default_rng(seed)
    train = random.permutation(graph.n_nodes)[: max(1, graph.n_nodes // 2)]
    labels = random.integers(0, 3, len(train))
    a = graph.adjacency.toarray().astype(float)
    degrees = a.sum(axis=1)
    y = np.zeros((graph.n_nodes, 3))
    y[train, labels] = 1
    f = y
    for _ in range(30):
        new = 0.1 * y
        for u, v in np.argwhere(a):
            new[u] = new[u] + 0.9 * a[u, v] / np.sqrt(degrees[u] * degrees[v]) * f[v]
        f = new
    gap = np.sort(f, axis=1)
    clear = np.flatnonzero(gap[:, 2] - gap[:, 1] > 1e-5)  # equals may go either way, and isolated nodes
    if len(clear):
        assert accuracy_of("edges", graph, train, labels, clear, f[clear].argmax(axis=1)) == 100


def test_nodes_that_no_edge_reaches_get_the_commonest_class():
    graph = kn.Graph.from_edges([(0, 1)], np.eye(5))
    assert accuracy_of("edges", graph, [0, 1, 2], [1, 1, 0], [0, 2, 3, 4], [1, 0, 1, 1]) == 100


def test_features_alone_are_scikit_learns_logistic_regression():
    labels, x = CLUSTERS.labels[SPLIT.train], normalize(dense_features(CLUSTERS))
    expected = LogisticRegression(C=100).fit(x[SPLIT.train], labels).predict(x[SPLIT.test])
    assert accuracy_of("features", CLUSTERS, SPLIT.train, labels, SPLIT.test, expected) == 100


def test_validation_chooses_and_test_nodes_never_do():
    labels, tested = CLUSTERS.labels, np.asarray(SPLIT.test)[None]
    right, wrong = (
        baselines(CLUSTERS, labelled_nodes(), tested, truth)
        for truth in (labels[tested], labels[tested] * 0 + 9)
    )
    for name in ("features", "edges"):
        assert right[name]["settings"] == wrong[name]["settings"]
        assert wrong[name]["accuracy_mean"] == 0
    commonest = np.bincount(labels[SPLIT.train]).argmax()
    share = 100 * np.mean(labels[tested] == commonest)
    assert right["majority"]["runs"] == [pytest.approx(share, abs=1e-4)]
