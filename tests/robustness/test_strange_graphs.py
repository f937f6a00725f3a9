"""Strange graphs train or are refused in a sentence: no answer is anything but a number, and none hangs."""

import time
import warnings

import numpy as np
import pytest
from strange_graphs import GRAPHS, star, thousands_of_classes

import kernode as kn
from graphs import clustered_graph

EPOCHS = 3

# What is refused, and in which words; everything else trains.
CLASSES = "at least two"
REFUSED = {
    ("one node", "default"): CLASSES,
    ("one node", "k3"): CLASSES,
    ("two nodes", "default"): CLASSES,
    ("two nodes", "k3"): CLASSES,
    ("one class", "default"): CLASSES,
    ("one class", "k3"): CLASSES,
    **{("no class", method): "no (training|labelled) nodes" for method in ("default", "k3", "n1")},
    **{
        (name, "links"): "at least 20 edges"
        for name in ("no edges", "one node", "two nodes", "isolated nodes")
    },
    ("clique", "links"): "0 pairs without an edge",
    **{("features beyond float32", method): "more than 32 bits hold" for method in ("default", "links")},
}


def answers(graph, method):
    """Everything that a model of a graph can be asked for, as arrays."""
    if method == "links":
        model = kn.LinkPredictor("kernel", epochs=EPOCHS).fit(graph)
        return [model.predict_proba(np.array([[0, 1], [1, 2]])), [*model.evaluate().values()]]
    known = np.flatnonzero(graph.labels >= 0)
    train = known[: max(1, int(0.6 * len(known)))]
    variant = {} if method == "default" else {"variant": method}
    model = kn.NodeKernelClassifier(**variant, epochs=EPOCHS)
    model.fit(train, graph.labels[train], graph=graph)
    some = np.arange(min(40, graph.n_nodes))
    found = [model.predict_proba(some), *model.history_.values()]
    if len(some) > 2:
        found += [model.kernel_.gram(some), [value for _, value in model.similar(0, k=2)]]
    return found


def check(graph, method, refusal=None):
    """Finite answers, or a sentence; of other libraries not even a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kn.KernodeWarning)
        if refusal is not None:
            with pytest.raises(kn.InputError, match=refusal):
                answers(graph, method)
            return
        for found in answers(graph, method):
            assert np.isfinite(np.asarray(found, float)).all()


@pytest.mark.parametrize("method", ["k3", "n1", "links"])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_strange_graph_trains_or_is_refused(name, method):
    check(GRAPHS[name](), method, REFUSED.get((name, method)))


QUICK = ("one node", "one class", "zero features", "features beyond float32", "contradicting edges")


@pytest.mark.parametrize("name", QUICK)
def test_a_strange_graph_trains_or_is_refused_with_defaults(name):
    check(GRAPHS[name](), "default", REFUSED.get((name, "default")))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in QUICK])
def test_every_strange_graph_trains_or_is_refused_with_defaults(name):
    check(GRAPHS[name](), "default", REFUSED.get((name, "default")))


@pytest.mark.parametrize(
    ("name", "variant"),
    [("one node", "gat"), ("huge weights", "label-propagation"), ("tiny features", "smoother")],
)
def test_other_methods_answer_in_numbers_too(name, variant):
    graph = GRAPHS[name]()
    settings = {} if variant in ("label-propagation", "smoother") else {"epochs": EPOCHS}
    train = np.arange(max(1, graph.n_nodes // 2))
    model = kn.NodeKernelClassifier(variant, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kn.KernodeWarning)
        model.fit(train, graph.labels[train], graph=graph)
    assert np.isfinite(model.predict_proba(np.arange(graph.n_nodes))).all()


def test_attention_of_a_single_head_trains():
    graph = clustered_graph(n=30)
    model = kn.NodeKernelClassifier("gat", map=kn.maps.GAT(hidden=(8,), heads=1), epochs=EPOCHS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kn.KernodeWarning)
        model.fit(np.arange(15), graph.labels[:15], graph=graph)
    assert np.isfinite(model.predict_proba(np.arange(30))).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["default", "k3", "n1", "links"])
@pytest.mark.parametrize("make", [lambda: star(100_000), thousands_of_classes], ids=["star", "classes"])
def test_a_large_strange_graph_trains(make, method):
    started = time.process_time()
    check(make(), method)
    assert time.process_time() - started < 300


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-30, 1e-6, 1e6, 1e30])
@pytest.mark.parametrize("variant", ["k3", "n1", "similarity", "hops-standardized"])
def test_what_scales_features_learns_the_same_from_any_unit(variant, factor):
    """Metres or light years."""
    graph = clustered_graph(n=60)
    train, validation, test = np.arange(30), np.arange(30, 40), np.arange(40, 60)

    def predicted(features):
        scaled = kn.Graph(graph.adjacency, features, graph.labels)
        model = kn.NodeKernelClassifier(variant, epochs=10)
        return model.fit(train, graph.labels[train], graph=scaled, validation=validation).predict_proba(test)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kn.KernodeWarning)
        assert np.allclose(predicted(graph.features), predicted(graph.features * factor), atol=1e-3)
