"""The explorer as one ASGI application: the pages, the API, errors as JSON, and access control."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from kernode.errors import InputError, KernodeError
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.version import __version__
from kernode.viz.explorer.middleware import Access, Metrics, check_token
from kernode.viz.explorer.routes import Asset, Json, router
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
    api.include_router(router(ExplorerState.of(on, plane)))
    _add_monitoring(api, metrics)
    _add_pages(api)
    _add_errors(api)
    paths = {*api.openapi()["paths"], *_PAGES, "/openapi.json"}
    api.add_middleware(Access, token=token, hosts=hosts, metrics=metrics, paths=paths)
    return api


def _add_monitoring(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/health", summary="Whether the server answers", response_class=Json)
    async def health() -> Response:
        return Json({"status": "ok"})

    @app.get(
        "/metrics",
        summary="Requests, errors, latency and memory, for Prometheus",
        response_class=PlainTextResponse,
    )
    async def measured() -> Response:
        return Response(metrics.text(), headers={"content-type": metrics.content_type})


def _add_pages(app: FastAPI) -> None:
    """Serve the files of the page from memory: nothing else can be requested."""
    files = {
        file.relative_to(_FOLDER).as_posix(): Asset(file.read_bytes(), _TYPES[file.suffix])
        for file in _FOLDER.rglob("*")
        if file.suffix in _TYPES
    }
    for path, file in _PAGES.items():

        async def page(request: Request, file: str = file) -> Response:
            return files[file].reply(request)

        app.add_route(path, page, methods=["GET", "HEAD"])

    async def static(request: Request) -> Response:
        asset = files.get(request.path_params["path"])
        if asset is None:
            raise HTTPException(404)
        return asset.reply(request)

    app.add_route("/static/{path:path}", static, methods=["GET", "HEAD"])


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(KernodeError)
    async def refused(_: Request, error: KernodeError) -> Response:
        unknown_node = error.code == "unknown" and error.fields.get("what") == "node"
        return Json({"error": " ".join(str(error).split())}, 404 if unknown_node else 400)

    @app.exception_handler(RequestValidationError)
    async def wrong(_: Request, error: RequestValidationError) -> Response:
        return Json({"error": _sentence(error)}, 422)

    @app.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: HTTPException) -> Response:
        sentences = {
            400: "the body is not JSON. Send an object.",
            404: "there is nothing at this address. See /docs.",
            405: f"{request.method} is not for this address. See /docs.",
        }
        sentence = sentences.get(error.status_code, f"{error.detail}.")
        return Json({"error": sentence}, error.status_code, headers=dict(error.headers or {}))


def _sentence(error: RequestValidationError) -> str:
    """The first mistake and its place."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return "the body is not JSON. Send an object."
    where = ".".join(str(step) for step in first["loc"][1:]) or "the body"
    message = str(first["msg"]).rstrip(".")
    return f"{where}: {message[:1].lower()}{message[1:]}."
