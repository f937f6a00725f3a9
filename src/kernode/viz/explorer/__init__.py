"""The explorer: a trained model in the browser, and its answers as JSON."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kernode.errors import MissingExtraError
from kernode.viz.layout import Plane

if TYPE_CHECKING:
    from fastapi import FastAPI

    from kernode.tasks.classes.on_graph import NodeModelOnGraph

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


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
    try:
        from kernode.viz.explorer.application import build
    except ImportError as error:
        package = error.name or "FastAPI"
        sentence = f"the explorer needs {package}: pip install 'kernode[serve]'."
        raise MissingExtraError(sentence, "extra", package=package, extra="serve") from None
    return build(on, token=token, hosts=hosts, plane=plane, root_path=root_path)
