"""The explorer as one application: the page, the answers under /api, and what watches over them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from kernode.errors import InputError, KernodeError
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.show.explorer.assets import assets
from kernode.show.explorer.fast_path import FastPath
from kernode.show.explorer.guard import Guard, can_be_sent
from kernode.show.explorer.lanes import BusyError, Lane
from kernode.show.explorer.metrics import CONTENT_TYPE, Metrics
from kernode.show.explorer.names import UnknownNodeError
from kernode.show.explorer.routes import Json, router
from kernode.show.explorer.view import View
from kernode.show.layout import Plane
from kernode.version import __version__


def build(
    on: NodeModelOnGraph, *, token: str | None, hosts: Collection[str] | None, plane: Plane, root_path: str
) -> FastAPI:
    """Everything that can be computed once is computed here."""
    if hosts is None and token is None:
        raise InputError("an explorer that answers under any name needs a token. Give token= or hosts=.")
    if token is not None and not can_be_sent(token):
        raise InputError("a token must be of letters, digits and -._~, at least 8 of them.")
    view = View.of(on, plane)
    quick, long, metrics = Lane("quick", quick=True), Lane("long"), Metrics()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        quick.close()
        long.close()

    app = FastAPI(
        title="kernode explorer",
        version=__version__,
        description=f"Answers of a learned kernel on the nodes of {on.graph.name!r}, as JSON. "
        'What is wrong with a request is said in one sentence: {"error": …}.',
        docs_url=None,  # they would be loaded from elsewhere; /docs is a page of our own
        redoc_url=None,
        root_path=root_path,
        lifespan=lifespan,
        # Nobody is told about requests but whoever reads /metrics: addresses name nodes.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    api = router(view, quick, long)
    app.include_router(api)
    _add_watching(app, metrics)
    _add_pages(app)
    _add_errors(app)
    paths = {*app.openapi()["paths"], *_PAGES, "/openapi.json"}
    app.add_middleware(FastPath, routes=[route for route in api.routes if isinstance(route, APIRoute)])
    app.add_middleware(Guard, token=token, hosts=hosts, metrics=metrics, paths=paths)
    return app


_PAGES = {"/": "index.html", "/docs": "docs.html"}


def _add_watching(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/health", summary="Whether the server answers", response_class=Json)
    async def health() -> Response:
        return Json({"status": "ok"})

    @app.get(
        "/metrics",
        summary="Requests, errors, latency and memory, for Prometheus",
        response_class=PlainTextResponse,
    )
    async def measured() -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})


def _add_pages(app: FastAPI) -> None:
    files = assets()
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
        status = {UnknownNodeError: 404, BusyError: 503}.get(type(error), 400)
        return Json({"error": " ".join(str(error).split())}, status)

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
        said = sentences.get(error.status_code, f"{error.detail}.")
        return Json({"error": said}, error.status_code, headers=dict(error.headers or {}))


def _sentence(error: RequestValidationError) -> str:
    """The first of what is wrong, and where."""
    first = error.errors()[0]
    where = ".".join(str(step) for step in first["loc"][1:]) or "the body"
    said = str(first["msg"]).rstrip(".")
    if first["type"] == "json_invalid":
        return "the body is not JSON. Send an object."
    return f"{where}: {said[:1].lower()}{said[1:]}."
