"""Baselines against slow, obvious oracles: with an oracle's answers as the truth they are all right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import ttest_1samp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

import kernode as kn
from graphs import CLUSTERS, dense_features, graphs
from kernode.tasks.classes.baselines import baselines
from kernode.tasks.classes.task import LabelledNodes
from tasks import SPLIT, labelled_nodes, short_sum


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


def test_features_alone_learn_from_every_training_node(monkeypatch):
    """A sample of 5,000 would hardly see the one class at the end."""
    monkeypatch.setattr("kernode.tasks.classes.baselines._LARGEST", 0)  # instant takes longest
    x, labels = np.random.default_rng(0).normal(size=(6000, 2)), np.zeros(6000, int)
    x[5990:] += 50
    labels[5990:], labels[:2990] = 2, 1
    graph = kn.Graph.from_edges([(0, 1)], x)
    train = np.arange(6000)
    expected = LogisticRegression(C=100).fit(normalize(x), labels).predict(normalize(x))
    found = baselines(graph, LabelledNodes.without_validation(train, labels), train[None], expected[None])
    assert found["features"]["accuracy_mean"] == 100
    assert not any("training_nodes" in one for one in found.values())
    assert [name for name, one in found.items() if "skipped" in one] == ["instant"]


def test_boosting_has_features_beside_their_means_over_neighbours():
    labels, x, a = CLUSTERS.labels[SPLIT.train], dense_features(CLUSTERS), CLUSTERS.adjacency.toarray()
    means = [x[row > 0].mean(axis=0) if row.any() else np.zeros(x.shape[1]) for row in a]
    both = np.hstack([x, means])
    trees = HistGradientBoostingClassifier(
        max_iter=50, learning_rate=0.2, max_bins=64, min_samples_leaf=len(labels) // 4, early_stopping=False
    )
    expected = trees.fit(both[SPLIT.train], labels).predict(both[SPLIT.test])
    assert len(labels) // 4 <= 20
    assert accuracy_of("boosting", CLUSTERS, SPLIT.train, labels, SPLIT.test, expected) == 100


@pytest.mark.parametrize("replicas", [1, 2])
def test_instant_is_the_variant_of_that_name(replicas):
    """Another number of replicas on a split is one answer; with splits of their own each has one."""
    split = "0.5/0.25/0.25" if replicas > 1 else SPLIT
    settings = {"graph": CLUSTERS, "split": split}
    alone = kn.NodeKernelClassifier("instant", replicas=replicas).fit(**settings).report()["test"]
    found = kn.NodeKernelClassifier("k3", epochs=2, replicas=replicas).fit(**settings).report()["test"]
    assert found["baselines"]["instant"]["runs"] == alone["runs"]
    assert "instant" not in alone["baselines"]


def test_a_sums_fitted_member_answers_for_instant(monkeypatch):
    short_sum(monkeypatch)
    model = kn.NodeKernelClassifier("auto", replicas=2).fit(graph=CLUSTERS, split=SPLIT)
    assert "instant" in {one.name for one in model.model_.method.members}
    found = model.report()["test"]["baselines"]["instant"]
    assert found["settings"] == ["member of the sum"]
    monkeypatch.setattr("kernode.tasks.classes.baselines._LARGEST", 0)  # what is fitted is free
    assert model.report()["test"]["baselines"]["instant"] == found
    alone = kn.NodeKernelClassifier("instant", replicas=2).fit(graph=CLUSTERS, split=SPLIT)
    assert found["runs"] == alone.report()["test"]["runs"][:1]


def test_words_and_single_classes_are_boosted_too():
    words = np.random.default_rng(0).random((120, 200)) < 0.02 + 0.3 * (
        np.arange(200) % 3 == CLUSTERS.labels[:, None]
    )
    graph = kn.Graph(CLUSTERS.adjacency, sparse.csr_array(words.astype(float)), CLUSTERS.labels)
    labels, truth = CLUSTERS.labels[SPLIT.train], CLUSTERS.labels[SPLIT.test]
    assert accuracy_of("boosting", graph, SPLIT.train, labels, SPLIT.test, truth) > 80
    assert accuracy_of("boosting", graph, SPLIT.train, labels * 0, SPLIT.test, truth * 0) == 100


def test_what_would_take_too_long_is_sampled_or_left_out_and_says_so(monkeypatch):
    monkeypatch.setattr("kernode.tasks.classes.baselines._MOST", 40 * 8 * 3)  # 40 training nodes of features
    monkeypatch.setattr("kernode.tasks.classes.baselines._LARGEST", 10)
    report = kn.NodeKernelClassifier("k3", epochs=2).fit(graph=CLUSTERS, split=SPLIT).report()
    found = report["test"]["baselines"]
    assert found["features"]["training_nodes"] == 40
    assert {name for name, one in found.items() if "skipped" in one} == {"boosting", "instant"}
    assert "logistic regression or boosting), 40 training nodes" in str(report)
    assert "– untrained kernel (instant): too many test nodes × landmarks" in str(report)


def test_a_difference_is_paired_node_by_node_and_splits_do_not_narrow_it():
    tested, truth = np.asarray(SPLIT.test)[None], CLUSTERS.labels[SPLIT.test][None]
    right = np.random.default_rng(0).random((3, tested.shape[1])) < 0.6
    once = baselines(CLUSTERS, labelled_nodes(), tested, truth, right)["majority"]
    commonest = np.bincount(CLUSTERS.labels[SPLIT.train]).argmax()
    differences = 100 * ((truth[0] == commonest) - right.mean(axis=0))
    expected = ttest_1samp(differences, 0).confidence_interval(0.95)
    assert once["ahead"] == pytest.approx(differences.mean(), abs=1e-3)
    assert once["ahead_95"] == pytest.approx([expected.low, expected.high], abs=1e-3)
    twice = LabelledNodes(*(np.repeat(one, 2, axis=0) for one in vars(labelled_nodes()).values()))
    same = np.repeat(right[:1], 2, axis=0)
    one, two = (
        baselines(
            CLUSTERS, known, np.repeat(tested, len(own), axis=0), np.repeat(truth, len(own), axis=0), own
        )
        for known, own in ((labelled_nodes(), same[:1]), (twice, same))
    )
    assert one["majority"]["ahead_95"] == two["majority"]["ahead_95"]


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
