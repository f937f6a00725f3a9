"""From nodes and their classes, as an estimator gets them, to labelled nodes; what cannot be is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.errors import InputError, warn
from kernode.graph import Graph
from kernode.graph.lookup import as_classes, as_nodes, found, warn_of_similar_labels
from kernode.node_classification.task import LabelledNodes

_MANY_OTHERS = 0.1  # share of nodes whose class is another than the graph's


def labelled(
    nodes: np.ndarray, y: np.ndarray, graph: Graph, validation: Any
) -> tuple[np.ndarray, LabelledNodes]:
    """The classes that there are, and the nodes as numbers of them: all train, validation nodes validate."""
    if y.shape != nodes.shape:
        raise InputError(f"nodes and y must be two lists of one length. Got {nodes.shape} and {y.shape}.")
    if len(nodes) == 0:
        raise InputError("there are no training nodes. Give at least one labelled node per class.")
    require_classes(nodes, y, graph, "training")
    _require_one_class_each(nodes, y, graph)
    classes = np.unique(y)
    _question(classes.tolist())
    _compare(nodes, y, graph)
    chosen, chosen_labels = _validating(validation, nodes, y, graph)
    return classes, LabelledNodes(
        nodes[None],
        np.searchsorted(classes, y)[None],
        chosen[None],
        _numbered(chosen_labels, classes)[None],
    )


def require_classes(
    nodes: np.ndarray, y: np.ndarray, graph: Graph, part: str, known: np.ndarray | None = None
) -> None:
    """Raise where a class is none: empty, or −1.

    −1 is a class where it is among the ``known`` ones, and beside 1 alone, of nodes that have a class in
    the graph or in a graph that knows none.
    """
    if y.dtype.kind not in "iu":
        without = np.array([_is_none(one) for one in y.tolist()], bool)
    elif known is not None and -1 in known:
        without = y < -1
    else:
        without = y < 0
        if set(np.unique(y).tolist()) == {-1, 1} and (graph.labels >= 0).any():
            without &= graph.labels[nodes] < 0
        elif set(np.unique(y).tolist()) == {-1, 1}:
            without[:] = False
    if without.any():
        more = f" (and {without.sum() - 1:,} others)" if without.sum() > 1 else ""
        node = graph.lookup.name(nodes[without][0])
        way = "" if y.dtype.kind not in "iu" else ", or give classes as text if −1 is one"
        raise InputError(f"node {node}{more} has no label: keep it out of the {part} nodes{way}.")


def _is_none(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value)  # NaN
    except TypeError:  # pandas' NA
        return True


def _require_one_class_each(nodes: np.ndarray, y: np.ndarray, graph: Graph) -> None:
    order = np.argsort(nodes, kind="stable")
    again = order[1:][(nodes[order[1:]] == nodes[order[:-1]]) & (y[order[1:]] != y[order[:-1]])]
    if len(again):
        node = nodes[again[0]]
        one, other = np.unique(y[nodes == node])[:2].tolist()
        raise InputError(
            f"node {graph.lookup.name(node)} is given two classes, {one!r} and {other!r}. Keep the right one."
        )


def _question(classes: list[Any]) -> None:
    """Warn of classes that may be none, or one written in two ways."""
    names = [name for name in classes if isinstance(name, str)]
    warn_of_similar_labels("y", names)
    for name in names:
        if name.strip().lower() in ("unknown", "n/a", "nan"):
            warn(f"y holds {name!r}, which is a class here. Leave those nodes out if it means not known.")


def _compare(nodes: np.ndarray, y: np.ndarray, graph: Graph) -> None:
    """Warn where the classes are the graph's, but not of these nodes: rows out of order, mostly."""
    told = graph.labels[nodes] >= 0
    names = np.array(graph.class_names, dtype=object)
    own = graph.labels[nodes[told]] if y.dtype.kind in "iu" else names[graph.labels[nodes[told]]]
    if not told.any() or set(own.tolist()) != set(y[told].tolist()):
        return
    other = np.flatnonzero(own != y[told])
    if len(other) > _MANY_OTHERS * len(own):
        first, node = other[0], graph.lookup.name(nodes[told][other[0]])
        here, there = (classes.tolist()[first] for classes in (y[told], own))
        warn(
            f"y is not what the graph has for {len(other):,} of {len(own):,} nodes: {node} is {here!r} here "
            f"and {there!r} there. Check that nodes and y are in one order, or else y is another target."
        )


def _validating(
    validation: Any, nodes: np.ndarray, y: np.ndarray, graph: Graph
) -> tuple[np.ndarray, np.ndarray]:
    """Validation nodes and their classes, as given in a pair or the graph's own; none of them trains."""
    if validation is None:
        return np.empty(0, np.int64), y[:0]
    if isinstance(validation, tuple) and len(validation) == 2 and np.ndim(validation[0]) == 1:
        chosen, labels = found(graph, as_nodes(validation[0]), as_classes(validation[1]))
        if chosen.shape != labels.shape:
            raise InputError(f"validation nodes and classes must match. Got {chosen.shape}, {labels.shape}.")
    else:
        chosen = graph.find(as_nodes(validation))
        labels = _own_labels(chosen, nodes, y, graph)
    both = np.intersect1d(chosen, nodes)
    if len(both):
        raise InputError(
            f"node {graph.lookup.name(both[0])} trains and validates ({len(both):,} such nodes). "
            "Keep each in one part."
        )
    return chosen, labels


def _own_labels(chosen: np.ndarray, nodes: np.ndarray, y: np.ndarray, graph: Graph) -> np.ndarray:
    """The graph's own classes in the words of y, if these are the graph's."""
    without = graph.labels[chosen] < 0
    if without.any():
        node = graph.lookup.name(chosen[without][0])
        raise InputError(f"node {node} has no label: keep it out of the validation nodes.")
    if y.dtype.kind in "iu":
        own = np.arange(graph.n_classes)
    elif y.dtype.kind in "UO" and all(isinstance(one, str) for one in y.tolist()):
        own = np.array(graph.class_names, dtype=object)
    else:
        raise InputError(
            f"classes of type {y.dtype} are not the graph's own: pass validation=(nodes, classes)."
        )
    told = graph.labels[nodes] >= 0
    if (own[graph.labels[nodes][told]] != y[told]).any():
        node = nodes[told][own[graph.labels[nodes][told]] != y[told]][0]
        raise InputError(
            f"the classes in y are not the graph's own (node {graph.lookup.name(node)} has another there): "
            "pass validation=(nodes, classes)."
        )
    return own[graph.labels[chosen]].astype(y.dtype)


def _numbered(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Positions of labels among the classes, −1 for a class that is not there."""
    at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[at] == labels, at, -1)
