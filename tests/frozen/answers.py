"""What fitted estimators answer in float64, on the graphs of cases.py."""

import numpy as np

import kernode as kn
from frozen.cases import SYNTHETIC

TRAINED = {"epochs": 20, "precision": 64, "random_state": 3, "device": "cpu"}
NODES = kn.positions([0, 7, 20, 33, 41, 58])
PAIRS = [(0, 1), (0, 7), (3, 9), (20, 41)]


def synthetic():
    return kn.load(SYNTHETIC, split="0.5/0.25/0.25", seed=2)


def fit(estimator, data, **more):
    """Fit with validation nodes."""
    graph, split = data
    y = graph.labels[split.train]
    return estimator.fit(split.train, y, graph=graph, validation=split.validation, **more)


def about_nodes(model, nodes=NODES):
    """What every classifier answers."""
    return {
        "classes": model.predict(nodes),
        "probabilities": model.predict_proba(nodes),
        "gram": model.kernel_.gram(nodes[:3], nodes[3:]),
        "similar": model.similar(nodes[:2], k=3),
        "odd": model.odd(nodes),
    }


def explanations(model, nodes=NODES):
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
    return about_nodes(model) | explanations(model) | {"report": report}


def centroids():
    model = fit(kn.NodeKernelClassifier("k1", **TRAINED), kn.load("graph.npz", "split.json"))
    more = model.add_labels(kn.positions([50, 53]), [7, 7])  # a class of its own
    return about_nodes(model) | explanations(model) | {"more": more.predict_proba(NODES)}


def auto():
    model = fit(kn.NodeKernelClassifier(replicas=2, **TRAINED), kn.load("graph.npz", "split.json"))
    return about_nodes(model) | explanations(model)


def own_parts():
    kernel = kn.kernels.RBF(gamma=0.5, learned=True)
    model = kn.NodeKernelClassifier("k3", map=kn.maps.GCN((16,)), kernel=kernel, **TRAINED)
    return about_nodes(fit(model, synthetic()))


def weighted():
    graph, split = data = synthetic()
    model = kn.NodeKernelClassifier("k3", class_weights="balanced", **TRAINED)
    return about_nodes(fit(model, data, sample_weight=1 + np.arange(len(split.train)) % 3))


def tables():
    """Without validation nodes folds choose; then two nodes arrive."""
    graph = kn.read_table("papers.csv", "papers-nodes.csv", label="topic")
    known = kn.positions(np.flatnonzero(graph.labels >= 0))
    topics = np.array(graph.class_names)[graph.labels[known]]
    model = kn.NodeKernelClassifier("k3", folds=3, **TRAINED).fit(known, topics, graph=graph)
    names = np.array(["p0", "p8", "p20", "p33", "p41", "p58"])
    larger = model.extend(None, "new-nodes.csv", "new.csv")
    arrived = {"arrived": larger.predict_proba(["new1", "new2"]), "then": larger.predict_proba(names)}
    return about_nodes(model, names) | explanations(model, names) | arrived


def transformer():
    model = fit(kn.NodeKernelTransformer("k3", replicas=2, **TRAINED), synthetic())
    return {"vectors": model.transform(NODES), "gram": model.kernel_.gram(NODES)}


def links():
    graph, _ = kn.load("graph.npz", "split.json")
    model = kn.LinkPredictor("kernel", replicas=2, **TRAINED).fit(kn.split_edges(graph, seed=4))
    return {
        "probabilities": model.predict_proba(PAIRS),
        "log-odds": model.decision_function(PAIRS),
        "missing": model.missing_links(k=3),
        "missing of a node": model.missing_links(5, k=3),
        "gram": model.kernel_.gram(NODES),
        "report": model.report(),
    }


def embedding():
    graph, _ = kn.load("graph.npz", "split.json")
    model = kn.LinkKernelTransformer(map=kn.maps.HopMLP((16,), 8), **TRAINED).fit(graph)
    return {"vectors": model.transform(NODES), "similar": model.similar(5, k=3)}


ANSWERS = {one.__name__: one for one in (
    softmax, centroids, auto, own_parts, weighted, tables, transformer, links, embedding,
)}  # fmt: skip


def answer(name):
    return ANSWERS[name]()
