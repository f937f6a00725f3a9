"""Labels that the model doubts: known classes of nodes that another class fits better."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.graph import positions
from kernode.graph.share import require_whole
from kernode.tasks.classes.on_graph import NodeModelOnGraph

_COMPARED = 5  # most similar training nodes in a reason


def doubtful_labels(on: NodeModelOnGraph, k: int | None = None) -> list[dict[str, Any]]:
    """The k labels that are most likely wrong (all doubtful ones if None), the most doubtful first.

    A label is doubtful if another class is more probable. The order is that of the margin
    p(predicted) − p(label), with probabilities of the replicas that were not trained on the node. Where every
    replica was trained on it, ``trained`` is True, and p(label) is optimistic.
    """
    require_whole(on.graph, "a list of doubtful labels")
    known, classes, nodes = on.classes.known, on.classes.classes, nodes_with_label(on)
    if not len(nodes):
        raise InputError(
            f"no node of {on.graph.name!r} has a known class of the model. Give a graph with labels.",
            "missing", setting="graph",
        )  # fmt: skip
    probabilities, trained = _held_out(on, nodes)
    labels, predicted = known[nodes], probabilities.argmax(axis=1)
    rows = np.arange(len(nodes))
    p_label, p_predicted = probabilities[rows, labels], probabilities[rows, predicted]
    order = np.argsort(p_label - p_predicted, kind="stable")
    order = order[p_label[order] < p_predicted[order]][:k]
    reasons = _reasons(on, nodes[order], predicted[order])
    names = nodes if on.graph.node_names is None else on.graph.node_names[nodes]
    return [
        {
            "node": names[i].item(),
            "label": classes[labels[i]],
            "predicted": classes[predicted[i]],
            "p_label": float(p_label[i]),
            "p_predicted": float(p_predicted[i]),
            "trained": bool(trained[i]),
            "reason": reason,
        }
        for i, reason in zip(order.tolist(), reasons, strict=True)
    ]


def nodes_with_label(on: NodeModelOnGraph) -> np.ndarray:
    """Nodes whose known class is one that the model can predict."""
    known = on.classes.known
    return np.flatnonzero((known >= 0) & (known < len(on.model.classes)))


def _held_out(on: NodeModelOnGraph, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated probabilities by the replicas not trained on a node: m × c; whether there are none: m.

    Nodes that trained every replica have the mean of all.
    """
    by_run = on.probabilities(nodes)  # r × m × c
    trained = np.zeros((len(by_run), len(nodes)), bool)
    if on.has_training_nodes:
        trained[:] = [np.isin(nodes, row) for row in on.model.train]
    everywhere = np.logical_and.reduce(trained, axis=0)
    counts = ~trained | everywhere
    mean = (by_run * counts[:, :, None]).sum(axis=0) / counts.sum(axis=0)[:, None]
    return on.model.calibrated(mean), everywhere


def _reasons(on: NodeModelOnGraph, nodes: np.ndarray, predicted: np.ndarray) -> list[str]:
    """How many of the most similar training nodes and of the neighbours have the predicted class."""
    known, names, graph = on.classes.known, on.classes.names, on.graph
    similar: list[list[int]] = [[] for _ in nodes]
    if len(nodes) and on.has_training_nodes and on.model.method.has_kernel:
        train = positions(np.unique(on.model.train))
        found = on.kernel.similar(positions(nodes), _COMPARED, among=train)
        similar = [graph.find([node for node, _ in one]).tolist() for one in found]
    reasons = []
    for node, number, nearest in zip(nodes.tolist(), predicted.tolist(), similar, strict=True):
        start, stop = graph.adjacency.indptr[node : node + 2]
        neighbours = graph.adjacency.indices[start:stop].tolist()
        groups = {"most similar training nodes": nearest, "neighbours with a label": neighbours}
        parts = []
        for what, group in groups.items():
            counts = Counter(one for one in known[group].tolist() if one >= 0) if group else Counter()
            if counts:
                parts.append(f"{counts[number]} of {counts.total()} {what} are {names[number]}")
        reasons.append("; ".join(parts) or "no neighbour has a label")
    return reasons
