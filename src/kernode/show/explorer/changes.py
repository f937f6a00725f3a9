"""What the explorer says of a graph that is otherwise: a node's edges or features changed, or a node added.

Nothing is stored: a graph is a value, and the other graph lives as long as its answer is computed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.graph import Graph, positions
from kernode.graph.edits import Edit
from kernode.io.tables import extend
from kernode.node_classification.explaining import explain_node
from kernode.node_classification.what_if import changed_features, column_of, what_if
from kernode.show.explorer.answers import chances, class_name, explanation
from kernode.show.explorer.view import View


def changed(
    view: View,
    name: str,
    add: Sequence[str],
    remove: Sequence[str],
    features: Mapping[str, float],
    columns: Mapping[str, Any],
) -> dict[str, Any]:
    """The chances of a node's classes if it had other edges or features, beside those it has."""
    at, graph = view.names.find(name), view.on.graph
    if not (add or remove or features or columns):
        raise InputError("nothing would change. Give edges to add or to remove, features, or columns.")
    edit = Edit(
        tuple((at, view.names.find(one)) for one in add),
        tuple((at, view.names.find(one)) for one in remove),
        changed_features(graph, at, features, columns),
    )
    with _in_silence():
        found = what_if(view.on, at, edit)
    return {
        "node": view.node(at),
        "was": class_name(view, found.was),
        "becomes": class_name(view, found.becomes),
        "before": chances(view, found.before),
        "after": chances(view, found.after),
        "notes": _of_weights(view, add),
    }


def arrived(
    view: View,
    name: str,
    columns: Mapping[str, Any],
    features: Mapping[str, float],
    edges: Sequence[str],
    k: int,
) -> dict[str, Any]:
    """The class of a node that is not in the graph, the nodes most alike to it, and why."""
    graph, n = view.on.graph, view.on.graph.n_nodes
    if name in view.names.texts:
        raise InputError(
            f"a node of {graph.name!r} is called {name!r} already. Give the new one another name."
        )
    ends = [view.names.find(one) for one in edges]
    if len(set(ends)) < len(ends):
        raise InputError("a neighbour of the new node is listed twice. List each once.")
    with _in_silence():
        larger = (
            _with_features(graph, name, columns, features, ends)
            if graph.encoding is None
            else _with_columns(graph, name, columns, features, [view.names.texts[end] for end in ends])
        )
        on = view.on.extended(larger)
        likely = chances(view, on.chances(np.array([n]))[0])
        bare = replace(on, graph=replace(larger, node_names=None), known_g=on.g, prepared=None)
        (found,) = bare.kernel.similar(positions([n]), k)
        answer: dict[str, Any] = {
            "name": name,
            "chances": likely,
            "class": likely[0]["class"],
            "similar": [{**view.node(one), "similarity": value} for one, value in found],
            "notes": [*larger.notes[len(graph.notes) :], *_of_weights(view, edges)],
            "explanation": None,
        }
        if view.no_explanation is None:
            why = explanation(view, explain_node(bare, n), n, bare.graph)
            for part in why["neighbours"]["parts"]:
                part["name"] = part["name"] if part["index"] is not None else name
            answer["explanation"] = why
    return answer


def _with_features(
    graph: Graph, name: str, columns: Mapping[str, Any], features: Mapping[str, float], ends: list[int]
) -> Graph:
    """A graph that was not read from tables, and a node with feature numbers."""
    if columns:
        raise InputError(f"{graph.name!r} was not read from tables. Give features, by name or number.")
    row = np.zeros((1, graph.n_features))
    for column, value in features.items():
        row[0, column_of(graph, column)] = value
    pairs = positions(np.array([(graph.n_nodes, end) for end in ends], dtype=np.int64).reshape(-1, 2))
    names = None if graph.node_names is None else [name]
    return extend(graph, row, pairs if graph.node_names is not None else np.asarray(pairs), names=names)


def _with_columns(
    graph: Graph, name: str, columns: Mapping[str, Any], features: Mapping[str, float], ends: list[str]
) -> Graph:
    """A graph that was read from tables, and a row more of the same columns."""
    encoding = graph.encoding
    if features:
        raise InputError(f"{graph.name!r} was read from tables. Give columns, as the table has them.")
    known = [column.name for column in encoding.columns]
    strange = next((column for column in columns if column not in known), None)
    if strange is not None:
        raise InputError(f"{graph.name!r} has no column {strange!r}. It has {', '.join(known) or 'none'}.")
    nodes = {encoding.id or "id": [name], **{column: [columns.get(column)] for column in known}}
    edges: dict[str, list[Any]] = {encoding.source: [name] * len(ends), encoding.target: ends}
    if encoding.weight is not None:
        edges[encoding.weight] = [1.0] * len(ends)
    return extend(graph, nodes, edges if ends else None)


def _of_weights(view: View, new_edges: Sequence[str]) -> list[str]:
    if not (new_edges and view.is_weighted):
        return []
    weights = view.on.graph.adjacency.data
    span = f"{weights.min():.4g} to {weights.max():.4g}"
    return [f"New edges count with weight 1; those of the graph have weights from {span}."]


@contextmanager
def _in_silence() -> Iterator[None]:
    """What there is to say stands in the answer's notes, not on the server's terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
