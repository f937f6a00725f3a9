"""Answers about a changed graph: other edges or features of a node, or a new node.

Nothing is stored: a graph is a value, and the changed one is dropped after the answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from kernode.data.tables import extend
from kernode.errors import InputError
from kernode.graph import Graph, positions
from kernode.graph.edits import Edit
from kernode.node_classification.explaining import explain_node
from kernode.node_classification.what_if import changed_features, column_of, what_if
from kernode.viz.explorer.answers import chances, class_name, explanation
from kernode.viz.explorer.state import ExplorerState


def changed(
    state: ExplorerState,
    name: str,
    add: Sequence[str],
    remove: Sequence[str],
    features: Mapping[str, float],
    columns: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a node's class probabilities before and after a change of its edges or features."""
    at, graph = state.names.find(name), state.on.graph
    if not (add or remove or features or columns):
        raise InputError("nothing changes. Give edges to add or to remove, features, or columns.", "missing")
    edit = Edit(
        tuple((at, state.names.find(one)) for one in add),
        tuple((at, state.names.find(one)) for one in remove),
        changed_features(graph, at, features, columns),
    )
    with _without_warnings():
        found = what_if(state.on, at, edit)
    return {
        "node": state.node(at),
        "was": class_name(state, found.was),
        "becomes": class_name(state, found.becomes),
        "before": chances(state, found.before),
        "after": chances(state, found.after),
        "notes": _weight_notes(state, add),
    }


def arrived(
    state: ExplorerState,
    name: str,
    columns: Mapping[str, Any],
    features: Mapping[str, float],
    edges: Sequence[str],
    k: int,
) -> dict[str, Any]:
    """Return the class of a new node, the nodes most similar to it, and an explanation."""
    graph, n = state.on.graph, state.on.graph.n_nodes
    if name in state.names.texts:
        raise InputError(
            f"a node of {graph.name!r} is called {name!r} already. Give the new one another name.",
            "duplicate",
        )
    ends = [state.names.find(one) for one in edges]
    if len(set(ends)) < len(ends):
        raise InputError("a neighbour of the new node is listed twice. List each once.", "duplicate")
    with _without_warnings():
        larger = (
            _with_features(graph, name, columns, features, ends)
            if graph.encoding is None
            else _with_columns(graph, name, columns, features, [state.names.texts[end] for end in ends])
        )
        on = state.on.extended(larger)
        likely = chances(state, on.chances(np.array([n]))[0])
        bare = replace(on, graph=replace(larger, node_names=None), known_g=on.g, prepared=None)
        (found,) = bare.kernel.similar(positions([n]), k)
        answer: dict[str, Any] = {
            "name": name,
            "chances": likely,
            "class": likely[0]["class"],
            "similar": [{**state.node(one), "similarity": value} for one, value in found],
            "notes": [*larger.notes[len(graph.notes) :], *_weight_notes(state, edges)],
            "explanation": None,
        }
        if state.no_explanation is None:
            why = explanation(state, explain_node(bare, n), n, bare.graph)
            for part in why["neighbours"]["parts"]:
                part["name"] = part["name"] if part["index"] is not None else name
            answer["explanation"] = why
    return answer


def _with_features(
    graph: Graph, name: str, columns: Mapping[str, Any], features: Mapping[str, float], ends: list[int]
) -> Graph:
    """Add a node with feature numbers to a graph that was not read from tables."""
    if columns:
        sentence = f"{graph.name!r} was not read from tables. Give features, by name or number."
        raise InputError(sentence, "no-effect", setting="columns")
    row = np.zeros((1, graph.n_features))
    for column, value in features.items():
        row[0, column_of(graph, column)] = value
    pairs = positions(np.array([(graph.n_nodes, end) for end in ends], dtype=np.int64).reshape(-1, 2))
    names = None if graph.node_names is None else [name]
    return extend(graph, row, pairs if graph.node_names is not None else np.asarray(pairs), names=names)


def _with_columns(
    graph: Graph, name: str, columns: Mapping[str, Any], features: Mapping[str, float], ends: list[str]
) -> Graph:
    """Add a row to a graph that was read from tables."""
    encoding = graph.encoding
    if features:
        sentence = f"{graph.name!r} was read from tables. Give columns, as the table has them."
        raise InputError(sentence, "no-effect", setting="features")
    known = [column.name for column in encoding.columns]
    unknown = next((column for column in columns if column not in known), None)
    if unknown is not None:
        sentence = f"{graph.name!r} has no column {unknown!r}. It has {', '.join(known) or 'none'}."
        raise InputError(sentence, "unknown", what="column", name=unknown)
    nodes = {encoding.id or "id": [name], **{column: [columns.get(column)] for column in known}}
    edges: dict[str, list[Any]] = {encoding.source: [name] * len(ends), encoding.target: ends}
    if encoding.weight is not None:
        edges[encoding.weight] = [1.0] * len(ends)
    return extend(graph, nodes, edges if ends else None)


def _weight_notes(state: ExplorerState, new_edges: Sequence[str]) -> list[str]:
    if not (new_edges and state.is_weighted):
        return []
    weights = state.on.graph.adjacency.data
    span = f"{weights.min():.4g} to {weights.max():.4g}"
    return [f"New edges count with weight 1; those of the graph have weights from {span}."]


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep warnings off the server's terminal: the answer has notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
