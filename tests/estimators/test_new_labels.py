"""Labels after training: centroids of all labelled nodes, old and new; and outlier scores."""

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph
from kernode.kernels import RBF
from refusals import refused

GRAPH = clustered_graph(n=60, classes=3)
KNOWN = np.flatnonzero(GRAPH.labels < 2)  # the third class is never seen in training
TRAIN = KNOWN[:20]


def fitted(variant="k1", nodes=TRAIN, y=None, **settings):
    training = {"precision": 64, "epochs": 5}
    model = kn.NodeKernelClassifier(variant, replicas=2, random_state=0, training=training, **settings)
    return model.fit(nodes, GRAPH.labels[nodes] if y is None else y, graph=GRAPH, validation=KNOWN[20:30])


def by_hand(model, nodes, labelled, y, classes):
    """C_K from the whole Gram matrix of K̄, replica by replica."""
    on = model._on(None)
    found = []
    for i in range(len(on.g)):
        kernel = kn.kernels.NodeKernel(on.model.method.kernel, on.g[i : i + 1])
        gram = kernel.gram(nodes, labelled)
        scores = np.stack([gram[:, y == one].mean(axis=1) for one in classes], axis=1)
        found.append(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
    return np.mean(found, axis=0)


@pytest.mark.parametrize("kernel", [None, RBF()])
def test_a_new_class_is_the_mean_of_its_nodes(kernel):
    model = fitted(kernel=kernel)
    new = np.flatnonzero(GRAPH.labels == 2)[:4]
    later = model.add_labels(new, GRAPH.labels[new])
    assert later.classes_.tolist() == [0, 1, 2]
    asked = np.arange(60)
    labelled = np.concatenate([TRAIN, new])
    expected = by_hand(model, asked, labelled, GRAPH.labels[labelled], [0, 1, 2])
    assert np.allclose(later.predict_proba(asked), expected, atol=1e-8)
    assert model.classes_.tolist() == [0, 1]  # the first one stays as it is
    assert np.allclose(later.kernel_.gram(), model.kernel_.gram())


def test_a_node_that_is_told_again_takes_its_new_class():
    model = fitted()
    node = TRAIN[0]
    other = 1 - GRAPH.labels[node]
    later = model.add_labels([node], [other])
    labels = GRAPH.labels[TRAIN].copy()
    labels[0] = other
    expected = by_hand(model, np.arange(60), TRAIN, labels, [0, 1])
    assert np.allclose(later.predict_proba(np.arange(60)), expected, atol=1e-8)


def test_it_is_saved_and_read_and_works_elsewhere(tmp_path):
    model = fitted()
    new = np.flatnonzero(GRAPH.labels == 2)[:4]
    later = model.add_labels(new, GRAPH.labels[new])
    path = later.save(tmp_path / "m.safetensors")
    again = kn.load_model(path, graph=GRAPH)
    assert np.allclose(again.predict_proba(np.arange(60)), later.predict_proba(np.arange(60)))
    other = clustered_graph(n=60, classes=3, seed=1)
    assert later.predict_proba(np.arange(5), graph=other).shape == (5, 3)


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


def test_softmax_is_refused():
    with refused("unsupported"):
        fitted("k3").add_labels([1], [2])


def test_odd_is_one_less_the_mean_of_the_nearest_training_nodes():
    model = fitted()
    train = TRAIN
    gram = np.stack([
        kn.kernels.NodeKernel(model._on(None).model.method.kernel, model._on(None).g[i : i + 1]).gram()
        for i in range(2)
    ])  # fmt: skip
    for k in (1, 5, 1000):
        expected = []
        for v in range(60):
            others = train[train != v]
            alike = np.sort(gram[:, v][:, others], axis=1)[:, ::-1][:, :k]
            expected.append(1 - alike.mean())
        assert np.allclose(model.odd(k=k), expected, atol=1e-8)
    assert np.allclose(model.odd([3, 7]), model.odd()[[3, 7]])


def test_odd_needs_a_kernel_and_its_own_graph():
    with refused("setting", setting="k", value=0):
        fitted().odd(k=0)
    model = kn.NodeKernelClassifier("label-propagation").fit(KNOWN, GRAPH.labels[KNOWN], graph=GRAPH)
    with refused("unsupported"):
        model.odd()
    with refused("unsupported"):
        fitted().odd(graph=clustered_graph(n=60, classes=3, seed=1))
