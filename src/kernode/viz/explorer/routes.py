"""The addresses under /api: their parameters and limits, and the functions that answer."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import torch
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from kernode.errors import InputError
from kernode.viz.explorer import answers
from kernode.viz.explorer.state import ExplorerState

MOST_SIMILAR, MOST_PARTS, MOST_FOUND, MOST_EDGES, MOST_FEATURES = 1000, 200, 50, 100, 1000
_LONGEST = 1000  # characters of a name

Name = Annotated[str, Query(max_length=_LONGEST, description="A node by its name, or its number.")]
Given = Annotated[str, Field(max_length=_LONGEST)]
Class = Annotated[str | None, Query(max_length=_LONGEST)]
Part = Annotated[str, Query(max_length=_LONGEST)]
Limit = Annotated[int, Query(ge=1, le=MOST_FOUND)]
Top = Annotated[int, Query(ge=1, le=MOST_PARTS, description="So many of the largest parts.")]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e30, le=1e30)]
Features = Annotated[dict[Given, Number], Field(max_length=MOST_FEATURES)]
Edges = Annotated[list[Given], Field(max_length=MOST_EDGES)]
Vector = Annotated[list[Number], Field(max_length=10_000)]
Value = Annotated[str, Field(max_length=100_000)] | bool | Number | Vector | None
Columns = Annotated[dict[Given, Value], Field(max_length=MOST_FEATURES)]


class WhatIf(BaseModel):
    """Changes of a node."""

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
    """Plain values as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode as UTF-8; half a character of a request becomes a question mark."""
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
}


class Asset:
    """Content that never changes, compressed once and known to browsers by its digest."""

    def __init__(self, content: bytes, kind: str) -> None:
        self._content, self._kind = content, kind
        self._compressed = gzip.compress(content, 6, mtime=0)
        self._etag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'

    def reply(self, request: Request) -> Response:
        """Return the content, or a 304 if the browser has it."""
        headers = {"etag": self._etag, "cache-control": "no-cache", "vary": "accept-encoding"}
        known = request.headers.get("if-none-match", "").split(",")
        if self._etag in [one.strip().removeprefix("W/") for one in known]:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(self._compressed, media_type=self._kind, headers=headers)
        return Response(self._content, media_type=self._kind, headers=headers)


def _one_at_a_time(state: ExplorerState) -> Callable[..., Awaitable[Response]]:
    """Return a function that computes an answer in a thread, one after the other.

    Answers are many small products: several at a time, or torch's own threads, would wait for each other.
    """
    limiter = CapacityLimiter(1)

    def answer(function: Callable[..., dict[str, Any]], *arguments: Any) -> Response:
        torch.set_num_threads(1)  # of this thread
        return Json(function(state, *arguments))

    async def compute(function: Callable[..., dict[str, Any]], *arguments: Any) -> Response:
        return await to_thread.run_sync(answer, function, *arguments, limiter=limiter)

    return compute


def router(state: ExplorerState) -> APIRouter:
    """Return the API of one model on one graph: quick answers never wait for long ones."""
    api = APIRouter(prefix="/api", responses=_WRONG, default_response_class=Json)
    quick, long = _one_at_a_time(state), _one_at_a_time(state)
    picture = Asset(state.picture(), "application/octet-stream")
    model = Json(state.model()).body
    every_name = Asset(bytes(Json(state.names).body), "application/json")

    @api.get("/model", summary="The model, its graph and its classes")
    async def about_model() -> Response:
        return Response(model, media_type="application/json")

    @api.get(
        "/layout",
        summary="Every node's place in the picture, its classes and how sure they are",
        description=ExplorerState.picture.__doc__,
        response_class=Response,
        responses={200: {"content": {"application/octet-stream": {}}}},
    )
    async def layout(request: Request) -> Response:
        return picture.reply(request)

    @api.get("/nodes", summary="Nodes whose name has a part")
    async def nodes(search: Part = "", limit: Limit = 10) -> Response:
        return await quick(answers.nodes, search, limit)

    @api.get("/names", summary="The name of every node, in the order of /api/layout")
    async def names(request: Request) -> Response:
        return every_name.reply(request)

    @api.get("/features", summary="Features whose name has a part")
    async def features(search: Part = "", limit: Limit = 10) -> Response:
        return await quick(answers.features, search, limit)

    @api.get("/node", summary="A node: the chance of each class, its neighbours and features")
    async def node(name: Name) -> Response:
        return await quick(answers.about, name)

    @api.get("/similar", summary="The nodes most alike to one, by K on vectors of length 1")
    async def similar(
        name: Name,
        k: Annotated[int, Query(ge=1, le=MOST_SIMILAR, description="So many.")] = 10,
        of_class: Class = None,
    ) -> Response:
        return await quick(answers.similar, name, k, of_class)

    @api.get("/explain", summary="Why a node has its class: what each neighbour, hop and feature adds")
    async def explain(name: Name, top: Top = 10, of_class: Class = None, against: Class = None) -> Response:
        return await quick(answers.explained, name, top, of_class, against)

    @api.get("/pair", summary="Why two nodes are alike: K(u, v) as a sum over pairs of neighbours")
    async def pair(name: Name, other: Name, top: Top = 10) -> Response:
        return await quick(answers.pair, name, other, top)

    @api.get("/kernel", summary="K(u, v) alone")
    async def kernel(name: Name, other: Name) -> Response:
        return await quick(answers.k_of, name, other)

    @api.post("/what-if", summary="A node's class if its edges or features were others; nothing is stored")
    async def what_if(request: WhatIf) -> Response:
        if state.no_change is not None:
            raise InputError(state.no_change, "unsupported")
        return await long(answers.changed, request)

    @api.post("/new-node", summary="The class of a node that is not in the graph; nothing is stored")
    async def new_node(request: NewNode) -> Response:
        return await long(answers.arrived, request)

    return api
