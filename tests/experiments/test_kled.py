"""KLED: the fast paths equal the dense matrix exponential."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg
from sklearn.svm import SVC

import kernode as kn
from experiments.rivals import kled
from experiments.rivals.kled import KLED, diffuse, normalized_columns
from graphs import clustered_graph, graphs
from kernode.errors import InputError
from kernode.training.settings import Training
from tasks import fit, labelled_nodes, node_task

SCALES = st.floats(0.01, 10)


def dense_kernel(graph, scale):
    adjacency = graph.adjacency.toarray().astype(np.float64)
    return linalg.expm(-scale * (np.diag(adjacency.sum(axis=1)) - adjacency))


def dense_normalized(graph, scale):
    kernel = dense_kernel(graph, scale)
    root = np.sqrt(kernel.diagonal())
    return kernel / root[:, None] / root


def every_other_node(graph):
    train = np.arange(0, graph.n_nodes, 2)
    return train, graph.labels[train]


@given(graphs(), SCALES)
def test_sums_equal_the_dense_exponential(graph, scale):
    train, labels = every_other_node(graph)
    expected = dense_kernel(graph, scale)[:, train] @ np.eye(3)[labels]
    scores = KLED().scores(graph, scale, "sums", train, labels, classes=3)
    reached = expected.any(axis=1)
    np.testing.assert_allclose(scores[reached], expected[reached], rtol=0, atol=1e-12)
    assert np.isfinite(scores).all()


@given(graphs(), SCALES)
def test_normalized_columns_equal_the_dense_ones_and_are_psd(graph, scale):
    train, _ = every_other_node(graph)
    columns = normalized_columns(graph, scale, train)
    np.testing.assert_allclose(columns, dense_normalized(graph, scale)[:, train], rtol=0, atol=1e-10)
    assert np.linalg.eigvalsh(columns[train]).min() > -1e-12
    np.testing.assert_allclose(columns[train].diagonal(), 1, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_svc_equals_scikit_learns_on_the_dense_kernel(classes, weighted):
    graph = clustered_graph(classes=classes)
    if weighted:
        edges = np.argwhere(np.triu(graph.adjacency.toarray()))
        weights = np.random.default_rng(0).uniform(0.5, 2, len(edges))
        graph = kn.Graph.from_edges(edges, graph.features, graph.labels, weights=weights)
    train = np.arange(30)
    kernel = dense_normalized(graph, 1.0)[:, train]
    machine = SVC(kernel="precomputed", C=2.0, break_ties=classes > 2).fit(kernel[train], graph.labels[train])

    scores = KLED(penalty=2.0).scores(graph, 1.0, "svc", train, graph.labels[train], classes)

    decisions = machine.decision_function(kernel)
    np.testing.assert_allclose(scores[:, 1] if classes == 2 else scores, decisions, atol=1e-3)  # SVC's tol
    np.testing.assert_array_equal(scores.argmax(axis=1), machine.predict(kernel))


def test_weights_of_nodes_weigh_sums_and_reach_the_svc():
    graph = clustered_graph(classes=3)
    train, weights = np.arange(30), 1.0 + np.arange(30) % 4
    labels, kernel = graph.labels[train], dense_normalized(graph, 1.0)[:, train]
    machine = SVC(kernel="precomputed").fit(kernel[train], labels, sample_weight=weights / weights.mean())
    scores = KLED().scores(graph, 1.0, "svc", train, labels, 3, 5 * weights)
    np.testing.assert_allclose(scores, machine.decision_function(kernel), atol=1e-3)
    summed = dense_kernel(graph, 1.0)[:, train] * weights @ np.eye(3)[labels]
    summed[~summed.any(axis=1)] = weights @ np.eye(3)[labels] / weights.sum()  # unreached: shares
    np.testing.assert_allclose(
        KLED().scores(graph, 1.0, "sums", train, labels, 3, weights), summed, atol=1e-12
    )


@pytest.mark.parametrize("classifier", ["sums", "svc"])
@pytest.mark.parametrize("known", [[4], [1, 4], [1, 2, 4]])
def test_a_class_without_training_nodes_is_never_predicted(classifier, known):
    graph = clustered_graph(n=60)
    train = np.arange(30)
    labels = np.array(known)[np.arange(30) % len(known)]
    scores = KLED().scores(graph, 1.0, classifier, train, labels, classes=6)
    assert scores.shape == (60, 6)
    assert np.isfinite(scores).all()
    assert set(scores.argmax(axis=1)) <= set(known)
    assert set(scores[train].argmax(axis=1)) == set(known)


@pytest.mark.parametrize("edges", [[(0, 1), (1, 2)], []])
def test_nodes_that_nothing_reaches_get_the_commonest_class(edges):
    graph = kn.Graph.from_edges(edges, features=np.eye(5))
    scores = KLED().scores(graph, 1.0, "sums", np.array([0, 1, 2]), np.array([0, 1, 1]), classes=3)
    np.testing.assert_allclose(scores[3:], [[1 / 3, 2 / 3, 0]] * 2)
    assert scores[0].argmax() == 0


def test_faint_similarities_keep_their_relative_accuracy():
    path = kn.Graph.from_edges([(i, i + 1) for i in range(12)], features=np.eye(13))
    similarity = diffuse(path, 0.01, np.eye(13)[:, :1])[:, 0]
    # At distance h the kernel begins with scaleʰ / h!, and the next term is smaller by scale × degree.
    leading = np.cumprod(np.r_[1, 0.01 / np.arange(1, 13)])
    assert leading[-1] < 1e-30
    np.testing.assert_allclose(similarity, leading, rtol=0.05)


def test_settings_that_a_graph_is_too_large_for_are_left_out_or_refused(monkeypatch):
    graph = clustered_graph(n=60)
    monkeypatch.setattr(kled, "MOST_NODES_OF_SVC", 59)
    assert {kind for _, kind in KLED().candidates(graph)} == {"sums"}
    with pytest.raises(InputError, match="at most 59 nodes"):
        KLED(classifiers=("svc",)).candidates(graph)
    with pytest.raises(InputError, match="use 'sums'"):
        KLED().scores(graph, 1.0, "svc", *every_other_node(graph), classes=3)
    heavy = kn.Graph.from_edges([(0, 1)], features=np.eye(2), weights=[kled.MOST_STEPS_OF_SUMS])
    sums = KLED(scales=(0.5, 1.0, 2.0), classifiers=("sums",))
    assert sums.candidates(heavy) == [(0.5, "sums"), (1.0, "sums")]


def test_each_replica_is_searched_on_its_own_nodes():
    graph = clustered_graph(n=60)
    nodes = labelled_nodes(graph, split_seeds=(0, 1))
    both = fit(node_task(graph, (0, 1), nodes), KLED(), Training(epochs=0))
    answers = both.probabilities()
    assert np.allclose(answers.sum(axis=-1), 1)
    for i in (0, 1):
        row = slice(i, i + 1)
        alone = fit(node_task(graph, (i,), nodes.of(row)), KLED(), Training(epochs=0))
        tried = both.model.history["validation_accuracy"][:, i]
        assert both.model.kept_epochs[i] == alone.model.kept_epochs[0] == tried.argmax() + 1
        assert np.array_equal(answers[i], alone.probabilities()[0])
    assert not np.array_equal(answers[0], answers[1])


def test_kled_chooses_the_best_in_the_mean_over_its_replicas():
    graph = clustered_graph(90)
    nodes = labelled_nodes(graph, split_seeds=(0, 1, 2))
    task = node_task(graph, seeds=(0, 1, 2), nodes=nodes)
    method = KLED(scales=(0.1, 0.5, 5.0), classifiers=("sums",))
    model = fit(task, method, Training(epochs=0)).model
    figures = model.history["validation_accuracy"].mean(axis=1)
    assert len(set(figures)) > 1  # else any would do
    best = max(zip(figures, method.scales, strict=True), key=lambda pair: pair[0])[1]
    assert method.chosen(model, graph).scales == (best,)
