"""Plain questions, past FastAPI's routing and validation: these take longer than some answers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_type_hints
from urllib.parse import parse_qsl

from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kernode.errors import KernodeError
from kernode.show.explorer.guard import path_of


class FastPath:
    """Answers plain questions itself, by the same functions as FastAPI, and hands every other request on.

    A question is plain if it names parameters of a GET route, each once, and all are valid; and if there is
    an answer. So what is wrong with a request only FastAPI says.
    """

    def __init__(self, app: ASGIApp, *, routes: Iterable[APIRoute]) -> None:
        self.app = app
        self.questions = {route.path: one for route in routes if (one := _Question.of(route)) is not None}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        if scope["type"] == "http" and scope["method"] == "GET":
            question = self.questions.get(path_of(scope))
            reply = None if question is None else await question.answered(scope["query_string"])
            if reply is not None:
                await reply(scope, receive, send)
                return
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class _Question:
    """A route whose parameters all stand in the query."""

    endpoint: Callable[..., Awaitable[Response]]
    parameters: dict[str, TypeAdapter[Any]]
    required: frozenset[str]

    @classmethod
    def of(cls, route: APIRoute) -> _Question | None:
        """None where a route takes more than a query."""
        if route.methods != {"GET"}:
            return None
        hints = get_type_hints(route.endpoint, include_extras=True)
        given = inspect.signature(route.endpoint).parameters
        if any(hints[name] is Request for name in given):
            return None
        required = frozenset(name for name, one in given.items() if one.default is one.empty)
        return cls(route.endpoint, {name: TypeAdapter(hints[name]) for name in given}, required)

    async def answered(self, query: bytes) -> Response | None:
        """The answer to a plain question; None where it is not plain."""
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        asked = dict(pairs)
        known = self.parameters
        if len(asked) < len(pairs) or not asked.keys() <= known.keys() or not self.required <= asked.keys():
            return None
        try:
            return await self.endpoint(**{name: known[name].validate_python(asked[name]) for name in asked})
        except (ValidationError, KernodeError):
            return None
