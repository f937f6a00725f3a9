"""What the explorer says of nodes as they are: class, similar nodes, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError
from kernode.graph import Graph, positions
from kernode.graph.neighbourhoods import spheres
from kernode.explain.similar import restricted
from kernode.explain.explain import explain_node, explain_pair
from kernode.explain.explanation import Features, Part, Shown
from kernode.show.explorer.view import View

_NEIGHBOURS = 200  # of a node that are listed
_FEATURES = 100


def about(view: View, name: str) -> dict[str, Any]:
    """A node's class, the chance of each, its neighbours and its features."""
    at = view.names.find(name)
    graph = view.on.graph
    around = _around(graph, at)
    return {
        **view.node(at),
        "chances": chances(view, view.chances[at]),
        "degree": len(around),
        "neighbours": [view.node(int(one)) for one in around[:_NEIGHBOURS]],
        **_own_features(view, at),
    }


def chances(view: View, values: Any) -> list[dict[str, Any]]:
    """Classes with their chances, the likeliest first."""
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError("the answer is not a finite number. Are some of the values too large?")
    order = np.argsort(-values, kind="stable").tolist()
    classes = view.model_classes
    return [{"class": classes[i], "chance": float(values[i])} for i in order]


def similar(view: View, name: str, k: int, of_class: str | None = None) -> dict[str, Any]:
    """The k nodes most alike to one."""
    at = view.names.find(name)
    among = restricted(view.by_position.graph, None, of_class)
    (found,) = view.by_position.kernel.similar(positions([at]), k, among=among)
    return {
        "node": view.node(at),
        "exact": found.exact,
        "similar": [{**view.node(one), "similarity": value} for one, value in found],
    }


def explained(
    view: View, name: str, top: int, of_class: str | None = None, against: str | None = None
) -> dict[str, Any]:
    """Why a node has its class: what each neighbour, hop and feature adds to the lead over another."""
    at = view.names.find(name)
    if of_class is not None and of_class == against:
        raise InputError(f"{of_class!r} cannot be told from itself. Give another class for against.")
    classes = (_class(view, of_class), _class(view, against))
    return {"node": view.node(at), **explanation(view, explain_node(view.by_position, at, top, *classes), at)}


def explanation(view: View, found: Any, at: int, graph: Graph | None = None) -> dict[str, Any]:
    """An explanation as plain values; ``graph``: the one it is about, where it is not the view's."""
    graph = view.on.graph if graph is None else graph
    return {
        "chances": chances(view, found.probabilities),
        "of_class": class_name(view, found.of_class),
        "against": class_name(view, found.against),
        "lead": found.lead,
        "class_bias": found.class_bias,
        "hops": [{"hops": hop.hops, "value": hop.value} for hop in found.hops],
        "neighbours": _neighbours(view, found.neighbours),
        "features": _features(found.features),
        "held": found.held,
        **_ways(view, graph, at, found.neighbours),
    }


def pair(view: View, name: str, other: str, top: int) -> dict[str, Any]:
    """Why two nodes are alike: K(u, v) as a sum over pairs of neighbours."""
    one, two = view.names.find(name), view.names.find(other)
    found = explain_pair(view.by_position, one, two, top)
    return {
        "node": view.node(one),
        "other": view.node(two),
        "kernel": found.kernel,
        "similarity": found.similarity,
        "spread": found.spread,
        "pairs": [
            {
                "left": view.node(part.left),
                "right": view.node(part.right),
                "left_hops": part.left_hops,
                "right_hops": part.right_hops,
                "value": part.value,
                "spread": part.spread,
            }
            for part in found.pairs
        ],
        "rest": found.rest,
        "rest_count": found.rest_count,
        "neighbours": [_neighbours(view, shown) for shown in found.neighbours],
        "features": [_features(features) for features in found.features],
        "held": found.held,
    }


def k_of(view: View, name: str, other: str) -> dict[str, Any]:
    """K(u, v) alone, which every kernel has."""
    one, two = view.names.find(name), view.names.find(other)
    (value,) = view.by_position.kernel.pairs(positions([one]), positions([two])).tolist()
    return {
        "node": view.node(one),
        "other": view.node(two),
        "kernel": repr(view.by_position.kernel.base),
        "similarity": value,
    }


def _class(view: View, name: str | None) -> Any:
    """A class as the model has it."""
    if name is None:
        return None
    if name not in view.model_classes:
        known = ", ".join(view.model_classes)
        raise InputError(f"the model knows no class {name!r}. Choose of {known}.")
    return view.on.model.classes[view.model_classes.index(name)]


def class_name(view: View, one: Any) -> str:
    """What one of the model's classes is called."""
    return view.model_classes[view.on.model.classes.index(one)]


def _own_features(view: View, at: int) -> dict[str, Any]:
    """The features of a node that are not 0, the largest first."""
    row: Any = view.on.graph.features[[at]]
    row = row.toarray()[0] if sparse.issparse(row) else np.asarray(row)[0]
    there = np.flatnonzero(row)
    shown = there[np.argsort(-np.abs(row[there]), kind="stable")[:_FEATURES]].tolist()
    names, units = view.feature_names, view.feature_units
    return {
        "features": [{"name": names[i], "value": float(row[i]), "unit": units[i]} for i in shown],
        "feature_count": len(there),
    }


def _neighbours(view: View, shown: Shown) -> dict[str, Any]:
    return {
        "parts": [_neighbour(view, part) for part in shown.parts],
        "rest": shown.rest,
        "rest_count": shown.rest_count,
    }


def _neighbour(view: View, part: Part) -> dict[str, Any]:
    at = part.name
    # A node that arrives is in no list of the view's.
    node = view.node(at) if at < len(view.names.texts) else {"name": "", "index": None}
    words = [{"name": word.name, "value": word.value} for word in part.words]
    return {**node, "value": part.value, "spread": part.spread, "hops": part.hops, "words": words}


def _features(features: Features) -> dict[str, Any]:
    shown = features.shown
    return {
        "parts": [{"name": p.name, "value": p.value, "spread": p.spread} for p in shown.parts],
        "rest": shown.rest,
        "rest_count": shown.rest_count,
        "constant": features.constant,
        "other_nodes": features.other_nodes,
        "other_count": features.other_count,
    }


def _ways(view: View, graph: Graph, at: int, shown: Shown) -> dict[str, Any]:
    """A way over edges from each shown node to the one in the middle: who comes in through whom.

    Where there are several ways, it is the one through the neighbour that adds most. ``passing`` are nodes on
    the way that are not shown themselves.
    """
    adds = {part.name: abs(part.value) for part in shown.parts}
    furthest = max((part.hops or 0 for part in shown.parts), default=0)
    at_hop = [{at}, set(_around(graph, at).tolist())]
    if furthest > 2:
        at_hop = [set(one.tolist()) for one in spheres(graph, [at], furthest - 1)]
    through: dict[int, int] = {}
    for part in shown.parts:
        node, left = part.name, part.hops or 0
        while left > 0 and node not in through:
            nearer = at_hop[left - 1].intersection(_around(graph, node).tolist())
            through[node] = max(nearer, key=lambda one: (adds.get(one, 0.0), -one))
            node, left = through[node], left - 1
    passing = [node for node in through if node not in adds]
    return {
        "links": [{"from": near, "to": far} for far, near in through.items()],
        "passing": [view.node(node) for node in passing],
    }


def _around(graph: Graph, node: int) -> np.ndarray:
    """A node's neighbours, read where they stand: a sparse matrix of one row takes longer to make."""
    starts = graph.adjacency.indptr
    return graph.adjacency.indices[starts[node] : starts[node + 1]]
