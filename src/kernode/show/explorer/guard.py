"""Who may ask, and how much: the host's name, the token, the size of a body. Every answer is counted here."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kernode.show.explorer.metrics import Metrics

LARGEST_BODY = 1_000_000  # bytes
OPEN = "/health"  # for whoever watches the server, who need not have a token
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}
_log = logging.getLogger(__name__)


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None,
        hosts: Collection[str] | None,
        metrics: Metrics,
        paths: Collection[str],
    ) -> None:
        self.app, self.metrics = app, metrics
        self.token = None if token is None else token.encode()
        # Browsers keep cookies by host, not by port: servers beside each other must not take each other's.
        self.cookie = f"kernode_token_{hashlib.sha256(self.token or b'').hexdigest()[:8]}"
        self.hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self.paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on; then count."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, begun = time.perf_counter(), 500, False

        async def answer(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"] = _protected(message["headers"])
            await send(message)

        path = path_of(scope)
        try:
            await self._admitted(scope, receive, answer, path)
        except Exception:
            _log.exception("%s %s failed", scope["method"], path)  # without the query, which names nodes
            if begun:
                raise  # half an answer: the server ends the connection, so that nobody takes it for a whole
            await _refuse(answer, 500, "the server failed at this. Its log has the reason.")
        finally:
            known = path if path in self.paths else "other"
            self.metrics.count(known, status, time.perf_counter() - started)

    async def _admitted(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        headers = Headers(scope=scope)
        if self.hosts is not None and _host(headers.get("host", "")) not in self.hosts:
            await _refuse(send, 421, "this server does not answer under that name. Use 127.0.0.1.")
            return
        if path.startswith("/api/") and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            await _refuse(send, 403, "a page of another site may not ask. Open the explorer's own.")
            return
        if self.token is not None and path != OPEN:
            query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            given = next((value for name, value in query if name == "token"), None)
            if given is not None and self._is_token(given):
                await _remember(scope, send, path, f"{self.cookie}={given}", query)
                return
            if not self._is_token(_sent(headers, self.cookie)):
                sentence = (
                    "a token is needed. Open the address that `kernode serve` printed, or send it: Bearer."
                )
                await _refuse(send, 401, sentence, {"www-authenticate": "Bearer"})
                return
        body = await _body(headers, receive)
        if body is None:
            await _refuse(send, 413, f"a request may have {LARGEST_BODY:,} bytes. Ask for less at a time.")
            return
        await self.app(scope, _again(body, receive), send)

    def _is_token(self, given: str | None) -> bool:
        """Compared in constant time, so that nobody can guess it letter by letter."""
        assert self.token is not None
        return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self.token)


def can_be_sent(token: str) -> bool:
    """Whether a token survives headers, cookies and addresses as it is, and is not guessed at once.

    >>> can_be_sent("a-token-nobody-guesses"), can_be_sent(""), can_be_sent("schlüssel")
    (True, False, False)
    """
    return len(token) >= 8 and all(one.isascii() and (one.isalnum() or one in "-._~") for one in token)


def _protected(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """An answer's headers with those that every answer has; none is kept unless it says so itself."""
    own = [one for one in headers if one[0] not in _HEADERS]
    if all(name != b"cache-control" for name, _ in own):
        own.append((b"cache-control", b"no-store"))
    return own + list(_HEADERS.items())


def path_of(scope: Scope) -> str:
    """The path without what a proxy put before it."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "").rstrip("/")
    return path[len(root) :] if root and path.startswith(root + "/") else path


def _host(header: str) -> str:
    """A host's name without its port.

    >>> _host("LOCALHOST:8765"), _host("[::1]:80"), _host("127.0.0.1")
    ('localhost', '[::1]', '127.0.0.1')
    """
    name, _, port = header.rpartition(":")
    return (name if name and port.isdecimal() else header).lower()


def _sent(headers: Headers, cookie: str) -> str | None:
    """A token as programs send it, or as a browser keeps it."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    return cookie_parser(headers.get("cookie", "")).get(cookie)


async def _remember(scope: Scope, send: Send, path: str, cookie: str, query: list[tuple[str, str]]) -> None:
    """Have a browser keep the token, and show the page under an address without it."""
    rest = urlencode([(name, value) for name, value in query if name != "token"])
    here = "./" + quote(path.rpartition("/")[2])
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    where = (scope.get("root_path") or "").rstrip("/") + "/"
    headers = {
        "location": f"{here}?{rest}" if rest else here,
        "set-cookie": f"{cookie}; Path={where}; HttpOnly; SameSite=Strict{secure}",
    }
    await _reply(send, 303, b"", headers)


async def _body(headers: Headers, receive: Receive) -> bytes | None:
    """The whole body; None where it is too large."""
    announced = headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > LARGEST_BODY:
        return None
    if announced == "0" and "transfer-encoding" not in headers:
        return b""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that has been read, to be read again."""
    given = False

    async def once() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once


async def _refuse(send: Send, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
    content = json.dumps({"error": sentence}, ensure_ascii=False).encode()
    await _reply(send, status, content, {"content-type": "application/json", **(headers or {})})


async def _reply(send: Send, status: int, content: bytes, headers: dict[str, Any]) -> None:
    headers["content-length"] = str(len(content))
    raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content})
