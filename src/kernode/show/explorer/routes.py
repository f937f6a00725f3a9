"""The addresses under /api: what is asked, within which limits, and who answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from kernode.errors import InputError
from kernode.show.explorer import answers, changes
from kernode.show.explorer.assets import Asset
from kernode.show.explorer.lanes import Lane
from kernode.show.explorer.view import View

MOST_SIMILAR, MOST_PARTS, MOST_FOUND, MOST_EDGES, MOST_FEATURES = 1000, 200, 50, 100, 1000
_LONGEST = 1000  # characters of a name

Name = Annotated[str, Query(max_length=_LONGEST, description="A node by its name, or its number.")]
Given = Annotated[str, Field(max_length=_LONGEST)]
Class = Annotated[str | None, Query(max_length=_LONGEST)]
Top = Annotated[int, Query(ge=1, le=MOST_PARTS, description="So many of the largest parts.")]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e30, le=1e30)]
Features = Annotated[dict[Given, Number], Field(max_length=MOST_FEATURES)]
Edges = Annotated[list[Given], Field(max_length=MOST_EDGES)]
Vector = Annotated[list[Number], Field(max_length=10_000)]
Value = Annotated[str, Field(max_length=100_000)] | bool | Number | Vector | None
Columns = Annotated[dict[Given, Value], Field(max_length=MOST_FEATURES)]


class WhatIf(BaseModel):
    """What would be otherwise about a node."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[Given, Field(description="A node by its name, or its number.")]
    add: Annotated[Edges, Field(description="Nodes that it would have an edge with, of weight 1.")] = []
    remove: Annotated[Edges, Field(description="Neighbours that it would have no edge with.")] = []
    features: Annotated[
        Features,
        Field(
            description="Features that it would have, by name, as numbers that the model sees: of a graph "
            "from tables they are standardised, which `unit` of /api/node and /api/features says of each."
        ),
    ] = {}
    columns: Annotated[
        Columns,
        Field(description="Of a graph from tables: values that it would have, as the table has them."),
    ] = {}


class NewNode(BaseModel):
    """A node that is not in the graph."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(min_length=1, max_length=_LONGEST)] = "new node"
    columns: Annotated[Columns, Field(description="Of a graph from tables: its row.")] = {}
    features: Annotated[Features, Field(description="Of any other: features by name; the others are 0.")] = {}
    edges: Annotated[Edges, Field(description="Nodes that it has an edge with, of weight 1.")] = []
    k: Annotated[int, Field(ge=1, le=MOST_SIMILAR, description="So many similar nodes.")] = 10


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Json(Response):
    """Plain values as JSON; what is no finite number never gets this far."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """In UTF-8; half a character that somebody sent is shown as a question mark."""
        return _encode(content).encode("utf-8", "replace")


class Error(BaseModel):
    """What is wrong, in one sentence."""

    error: str


_WRONG: dict[int | str, dict[str, Any]] = {
    400: {"model": Error, "description": "It cannot be answered; the sentence says why."},
    401: {"model": Error, "description": "A token is needed."},
    403: {"model": Error, "description": "A page of another site asks."},
    404: {"model": Error, "description": "No such node."},
    413: {"model": Error, "description": "The request is too large."},
    421: {"model": Error, "description": "The server does not answer under that name."},
    422: {"model": Error, "description": "A value is missing or beyond its limit."},
    500: {"model": Error, "description": "The server failed; its log has the reason."},
    503: {"model": Error, "description": "Too many questions wait already."},
}


def router(view: View, quick: Lane, long: Lane) -> APIRouter:
    """Answers about one model on one graph: quick ones never wait for long ones."""
    api = APIRouter(prefix="/api", responses=_WRONG, default_response_class=Json)
    picture = Asset.of(view.picture(), "application/octet-stream")
    model = Json(view.model()).body
    every_name = Asset.of(bytes(Json(view.names.texts).body), "application/json")

    units = dict(zip(view.feature_names, view.feature_units, strict=True))

    @cache  # one function for each kind of answer: lanes remember how long it takes
    def as_json(answer: Callable[..., dict[str, Any]]) -> Callable[..., Json]:
        return lambda *arguments: Json(answer(view, *arguments))

    async def replied(lane: Lane, answer: Callable[..., dict[str, Any]], *arguments: Any) -> Response:
        return await lane(as_json(answer), *arguments)

    @api.get("/model", summary="The model, its graph and its classes")
    async def about_model() -> Response:
        return Response(model, media_type="application/json")

    @api.get(
        "/layout",
        summary="Every node's place in the picture, its classes and how sure they are",
        description=View.picture.__doc__,
        response_class=Response,
        responses={200: {"content": {"application/octet-stream": {}}}},
    )
    async def layout(request: Request) -> Response:
        return picture.reply(request)

    @api.get("/nodes", summary="Nodes whose name has a part")
    async def nodes(
        search: Annotated[str, Query(max_length=_LONGEST)] = "",
        limit: Annotated[int, Query(ge=1, le=MOST_FOUND)] = 10,
    ) -> Response:
        found = await quick(view.names.search, search, limit)
        return Json({"nodes": [view.node(one) for one in found]})

    @api.get("/names", summary="The name of every node, in the order of /api/layout")
    async def names(request: Request) -> Response:
        return every_name.reply(request)

    @api.get("/features", summary="Features whose name has a part")
    async def features(
        search: Annotated[str, Query(max_length=_LONGEST)] = "",
        limit: Annotated[int, Query(ge=1, le=MOST_FOUND)] = 10,
    ) -> Response:
        found = await quick(_matching, view.feature_names, search, limit)
        return Json({"features": [{"name": name, "unit": units[name]} for name in found]})

    @api.get("/node", summary="A node: the chance of each class, its neighbours and features")
    async def node(name: Name) -> Response:
        return await replied(quick, answers.about, name)

    @api.get("/similar", summary="The nodes most alike to one, by K on vectors of length 1")
    async def similar(
        name: Name,
        k: Annotated[int, Query(ge=1, le=MOST_SIMILAR, description="So many.")] = 10,
        of_class: Class = None,
    ) -> Response:
        return await replied(quick, answers.similar, name, k, of_class)

    @api.get("/explain", summary="Why a node has its class: what each neighbour, hop and feature adds")
    async def explain(name: Name, top: Top = 10, of_class: Class = None, against: Class = None) -> Response:
        return await replied(quick, answers.explained, name, top, of_class, against)

    @api.get("/pair", summary="Why two nodes are alike: K(u, v) as a sum over pairs of neighbours")
    async def pair(name: Name, other: Name, top: Top = 10) -> Response:
        return await replied(quick, answers.pair, name, other, top)

    @api.get("/kernel", summary="K(u, v) alone")
    async def kernel(name: Name, other: Name) -> Response:
        return await replied(quick, answers.k_of, name, other)

    @api.post("/what-if", summary="A node's class if its edges or features were others; nothing is stored")
    async def what_if(asked: WhatIf) -> Response:
        if view.no_change is not None:
            raise InputError(view.no_change)
        given = (asked.name, asked.add, asked.remove, asked.features, asked.columns)
        return await replied(long, changes.changed, *given)

    @api.post("/new-node", summary="The class of a node that is not in the graph; nothing is stored")
    async def new_node(asked: NewNode) -> Response:
        given = (asked.name, asked.columns, asked.features, asked.edges, asked.k)
        return await replied(long, changes.arrived, *given)

    return api


def _matching(names: list[str], part: str, limit: int) -> list[str]:
    """Names that begin with a part, then those that have it elsewhere, whatever its case."""
    wanted = part.strip().casefold()
    found = [name for name in names if wanted in name.casefold()]
    return sorted(found, key=lambda name: not name.casefold().startswith(wanted))[:limit]
