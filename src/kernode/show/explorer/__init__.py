"""The explorer: a trained model in the browser, and its answers as JSON."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kernode.errors import MissingExtraError
from kernode.show.layout import Plane

if TYPE_CHECKING:
    from fastapi import FastAPI

    from kernode.tasks.classes.on_graph import NodeModelOnGraph

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")  # what a browser on this machine calls it


def app(
    on: NodeModelOnGraph,
    *,
    token: str | None = None,
    hosts: Collection[str] | None = LOOPBACK,
    plane: Plane = "tsne",
    root_path: str = "",
) -> FastAPI:
    """The explorer of a model on a graph as an ASGI application, for any server that runs such.

    ``token``: who asks must have it; None: anybody may. ``hosts``: names under which it answers, so that no
    page of another site can ask in its visitor's name; None: any, which needs a token. ``plane``: how nodes
    are laid out, which is computed here unless it is in the cache folder. ``root_path``: the path under which
    a proxy shows it.
    """
    try:
        from kernode.show.explorer.application import build
    except ImportError as error:
        raise MissingExtraError(
            f"the explorer needs {error.name or 'FastAPI'}: pip install 'kernode[serve]'."
        ) from None
    return build(on, token=token, hosts=hosts, plane=plane, root_path=root_path)
