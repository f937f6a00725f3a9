"""The addresses under /api: class or number, similar nodes, explanations; the same for a changed graph.

Nothing is stored: a graph is a value, and a changed one is dropped after the answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from scipy import sparse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from kernode.errors import InputError
from kernode.explain.explain import explain_node, explain_pair
from kernode.explain.explanation import Features, Shown
from kernode.explain.similar import restricted
from kernode.explain.what_if import changed_features, column_of, what_if
from kernode.graph import Graph, positions
from kernode.graph.edits import Edit
from kernode.graph.neighbourhoods import spheres
from kernode.io.tables import extend
from kernode.viz.explorer import numbers
from kernode.viz.explorer.numbers import NumberState
from kernode.viz.explorer.state import ExplorerState, matching

_NEIGHBOURS = 200  # of a node that are listed
_FEATURES = 100

Text = Annotated[str, Field(max_length=1000)]
Name = Annotated[Text, Field(description="A node by its name, or its number.")]
Top = Annotated[int, Field(ge=1, le=200, description="Number of the largest contributions.")]
Count = Annotated[int, Field(ge=1, le=1000, description="Number of similar nodes.")]
Limit = Annotated[int, Field(ge=1, le=50)]
Unlisted = Annotated[bool, Field(description="Include nodes that only edges mention.")]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e30, le=1e30)]
Vector = Annotated[list[Number], Field(max_length=10_000)]
Value = Annotated[str, Field(max_length=100_000)] | bool | Number | Vector | None


class _Changed(BaseModel):
    """Fields of both requests with a body."""

    model_config = ConfigDict(extra="forbid")
    columns: dict[Text, Value] = Field({}, max_length=1000, description="By name, for a graph from tables.")
    features: dict[Text, Number] = Field(
        {},
        max_length=1000,
        description="By name, as the model sees them: standardised for a graph from tables, see `unit` in "
        "/api/node and /api/features. Missing ones stay as they are, or are 0 for a new node.",
    )


class WhatIf(_Changed):
    """Changes of a node."""

    name: Name
    add: list[Text] = Field([], max_length=100, description="Nodes to connect it with, by edges of weight 1.")
    remove: list[Text] = Field([], max_length=100, description="Neighbours to disconnect it from.")


class NewNode(_Changed):
    """A node that is not in the graph."""

    name: Text = Field("new node", min_length=1)
    edges: list[Text] = Field([], max_length=100, description="Its neighbours, by edges of weight 1.")
    k: Count = 10


class Error(BaseModel):
    """An error, in one sentence."""

    error: str


async def _state(request: Request) -> Any:
    return request.app.state.explorer


async def _known_parameters(request: Request) -> None:
    """Refuse unknown query parameters."""
    known = {one.alias for one in request.scope["route"].dependant.query_params}
    for name in request.query_params:
        if name not in known:
            raise HTTPException(422, f"{name}: extra inputs are not permitted")


State = Annotated[Any, Depends(_state)]  # of classes or of numbers
Answer = dict[str, Any]
api = APIRouter(
    prefix="/api",
    dependencies=[Depends(_known_parameters)],
    responses={
        "4XX": {"model": Error, "description": "It cannot be answered."},
        "5XX": {"model": Error, "description": "The server failed; its log has the reason."},
    },
)


@api.get("/model")
async def model(state: State) -> Answer:
    """The model, its graph and its classes, or ranges of its numbers."""
    return state.description


@api.get("/names")
def names(state: State) -> list[str]:
    """The name of every node, in the order of /api/layout."""
    return state.node_names


@api.get("/layout", response_class=Response, description=ExplorerState.picture.__doc__)
async def layout(state: State) -> Response:
    """The place and the class of every node, or the range of its number."""
    return Response(state.picture, media_type="application/octet-stream")


@api.get("/nodes")
def nodes(state: State, search: Text = "", limit: Limit = 10) -> Answer:
    """Nodes whose name contains a part."""
    return {"nodes": [state.node(i) for i in matching(state.node_names, search, limit)]}


@api.get("/features")
def features(state: State, search: Text = "", limit: Limit = 10) -> Answer:
    """Features whose name contains a part."""
    names = [str(one["name"]) for one in state.features]
    return {"features": [state.features[i] for i in matching(names, search, limit)]}


@api.get("/node")
def node(state: State, name: Name) -> Answer:
    """A node: the probability of each class, or its number with an interval; its neighbours and features."""
    at = state.find(name)
    around = _around(state.graph, at)
    row: Any = state.graph.features[[at]]
    row = (row.toarray() if sparse.issparse(row) else np.asarray(row))[0]
    there = np.flatnonzero(row)
    largest = there[np.argsort(-np.abs(row[there]), kind="stable")[:_FEATURES]].tolist()
    return {
        **state.node(at),
        **_predicted(state, at),
        "degree": len(around),
        "neighbours": [state.node(int(one)) for one in around[:_NEIGHBOURS]],
        "features": [{**state.features[i], "value": float(row[i])} for i in largest],
        "feature_count": len(there),
    }


def _predicted(state: Any, at: int) -> Answer:
    """Return the probabilities of a node, or its number."""
    if isinstance(state, NumberState):
        return numbers.node_answer(state, at)
    return {"chances": _chances(state, state.chances[at])}


def _chances(state: ExplorerState, values: Any) -> list[Answer]:
    """Return classes with their probabilities, the most probable first."""
    order = np.argsort(-np.asarray(values), kind="stable").tolist()
    return [{"class": state.model_classes[i], "chance": float(values[i])} for i in order]


@api.get("/similar")
def similar(
    state: State, name: Name, k: Count = 10, of_class: Text | None = None, unlisted: Unlisted = False
) -> Answer:
    """The nodes most similar to one, by K on vectors of length 1."""
    if isinstance(state, NumberState):
        numbers.refuse_classes({"of_class": of_class})
    at = state.find(name)
    among = restricted(state.by_position.graph, None, of_class, unlisted=unlisted)
    (found,) = state.by_position.kernel.similar(positions([at]), k, among=among)
    return {
        "node": state.node(at),
        "exact": found.exact,
        "similar": [{**state.node(one), "similarity": value} for one, value in found],
    }


@api.get("/explain")
def explain(
    state: State, name: Name, top: Top = 10, of_class: Text | None = None, against: Text | None = None
) -> Answer:
    """Why a node has its class: contributions of neighbours, hops and features to its lead over another.

    Of numbers: the contributions of known numbers, and of features and edges.
    """
    at = state.find(name)
    if isinstance(state, NumberState):
        numbers.refuse_classes({"of_class": of_class, "against": against})
        return {"node": state.node(at), **numbers.explanation(state, at, top)}
    if of_class is not None and of_class == against:
        raise InputError(f"{of_class!r} is both classes. Give another class for against.", "conflict")
    classes = (_class(state, of_class), _class(state, against))
    found = explain_node(state.by_position, at, top, *classes)
    return {"node": state.node(at), **_explanation(state, found, at)}


def _explanation(state: ExplorerState, found: Any, at: int, graph: Graph | None = None) -> Answer:
    """Return an explanation as plain values; ``graph``: the one it is about, if it is not the state's."""
    return {
        **_fields(found, "lead", "class_bias", "held"),
        "chances": _chances(state, found.probabilities),
        "of_class": state.class_name(found.of_class),
        "against": state.class_name(found.against),
        "hops": [_fields(hop, "hops", "value") for hop in found.hops],
        "neighbours": _neighbours(state, found.neighbours),
        "features": _features(found.features),
        **_paths(state, state.graph if graph is None else graph, at, found.neighbours),
    }


@api.get("/pair")
def pair(state: State, name: Name, other: Name, top: Top = 10) -> Answer:
    """Why two nodes are similar: K(u, v) as a sum over pairs of neighbours."""
    if isinstance(state, NumberState):
        raise InputError(f"{numbers.NO_PAIR} See /api/kernel.", "unsupported")
    one, two = state.find(name), state.find(other)
    found = explain_pair(state.by_position, one, two, top)
    ends = ("left_hops", "right_hops", "value", "spread")
    return {
        "node": state.node(one),
        "other": state.node(two),
        **_fields(found, "kernel", "similarity", "spread", "rest", "rest_count", "held"),
        "pairs": [
            {"left": state.node(part.left), "right": state.node(part.right), **_fields(part, *ends)}
            for part in found.pairs
        ],
        "neighbours": [_neighbours(state, shown) for shown in found.neighbours],
        "features": [_features(features) for features in found.features],
    }


@api.get("/kernel")
def kernel(state: State, name: Name, other: Name) -> Answer:
    """K(u, v) without an explanation, for any kernel."""
    one, two = state.find(name), state.find(other)
    learned = state.by_position.kernel
    (value,) = learned.pairs(positions([one]), positions([two])).tolist()
    ends = {"node": state.node(one), "other": state.node(two)}
    return {**ends, "kernel": state.description["kernel"], "similarity": value}


@api.post("/what-if")
def change(state: State, request: WhatIf) -> Answer:
    """A node's class or number with other edges or features; nothing is stored."""
    at, graph = state.find(request.name), state.graph
    if not (request.add or request.remove or request.features or request.columns):
        raise InputError("nothing changes. Give edges to add or to remove, features, or columns.", "missing")
    edit = Edit(
        tuple((at, state.find(one)) for one in request.add),
        tuple((at, state.find(one)) for one in request.remove),
        changed_features(graph, at, request.features, request.columns),
    )
    if isinstance(state, NumberState):
        answer = numbers.changed(state, at, edit)
        return {"node": state.node(at), **answer, "notes": _weight_notes(state, request.add)}
    with warnings.catch_warnings(action="ignore"):  # the answer has notes
        found = what_if(state.on, at, edit)
    return {
        "node": state.node(at),
        "was": state.class_name(found.was),
        "becomes": state.class_name(found.becomes),
        "before": _chances(state, found.before),
        "after": _chances(state, found.after),
        "notes": _weight_notes(state, request.add),
    }


@api.post("/new-node")
def new_node(state: State, request: NewNode) -> Answer:
    """The class or number of a node that is not in the graph; nothing is stored."""
    graph, n, name = state.graph, state.graph.n_nodes, request.name
    if name in state.node_names:
        sentence = f"a node of {graph.name!r} is called {name!r} already. Give the new one another name."
        raise InputError(sentence, "duplicate", name=name)
    ends = [state.find(one) for one in request.edges]
    if len(set(ends)) < len(ends):
        raise InputError("a neighbour of the new node is listed twice. List each once.", "duplicate")
    with warnings.catch_warnings(action="ignore"):  # the answer has notes
        larger = _extended(graph, request, ends)
        notes = [*larger.notes[len(graph.notes) :], *_weight_notes(state, request.edges)]
        if isinstance(state, NumberState):
            return {"name": name, "notes": notes, **numbers.arrived(state, larger, request.k)}
        on = state.on.extended(larger)
        likely = _chances(state, on.calibrated(np.array([n]))[0])
        bare = replace(on, graph=replace(larger, node_names=None), known_g=on.g, prepared=None)
        (found,) = bare.kernel.similar(positions([n]), request.k, among=restricted(bare.graph))
        why = None
        if state.no_explanation is None:
            why = _explanation(state, explain_node(bare, n), n, bare.graph)
            for part in why["neighbours"]["parts"]:
                part["name"] = part["name"] if part["index"] is not None else name
    return {
        "name": name,
        "chances": likely,
        "class": likely[0]["class"],
        "similar": [{**state.node(one), "similarity": value} for one, value in found],
        "notes": notes,
        "explanation": why,
    }


def _class(state: ExplorerState, name: str | None) -> Any:
    """A class of the model by its name."""
    if name is None:
        return None
    if name not in state.model_classes:
        known = ", ".join(state.model_classes)
        sentence = f"the model has no class {name!r}. Choose from {known}."
        raise InputError(sentence, "unknown", what="class", name=name)
    return state.model.classes[state.model_classes.index(name)]


def _neighbours(state: ExplorerState, shown: Shown) -> Answer:
    def described(at: int) -> Answer:
        return state.node(at) if at < len(state.node_names) else {"name": "", "index": None}  # a new node

    parts = [
        {
            **described(part.name),
            **_fields(part, "value", "spread", "hops"),
            "words": [_fields(word, "name", "value") for word in part.words],
        }
        for part in shown.parts
    ]
    return {"parts": parts, **_fields(shown, "rest", "rest_count")}


def _features(features: Features) -> Answer:
    return {
        "parts": [_fields(part, "name", "value", "spread") for part in features.shown.parts],
        **_fields(features.shown, "rest", "rest_count"),
        **_fields(features, "constant", "other_nodes", "other_count"),
    }


def _fields(one: Any, *names: str) -> Answer:
    return {name: getattr(one, name) for name in names}


def _paths(state: ExplorerState, graph: Graph, at: int, shown: Shown) -> Answer:
    """Paths over edges from each shown node to the centre node.

    Of several paths, take the one through the neighbour that contributes most. ``passing``: nodes on a path
    that are not shown themselves.
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
        "passing": [state.node(node) for node in passing],
    }


def _around(graph: Graph, node: int) -> np.ndarray:
    """Neighbours of a node; slicing a sparse matrix takes longer."""
    starts = graph.adjacency.indptr
    return graph.adjacency.indices[starts[node] : starts[node + 1]]


def _extended(graph: Graph, new: NewNode, ends: list[int]) -> Graph:
    """The graph with a new node: a row of its tables, or features as numbers."""
    encoding = graph.encoding
    wrong = "columns" if encoding is None else "features"
    if getattr(new, wrong):
        read, right = ("was not read", "features") if encoding is None else ("was read", "columns")
        sentence = f"{graph.name!r} {read} from tables. Give {right}."
        raise InputError(sentence, "no-effect", setting=wrong)
    if encoding is None:
        row = np.zeros((1, graph.n_features))
        for feature, value in new.features.items():
            row[0, column_of(graph, feature)] = value
        pairs = positions(np.array([(graph.n_nodes, end) for end in ends], dtype=np.int64).reshape(-1, 2))
        return extend(graph, row, pairs, names=None if graph.node_names is None else [new.name])
    known = [column.name for column in encoding.columns]
    if unknown := [column for column in new.columns if column not in known]:
        sentence = f"{graph.name!r} has no column {unknown[0]!r}. It has {', '.join(known) or 'none'}."
        raise InputError(sentence, "unknown", what="column", name=unknown[0])
    assert graph.node_names is not None  # tables have ids
    nodes = {encoding.id or "id": [new.name], **{column: [new.columns.get(column)] for column in known}}
    edges = {encoding.source: [new.name] * len(ends), encoding.target: graph.node_names[ends].tolist()}
    edges |= {} if encoding.weight is None else {encoding.weight: [1.0] * len(ends)}
    return extend(graph, nodes, edges if ends else None)


def _weight_notes(state: Any, new_edges: Sequence[str]) -> list[str]:
    weights = state.graph.adjacency.data
    if not new_edges or (weights == 1).all():
        return []
    span = f"{weights.min():.4g} to {weights.max():.4g}"
    return [f"New edges count with weight 1; those of the graph have weights from {span}."]
