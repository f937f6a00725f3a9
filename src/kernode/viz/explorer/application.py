"""The explorer as one ASGI application: the pages, the API, errors as JSON, and access control."""

from __future__ import annotations

import gzip
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import torch
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from kernode.errors import InputError, KernodeError
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.version import __version__
from kernode.viz.explorer import answers
from kernode.viz.explorer.middleware import Access, Metrics, check_token
from kernode.viz.explorer.state import ExplorerState
from kernode.viz.layout import Plane

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_FOLDER = Path(__file__).parent / "static"
_PAGES = {"/": "index.html", "/docs": "docs.html"}
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_QUICK: dict[str, Callable[..., Any]] = {
    "nodes": answers.nodes,
    "features": answers.features,
    "node": answers.node,
    "similar": answers.similar,
    "explain": answers.explain,
    "pair": answers.pair,
    "kernel": answers.kernel,
}
_LONG: dict[str, Callable[..., Any]] = {"what-if": answers.change, "new-node": answers.new_node}  # posted
Endpoint = Callable[..., Awaitable[Response]]


class Error(BaseModel):
    """What is wrong, in one sentence."""

    error: str


_ERRORS = {
    400: "It cannot be answered; the sentence says why.",
    401: "A token is needed.",
    403: "The request comes from a page of another site.",
    404: "No such node.",
    413: "The request is too large.",
    421: "The server does not answer under that name.",
    422: "A value is missing or beyond its limit.",
    500: "The server failed; its log has the reason.",
}


def app(
    on: NodeModelOnGraph,
    *,
    token: str | None = None,
    hosts: Collection[str] | None = LOOPBACK,
    plane: Plane = "tsne",
    root_path: str = "",
) -> FastAPI:
    """Return the explorer of a model on a graph as an ASGI application.

    - ``token``: required of every request; None: no token.
    - ``hosts``: names under which it answers, against DNS rebinding; None: any, which needs a token.
    - ``plane``: layout of the nodes, computed here unless it is in the cache folder.
    - ``root_path``: the path under which a proxy shows it.
    """
    if hosts is None and token is None:
        sentence = "an explorer that answers under any name needs a token. Give a token, or host names."
        raise InputError(sentence, "missing", setting="token")
    check_token(token)
    metrics = Metrics()
    api = FastAPI(
        title="kernode explorer",
        version=__version__,
        description=f"Answers of a learned kernel on the nodes of {on.graph.name!r}, as JSON. "
        'What is wrong with a request is said in one sentence: {"error": …}.',
        docs_url=None,  # they would be loaded from elsewhere; /docs is a page of our own
        redoc_url=None,
        root_path=root_path,
        # Requests are reported in /metrics alone: addresses name nodes.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    api.include_router(_router(ExplorerState.of(on, plane=plane)))

    @api.get("/health", summary="Whether the server answers")
    async def health() -> Response:
        return JSONResponse({"status": "ok"})

    @api.get(
        "/metrics",
        summary="Requests, errors, latency and memory, for Prometheus",
        response_class=PlainTextResponse,
    )
    async def measured() -> Response:
        return Response(metrics.text(), headers={"content-type": metrics.content_type})

    # The pages are served from memory: no other file can be requested.
    files = {path: _FOLDER / name for path, name in _PAGES.items()}
    files |= {f"/static/{file.relative_to(_FOLDER).as_posix()}": file for file in _FOLDER.rglob("*")}
    for path, file in files.items():
        if kind := _TYPES.get(file.suffix):
            api.add_route(path, _asset(file.read_bytes(), kind), methods=["GET", "HEAD"])
    _add_errors(api)
    paths = {*api.openapi()["paths"], *_PAGES, "/openapi.json"}
    api.add_middleware(Access, token=token, hosts=hosts, metrics=metrics, paths=paths)
    return api


def _router(state: ExplorerState) -> APIRouter:
    """The API of one model on one graph: quick answers never wait for long ones."""
    wrong: dict[int | str, dict[str, Any]] = {
        status: {"model": Error, "description": words} for status, words in _ERRORS.items()
    }
    api = APIRouter(prefix="/api", responses=wrong)
    for method, functions in (("GET", _QUICK), ("POST", _LONG)):
        one_at_a_time = CapacityLimiter(1)
        for path, function in functions.items():
            summary = (function.__doc__ or "").partition(".\n")[0].rstrip(".")
            endpoint = _endpoint(state, function, one_at_a_time)
            name = path.replace("-", "_")
            api.add_api_route(f"/{path}", endpoint, methods=[method], name=name, summary=summary)

    def add_asset(path: str, content: Any, summary: str, kind: str = "application/json", **more: Any) -> None:
        more |= {"responses": {200: {"content": {kind: {}}}}, "response_class": Response}
        api.add_api_route(f"/{path}", _asset(bytes(content), kind), name=path, summary=summary, **more)

    # The layout first: it refuses a method without a kernel.
    about, binary = ExplorerState.picture.__doc__, "application/octet-stream"
    add_asset("layout", state.picture(), "Every node's place and class", binary, description=about)
    add_asset("model", JSONResponse(state.description()).body, "The model, its graph and its classes")
    add_asset("names", JSONResponse(state.node_names).body, "The name of every node, as /api/layout has them")
    return api


def _endpoint(state: ExplorerState, function: Callable[..., Any], limiter: CapacityLimiter) -> Endpoint:
    """An endpoint with the parameters of a function, which runs in a thread when those before it are done.

    Answers are many small products: several at a time, or torch's own threads, would wait for each other.
    """

    def answer(values: dict[str, Any]) -> Response:
        torch.set_num_threads(1)  # of this thread
        return JSONResponse(function(state, **values))

    async def endpoint(**values: Any) -> Response:
        return await to_thread.run_sync(answer, values, limiter=limiter)

    _, *parameters = inspect.signature(function, eval_str=True).parameters.values()
    endpoint.__name__ = function.__name__
    endpoint.__signature__ = inspect.Signature(parameters, return_annotation=Response)  # type: ignore[attr-defined]
    return endpoint


def _asset(content: bytes, kind: str) -> Endpoint:
    """An endpoint for content that never changes, compressed once and known to browsers by its digest."""
    compressed = gzip.compress(content, 6, mtime=0)
    etag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'

    async def reply(request: Request) -> Response:
        headers = {"etag": etag, "cache-control": "no-cache", "vary": "accept-encoding"}
        known = request.headers.get("if-none-match", "").split(",")
        if etag in [one.strip().removeprefix("W/") for one in known]:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(compressed, media_type=kind, headers=headers | {"content-encoding": "gzip"})
        return Response(content, media_type=kind, headers=headers)

    return reply


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(KernodeError)
    async def refused(_: Request, error: KernodeError) -> Response:
        unknown_node = error.code == "unknown" and error.fields.get("what") == "node"
        return JSONResponse({"error": " ".join(str(error).split())}, 404 if unknown_node else 400)

    @app.exception_handler(RequestValidationError)
    async def wrong(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"][1:]) or "the body"
        message = str(first["msg"]).rstrip(".")
        sentence = f"{where}: {message[:1].lower()}{message[1:]}."
        if first["type"] == "json_invalid":
            sentence = "the body is not JSON. Send an object."
        return JSONResponse({"error": sentence}, 422)

    @app.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: HTTPException) -> Response:
        sentences = {
            400: "the body is not JSON. Send an object.",
            404: "there is nothing at this address. See /docs.",
            405: f"{request.method} is not for this address. See /docs.",
        }
        sentence = sentences.get(error.status_code, f"{error.detail}.")
        return JSONResponse({"error": sentence}, error.status_code, headers=dict(error.headers or {}))
