"""What fitted estimators answer in float64, on the graphs of cases.py."""

import numpy as np

import kernode as kn
from frozen.cases import WORDS

TRAINED = {"epochs": 20, "precision": 64, "random_state": 3, "device": "cpu"}
NODES = kn.positions([0, 7, 20, 33, 41, 58])
PAIRS = [(0, 1), (0, 7), (3, 9), (20, 41)]


def synthetic():
    return kn.load(WORDS["SYNTHETIC"], split="0.5/0.25/0.25", seed=2)


def from_file():
    return kn.load("graph.npz", split="split.json")


def fit(estimator, data, **more):
    """Fit with validation nodes."""
    graph, split = data
    y = graph.labels[split.train]
    return estimator.fit(split.train, y, graph=graph, validation=split.validation, **more)


def answers_of(model, nodes=NODES):
    return {
        "classes": model.predict(nodes),
        "probabilities": model.predict_proba(nodes),
        "gram": model.kernel_.gram(nodes[:3], nodes[3:]),
        "similar": model.similar(nodes[:2], k=3),
        "odd": model.odd(nodes),
    }


def reasons_of(model, nodes=NODES):
    node, other = nodes[:1], nodes[1:2]
    return {
        "node": model.explain(node, top=2).to_json(),
        "pair": model.explain(node, other, top=2).to_json(),
        "smallest": model.smallest_change(node).result.after,
        "what_if": model.what_if(node, add=other).after,
    }


def softmax():
    graph, split = data = synthetic()
    model = fit(kn.NodeKernelClassifier("k3", replicas=3, **TRAINED), data)
    report = model.report(split.test, graph.labels[split.test]).to_json()
    return answers_of(model) | reasons_of(model) | {"report": report}


def centroids():
    model = fit(kn.NodeKernelClassifier("k1", **TRAINED), from_file())
    more = model.add_labels(kn.positions([50, 53]), [7, 7])  # a new class
    return answers_of(model) | reasons_of(model) | {"more": more.predict_proba(NODES)}


def fast():
    model = fit(kn.NodeKernelClassifier("fast", replicas=2, **TRAINED), from_file())
    return answers_of(model) | reasons_of(model)


def own_parts():
    parts = {"map": kn.maps.GCN((16,)), "kernel": kn.kernels.RBF(gamma=0.5, learned=True)}
    model = kn.NodeKernelClassifier("k3", **parts, class_weights="balanced", **TRAINED)
    return answers_of(fit(model, from_file(), sample_weight=1 + np.arange(36) % 3))


def tables():
    """Without validation nodes folds choose; then two nodes arrive."""
    graph = kn.read_table("papers.csv", "papers-nodes.csv", label="topic")
    known = kn.positions(np.flatnonzero(graph.labels >= 0))
    topics = np.array(graph.class_names)[graph.labels[known]]
    model = kn.NodeKernelClassifier("k3", folds=3, **TRAINED).fit(known, topics, graph=graph)
    names = np.array(["p0", "p8", "p20", "p33", "p41", "p58"])
    larger = model.extend(None, "new-nodes.csv", "new.csv")
    arrived = {"arrived": larger.predict_proba(["new1", "new2"]), "then": larger.predict_proba(names)}
    return answers_of(model, names) | reasons_of(model, names) | arrived


def transformer():
    model = fit(kn.NodeKernelTransformer("k3", replicas=2, **TRAINED), synthetic())
    return {"vectors": model.transform(NODES), "gram": model.kernel_.gram(NODES)}


def links():
    graph, _ = from_file()
    model = kn.LinkPredictor("kernel", replicas=2, **TRAINED).fit(kn.split_edges(graph, seed=4))
    return {
        "probabilities": model.predict_proba(PAIRS),
        "log-odds": model.decision_function(PAIRS),
        "missing": [model.missing_links(k=3), model.missing_links(5, k=3)],
        "gram": model.kernel_.gram(NODES),
        "report": model.report().to_json(),
    }


def embedding():
    graph, _ = from_file()
    model = kn.LinkKernelTransformer(map=kn.maps.HopMLP((16,), 8), **TRAINED).fit(graph)
    return {"vectors": model.transform(NODES), "similar": model.similar(5, k=3)}


_ALL = (softmax, centroids, fast, own_parts, tables, transformer, links, embedding)
ANSWERS = {one.__name__: one for one in _ALL}
