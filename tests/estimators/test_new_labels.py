"""Labels after training: centroids of all labelled nodes, old and new; and outlier scores."""

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph
from kernode.kernels import RBF, NodeKernel
from refusals import refused

GRAPH = clustered_graph(n=60, classes=3)
KNOWN = np.flatnonzero(GRAPH.labels < 2)  # the third class is never seen in training
TRAIN = KNOWN[:20]


def fitted(variant="k1", nodes=TRAIN, y=None, **settings):
    training = {"precision": 64, "epochs": 5}
    model = kn.NodeKernelClassifier(variant, replicas=2, random_state=0, training=training, **settings)
    return model.fit(nodes, GRAPH.labels[nodes] if y is None else y, graph=GRAPH, validation=KNOWN[20:30])


def grams(model):
    """K̄'s whole Gram matrix of each replica."""
    on = model._on()
    return [NodeKernel(on.model.method.kernel, on.g[i : i + 1]).gram() for i in range(len(on.g))]


def by_hand(model, labelled, y, classes):
    """C_K of all nodes from the Gram matrices."""
    found = []
    for gram in grams(model):
        scores = np.stack([gram[:, labelled][:, y == one].mean(axis=1) for one in classes], axis=1)
        found.append(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
    return np.mean(found, axis=0)


@pytest.mark.parametrize("kernel", [None, RBF()])
def test_a_new_class_is_the_mean_of_its_nodes_after_loading_too(kernel, tmp_path):
    model = fitted(kernel=kernel)
    new = np.flatnonzero(GRAPH.labels == 2)[:4]
    later = model.add_labels(new, GRAPH.labels[new])
    assert later.classes_.tolist() == [0, 1, 2]
    labelled = np.concatenate([TRAIN, new])
    expected = by_hand(model, labelled, GRAPH.labels[labelled], [0, 1, 2])
    assert np.allclose(later.predict_proba(range(60)), expected, atol=1e-8)
    assert model.classes_.tolist() == [0, 1]  # the first one stays as it is
    assert np.allclose(later.kernel_.gram(), model.kernel_.gram())
    again = kn.load_model(later.save(tmp_path / "m.safetensors"), graph=GRAPH)
    assert np.allclose(again.predict_proba(range(60)), expected, atol=1e-8)
    other = clustered_graph(n=60, classes=3, seed=1)
    assert later.predict_proba(range(5), graph=other).shape == (5, 3)


def test_a_node_that_is_labelled_again_takes_its_new_class():
    model = fitted()
    labels = GRAPH.labels[TRAIN].copy()
    labels[0] = 1 - labels[0]
    later = model.add_labels(TRAIN[:1], labels[:1])
    assert np.allclose(later.predict_proba(range(60)), by_hand(model, TRAIN, labels, [0, 1]), atol=1e-8)


@pytest.mark.parametrize(
    ("nodes", "y", "code"),
    [
        ([1, 1], [2, 2], "duplicate"),
        ([1, 2], [2], "shape"),
        ([], [], "too-few"),
        ([1], ["two"], "conflict"),
    ],
)
def test_wrong_labels_are_refused(nodes, y, code):
    with refused(code):
        fitted().add_labels(nodes, y)


def test_odd_is_one_less_the_mean_of_the_nearest_training_nodes():
    model = fitted()
    gram = np.stack(grams(model))
    for k in (1, 5, 1000):
        expected = []
        for v in range(60):
            similar = np.sort(gram[:, v][:, TRAIN[v != TRAIN]], axis=1)[:, ::-1][:, :k]
            expected.append(1 - similar.mean())
        assert np.allclose(model.odd(k=k), expected, atol=1e-8)
    assert np.allclose(model.odd([3, 7]), model.odd()[[3, 7]])


def test_models_that_cannot_answer_are_refused():
    with refused("setting", setting="k", value=0):
        fitted().odd(k=0)
    model = kn.NodeKernelClassifier("label-propagation").fit(KNOWN, GRAPH.labels[KNOWN], graph=GRAPH)
    for use in (
        lambda: fitted("k3").add_labels([1], [2]),  # softmax
        lambda: model.odd(),
        lambda: fitted().odd(graph=clustered_graph(n=60, classes=3, seed=1)),
    ):
        with refused("unsupported"):
            use()
