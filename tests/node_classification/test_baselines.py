"""Baselines against slow, obvious oracles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from graphs import CLUSTERS, dense_features, graphs
from kernode.node_classification.baselines import _by_edges, _by_features, baselines
from kernode.node_classification.task import LabelledNodes
from tasks import SPLIT

NONE = np.empty((1, 0), np.int64)


@given(graphs(), st.integers(0, 5), st.sampled_from([0.5, 0.9, 0.99]))
def test_label_propagation_is_a_loop_over_neighbours(graph, seed, share):
    random = np.random.default_rng(seed)
    train = random.permutation(graph.n_nodes)[: max(1, graph.n_nodes // 2)]
    labels = random.integers(0, 3, len(train))
    a = graph.adjacency.toarray().astype(float)
    degrees = a.sum(axis=1)
    y = np.zeros((graph.n_nodes, 3))
    y[train, labels] = 1
    f = y
    for _ in range(30):
        new = (1 - share) * y
        for u, v in np.argwhere(a):
            new[u] = new[u] + share * a[u, v] / np.sqrt(degrees[u] * degrees[v]) * f[v]
        f = new
    found = _by_edges(graph, LabelledNodes(train[None], labels[None], NONE, NONE), 3)[share]
    nodes = np.arange(graph.n_nodes)
    gap = np.sort(f, axis=1)
    clear = gap[:, 2] - gap[:, 1] > 1e-5  # equals may go either way
    assert (found(0, nodes) == f.argmax(axis=1))[clear].all()


def test_whom_no_edge_reaches_gets_the_commonest_class():
    alone = LabelledNodes(np.array([[0, 1, 2]]), np.array([[1, 1, 0]]), NONE, NONE)
    graph = type(CLUSTERS).from_edges([(0, 1)], np.eye(5))
    assert _by_edges(graph, alone, 2)[0.9](0, np.array([3, 4])).tolist() == [1, 1]


def test_features_alone_are_scikit_learns_logistic_regression():
    nodes = LabelledNodes(SPLIT.train[None], CLUSTERS.labels[SPLIT.train][None], NONE, NONE)
    x = dense_features(CLUSTERS)
    expected = LogisticRegression().fit(x[SPLIT.train], CLUSTERS.labels[SPLIT.train]).predict(x[SPLIT.test])
    assert (_by_features(CLUSTERS, nodes)["rows as they are, C = 1"](0, SPLIT.test) == expected).all()


def test_validation_chooses_and_test_nodes_never_do():
    labels = CLUSTERS.labels
    validation = SPLIT.validation[None]
    nodes = LabelledNodes(SPLIT.train[None], labels[SPLIT.train][None], validation, labels[validation])
    tested = np.asarray(SPLIT.test)[None]
    right, wrong = (
        baselines(CLUSTERS, nodes, tested, truth) for truth in (labels[tested], labels[tested] * 0 + 9)
    )
    for name in ("features", "edges"):
        assert right[name]["settings"] == wrong[name]["settings"]
        assert wrong[name]["accuracy_mean"] == 0
    commonest = np.bincount(labels[SPLIT.train]).argmax()
    share = 100 * np.mean(labels[tested] == commonest)
    assert right["majority"]["runs"] == [pytest.approx(share, abs=1e-4)]
