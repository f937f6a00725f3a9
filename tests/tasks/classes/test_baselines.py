"""Baselines against slow, obvious oracles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import kernode as kn
from graphs import CLUSTERS, dense_features, graphs
from kernode.tasks.classes.baselines import _by_edges, _by_features, baselines
from kernode.tasks.classes.task import LabelledNodes
from tasks import SPLIT


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
    found = _by_edges(graph, train, labels)[f"α = {share}"]
    nodes = np.arange(graph.n_nodes)
    gap = np.sort(f, axis=1)
    clear = gap[:, 2] - gap[:, 1] > 1e-5  # equals may go either way, and whom nothing reaches
    assert (found(nodes) == f.argmax(axis=1))[clear].all()


def test_whom_no_edge_reaches_gets_the_commonest_class():
    graph = kn.Graph.from_edges([(0, 1)], np.eye(5))
    answer = _by_edges(graph, np.array([0, 1, 2]), np.array([1, 1, 0]))["α = 0.9"]
    assert answer(np.array([0, 2, 3, 4])).tolist() == [1, 0, 1, 1]


def test_features_alone_are_scikit_learns_logistic_regression():
    labels, x = CLUSTERS.labels, dense_features(CLUSTERS)
    expected = LogisticRegression().fit(x[SPLIT.train], labels[SPLIT.train]).predict(x[SPLIT.test])
    answer = _by_features(CLUSTERS, SPLIT.train, labels[SPLIT.train])["rows as they are, C = 1"]
    assert (answer(SPLIT.test) == expected).all()


def test_where_there_is_much_to_multiply_one_split_and_one_setting_do(monkeypatch):
    monkeypatch.setattr("kernode.tasks.classes.baselines._MUCH", 10)
    labels, parts = CLUSTERS.labels, np.stack([SPLIT.train, np.roll(SPLIT.train, 1)])
    validation = np.stack([SPLIT.validation] * 2)
    nodes = LabelledNodes(parts, labels[parts], validation, labels[validation])
    figures = baselines(CLUSTERS, nodes, validation, labels[validation])
    assert [len(one["runs"]) for one in figures.values()] == [2, 1, 1]
    assert figures["edges"]["settings"] == ["α = 0.9"]


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
