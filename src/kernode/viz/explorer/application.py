"""The explorer as one ASGI application: pages, the API, errors as JSON, access control and metrics."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from prometheus_client import generate_latest
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from kernode.errors import InputError, KernodeError
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.numbers.model import NumbersOnGraph
from kernode.version import __version__
from kernode.viz.explorer.answers import api
from kernode.viz.explorer.middleware import Access, check_token, log
from kernode.viz.explorer.numbers import NumberState
from kernode.viz.explorer.state import ExplorerState
from kernode.viz.layout import Layout

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_FOLDER = Path(__file__).parent / "static"
_NOT_JSON = "the body is not JSON. Send an object."


def app(
    on: NodeModelOnGraph | NumbersOnGraph,
    *,
    token: str | None = None,
    hosts: Collection[str] | None = LOOPBACK,
    layout: Layout = "tsne",
    root_path: str = "",
    reload: Callable[[], NodeModelOnGraph | NumbersOnGraph] | None = None,
) -> FastAPI:
    """Return the explorer of a model on a graph as an ASGI application.

    - ``token``: required of every request; None: no token.
    - ``hosts``: names under which it answers, against DNS rebinding; None: any, which needs a token.
    - ``layout``: layout of the nodes, computed here unless it is in the cache folder.
    - ``root_path``: the path under which a proxy shows it.
    - ``reload``: read the model again, on SIGHUP.
    """
    if hosts is None and token is None:
        sentence = "an explorer that answers under any name needs a token. Give a token, or host names."
        raise InputError(sentence, "missing", setting="token")
    check_token(token)

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        def load() -> None:
            assert reload is not None
            try:
                app.state.explorer = _state(reload(), layout)
                log.info("the model was read again")
            except KernodeError as error:
                log.error("the model was not read again, and the old one stays: %s", error)

        # Answers at a time: more wait for each other, and one alone would let a long one hold up the others.
        to_thread.current_default_thread_limiter().total_tokens = 2
        if reload is not None and hasattr(signal, "SIGHUP"):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, loop.run_in_executor, None, load)
        yield

    found = FastAPI(
        title="kernode explorer",
        version=__version__,
        description=f"Answers of a learned kernel on the nodes of {on.graph.name!r}, as JSON. "
        'An error is one sentence: {"error": …}.',
        docs_url=None,  # they would be loaded from elsewhere; /docs is a page of our own
        redoc_url=None,
        root_path=root_path,
        lifespan=running,
        # Requests are reported in /metrics alone: addresses name nodes.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    found.state.explorer = _state(on, layout)
    found.include_router(api)
    found.mount("/static", StaticFiles(directory=_FOLDER))
    _add_pages(found)
    _add_errors(found)
    found.add_middleware(GZipMiddleware, compresslevel=4)
    found.add_middleware(Access, token=token, hosts=hosts)
    return found


def _state(on: NodeModelOnGraph | NumbersOnGraph, layout: Layout) -> ExplorerState | NumberState:
    if isinstance(on, NumbersOnGraph):
        return NumberState.of(on, layout=layout).prepared()
    return ExplorerState.of(on, layout=layout).prepared()


def _add_pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return FileResponse(_FOLDER / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return FileResponse(_FOLDER / "docs.html")

    @app.get("/health", summary="Whether the server answers")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/metrics", summary="Requests, latency and memory", response_class=PlainTextResponse)
    async def metrics() -> Response:
        return Response(generate_latest(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(KernodeError)
    async def refused(_: Request, error: KernodeError) -> Response:
        unknown_node = error.code == "unknown" and error.fields.get("what") == "node"
        return JSONResponse({"error": " ".join(str(error).split())}, 404 if unknown_node else 400)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"][1:]) or "the body"
        message = str(first["msg"]).rstrip(".")
        sentence = f"{where}: {message[:1].lower()}{message[1:]}."
        return JSONResponse({"error": _NOT_JSON if first["type"] == "json_invalid" else sentence}, 422)

    @app.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: HTTPException) -> Response:
        sentences = {
            400: _NOT_JSON,
            404: "there is nothing at this address. See /docs.",
            405: f"{request.method} is not for this address. See /docs.",
        }
        sentence = sentences.get(error.status_code, f"{error.detail}.")
        return JSONResponse({"error": sentence}, error.status_code, headers=dict(error.headers or {}))
