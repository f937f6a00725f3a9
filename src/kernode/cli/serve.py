"""``kernode serve``: explore a trained model in the browser."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import secrets
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape

from kernode.cli.console import progress
from kernode.cli.option_groups import option
from kernode.cli.options.model import ModelOptions
from kernode.cli.options.run import LayoutOption, OutputOptions
from kernode.errors import KernodeError, MissingExtraError, bad_setting

if TYPE_CHECKING:
    from fastapi import FastAPI

_SETTINGS = "KERNODE_SERVE"  # environment variable with the options, for worker processes
_MOST_CONNECTIONS = 4000  # more are answered with 503


def serve(
    *,
    model: ModelOptions,
    port: Annotated[int, option("Port to listen on; 0: any that is free.", min=0, max=65535)] = 8765,
    host: Annotated[
        str, option("Address to listen on; any but this machine's own needs a token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        option(
            "Required of every request.",
            envvar="KERNODE_TOKEN",
            show_default="none on this machine, elsewhere a random one",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option("Another name under which it answers, of a proxy for example; may be repeated."),
    ] = None,
    root_path: Annotated[str, option("Path under which a proxy shows it, such as /kernode.")] = "",
    workers: Annotated[
        int, option("Processes that answer, each with the model in memory.", min=1, max=64)
    ] = 1,
    layout: LayoutOption = "tsne",
    output: OutputOptions,
) -> None:
    """Explore a model in the browser, or through its JSON API.

    Listens on this machine alone unless --host says otherwise. The first start lays the nodes out, which
    takes minutes for 20,000 nodes and is cached; --layout pca takes a moment. The same answers are JSON under
    /api, described at /docs. Requests are logged to stderr. Ctrl-C or SIGTERM ends it, SIGHUP reads the model
    again.

    Example: [bold]kernode serve cora.safetensors[/], then open the address that it prints
    """
    try:
        import fastapi  # noqa: F401
        import httptools  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        sentence = f"serve needs {error.name}: pip install 'kernode[serve]'."
        raise MissingExtraError(sentence, "extra", package=error.name, extra="serve") from None
    from kernode.viz.explorer import LOOPBACK
    from kernode.viz.explorer.middleware import check_token

    if root_path and not root_path.startswith("/"):
        raise bad_setting("root_path", "a path that begins with a slash, such as /kernode", root_path)
    is_local, printed = host == "localhost", ""
    with suppress(ValueError):  # a name
        is_local = ipaddress.ip_address(host).is_loopback
    if not is_local and not token:
        token = secrets.token_urlsafe(24)  # a given one is not printed: output may be a log
        printed = f"?token={token}"
    check_token(token)
    with _listening(host, port) as listening:
        settings: dict[str, Any] = {
            "model": asdict(model),
            "token": token,
            "hosts": [*LOOPBACK, _bracketed(host), *(allow_host or [])] if is_local else None,
            "layout": layout,
            "root_path": root_path.rstrip("/"),
        }
        with progress("serve", quiet=output.silent):
            app = _application(settings)  # with several workers, too: errors are raised here, once
        name = socket.gethostname() if host in ("0.0.0.0", "::") else host
        url = f"http://{_bracketed(name)}:{listening.getsockname()[1]}/{printed}"
        facts = {"url": url, "model": str(model.model), "workers": workers}
        line = f"kernode explorer of {escape(str(model.model))}: [bold]{escape(url)}[/]   (Ctrl-C ends it)"
        output.show(facts, [line])
        _run(app, settings, listening, workers, logging.WARNING if output.quiet else logging.INFO)


def application() -> FastAPI:
    """Return the application of a worker process."""
    return _application(json.loads(os.environ[_SETTINGS]))


def _application(settings: Mapping[str, Any]) -> FastAPI:
    import torch

    from kernode.viz.explorer import app

    def read() -> Any:
        given = settings["model"]
        return ModelOptions(**(given | {"model": Path(given["model"])})).open("classes", "numbers").on

    about = {name: value for name, value in settings.items() if name != "model"}
    found = app(read(), reload=read, **about)
    torch.set_num_threads(1)  # answers are many small products, several at a time
    return found


def _run(
    app: FastAPI, settings: Mapping[str, Any], listening: socket.socket, workers: int, level: int
) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    loud = {"handlers": ["stderr"], "level": level}
    options: dict[str, Any] = {
        "log_config": {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "loggers": {"kernode.explorer": loud, "uvicorn": loud | {"level": logging.WARNING}},
        },
        "access_log": False,  # the explorer logs requests itself, without their queries
        "http": "kernode.viz.explorer.connection:TimedProtocol",
        "root_path": settings["root_path"],
        "timeout_graceful_shutdown": 1,  # second
        "limit_concurrency": _MOST_CONNECTIONS,
        "timeout_worker_healthcheck": 300,  # seconds to read the model
        "server_header": False,
    }
    with suppress(ImportError, ValueError):  # Windows has no such limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        if workers == 1:
            uvicorn.Server(uvicorn.Config(app, **options)).run(sockets=[listening])
        else:
            os.environ[_SETTINGS] = json.dumps(settings, default=str)
            config = uvicorn.Config("kernode.cli.serve:application", factory=True, workers=workers, **options)
            Multiprocess(config, sockets=[listening]).run()
    logging.getLogger("kernode.explorer").info("the explorer has ended")


def _listening(host: str, port: int) -> socket.socket:
    """Bind the address before anything long is computed."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        sentence = f"{host} cannot be listened on at port {port} ({error.strerror}). Give another."
        raise KernodeError(sentence, "setting", setting=("host", "port")) from None
    listening.set_inheritable(True)
    return listening


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host  # IPv6
