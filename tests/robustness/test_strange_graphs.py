"""Degenerate graphs train or are refused in a sentence: every answer is finite, and none hangs."""

import time
import warnings

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph

EPOCHS = 3
N = 24
NO_EDGES = np.empty((0, 2), int)


def _pairs(n):
    return np.argwhere(np.triu(np.ones((n, n)), 1))


def _graph(edges, features=None, labels=None, n=N, **more):
    random = np.random.default_rng(0)
    features = random.random((n, 4)) if features is None else features
    labels = np.arange(n) % 2 if labels is None else labels
    return kn.Graph.from_edges(edges, features, labels, **more)


def star(leaves):
    """One node with an edge to every other."""
    edges = np.stack([np.zeros(leaves, int), np.arange(1, leaves + 1)], axis=1)
    return _graph(edges, n=leaves + 1)


def a_thousand_classes():
    """Three nodes of each of a thousand classes."""
    return _graph(_ring(3000), n=3000, labels=np.arange(3000) // 3)


def _ring(n):
    return np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)


def _scaled(factor, dtype=np.float64):
    graph = clustered_graph(n=N, features=4)
    return kn.Graph(graph.adjacency, (graph.features * factor).astype(dtype), graph.labels)


def _contradicting():
    """Every edge twice, in both directions, with weights that disagree; and loops."""
    ring = _ring(N)
    edges = np.concatenate([ring, ring[:, ::-1], ring, np.repeat(np.arange(N), 2).reshape(-1, 2)])
    weights = np.concatenate([np.full(N, 1e-3), np.full(N, 1e3), np.ones(2 * N)])
    return _graph(edges, weights=weights)


def _two_parts():
    half = N // 2
    return _graph(np.concatenate([_pairs(half), half + _pairs(half)]), labels=np.arange(N) // half)


def _of_all_sizes():
    return _graph(_ring(N), np.random.default_rng(0).random((N, 3)) * [1e30, 1e-30, 1.0])


GRAPHS = {
    "no edges": lambda: _graph(NO_EDGES),
    "one node": lambda: _graph(NO_EDGES, n=1, labels=[0]),
    "two nodes": lambda: _graph([(0, 1)], n=2, labels=[0, 1]),
    "one class": lambda: _graph(_ring(N), labels=np.zeros(N, int)),
    "no class": lambda: _graph(_ring(N), labels=np.full(N, -1)),
    "star": lambda: star(300),
    "clique": lambda: _graph(_pairs(N)),
    "two parts": _two_parts,
    "isolated nodes": lambda: _graph(_pairs(6)),
    "zero features": lambda: _graph(_ring(N), np.zeros((N, 3))),
    "constant features": lambda: _graph(_ring(N), np.full((N, 3), 7.0)),
    "one constant feature": lambda: _graph(_ring(N), np.ones((N, 1))),
    "half of the rows zero": lambda: _graph(_ring(N), np.outer(np.arange(N) % 2, np.arange(1.0, 5))),
    "every node a class": lambda: _graph(_ring(200), n=200, labels=np.arange(200)),
    "huge features": lambda: _scaled(1e30),
    "features beyond float32": lambda: _scaled(1e200),
    "tiny features": lambda: _scaled(1e-30),
    "features below float32": lambda: _scaled(1e-200),
    "huge and tiny together": _of_all_sizes,
    "negative features": lambda: _scaled(-1.0),
    "huge weights": lambda: _graph(_ring(N), weights=np.full(N, 1e30)),
    "tiny weights": lambda: _graph(_ring(N), weights=np.full(N, 1e-30)),
    "weights from tiny to huge": lambda: _graph(_ring(N), weights=10.0 ** np.linspace(-35, 35, N)),
    "contradicting edges": _contradicting,
}

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
    """All answers of a model of a graph, as arrays."""
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
    """Finite answers, or a sentence; other libraries do not even warn."""
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
def test_answers_of_other_methods_are_finite(name, variant):
    graph = GRAPHS[name]()
    settings = {} if variant in ("label-propagation", "smoother") else {"epochs": EPOCHS}
    train = np.arange(max(1, graph.n_nodes // 2))
    model = kn.NodeKernelClassifier(variant, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kn.KernodeWarning)
        model.fit(train, graph.labels[train], graph=graph)
    assert np.isfinite(model.predict_proba(np.arange(graph.n_nodes))).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["default", "links"])
@pytest.mark.parametrize("make", [lambda: star(30_000), a_thousand_classes], ids=["star", "classes"])
def test_a_large_strange_graph_trains(make, method):
    started = time.process_time()
    check(make(), method)
    assert time.process_time() - started < 300


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-30, 1e30])
@pytest.mark.parametrize("variant", ["k3", "n1", "similarity", "hops-standardized"])
def test_variants_that_scale_features_learn_the_same_from_any_unit(variant, factor):
    graph = clustered_graph(n=60)
    train, validation, test = np.arange(30), np.arange(30, 40), np.arange(40, 60)

    def predicted(features):
        scaled = kn.Graph(graph.adjacency, features, graph.labels)
        model = kn.NodeKernelClassifier(variant, epochs=10)
        return model.fit(train, graph.labels[train], graph=scaled, validation=validation).predict_proba(test)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kn.KernodeWarning)
        assert np.allclose(predicted(graph.features), predicted(graph.features * factor), atol=1e-3)
