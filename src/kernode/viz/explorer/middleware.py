"""Access to the explorer: host name, token, size of a body; requests are logged and counted."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import time
from collections.abc import Collection
from urllib.parse import quote, urlencode

from prometheus_client import Counter, Histogram, disable_created_metrics
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kernode.errors import InputError

LARGEST_BODY = 1_000_000  # bytes
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
log = logging.getLogger("kernode.explorer")
disable_created_metrics()
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # seconds
_REQUESTS = Counter("kernode_requests", "Requests answered.", ("path", "status"))
_SECONDS = Histogram("kernode_request_seconds", "Durations of requests.", ("path",), buckets=_BOUNDS)


class Access:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, *, token: str | None, hosts: Collection[str] | None) -> None:
        self.app = app
        self.token = None if token is None else token.encode()
        # Browsers store cookies by host, not by port: two servers of one machine need different names.
        self.cookie = f"kernode_token_{hashlib.sha256(self.token or b'').hexdigest()[:8]}"
        self.hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or pass on, then log and count."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def protected(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")
            await send(message)

        path = scope["path"].removeprefix(scope.get("root_path", "").rstrip("/"))  # of a proxy
        try:
            await (self._refusal(Request(scope), path) or self.app)(scope, _limited(receive), protected)
        except ClientDisconnect:
            status = status or 499
        except Exception:
            log.exception("%s %s failed", scope["method"], quote(path))
            if status:
                raise  # incomplete response: the server ends the connection
            failure = _refused(500, "the server failed. Its log has the reason.")
            await failure(scope, receive, protected)
        finally:
            seconds = time.perf_counter() - started
            # Without the query, which has names of nodes or the token.
            who, line = (scope.get("client") or ("-",))[0], f"{scope['method']} {quote(path)} {status or 500}"
            log.info("%s %s %.1f ms", who, line, 1e3 * seconds)
            # The path of the route, so that requests cannot make the metrics grow.
            known = getattr(scope.get("route"), "path", "other")
            _REQUESTS.labels(known, status or 500).inc()
            _SECONDS.labels(known).observe(seconds)

    def _refusal(self, request: Request, path: str) -> Response | None:
        """Return the response to a refused request, or None."""
        headers, query = request.headers, request.query_params
        if self.hosts is not None and _host(headers.get("host", "")) not in self.hosts:
            return _refused(421, "this host name is not allowed. Use 127.0.0.1.")
        if path.startswith("/api/") and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return _refused(403, "a page of another site cannot send requests. Open the explorer's own page.")
        if self.token is None or path == "/health":
            return None
        if self._is_token(query.get("token")):
            return self._with_cookie(request, path)
        kind, _, value = headers.get("authorization", "").partition(" ")  # sent by programs
        if self._is_token(value.strip() if kind.lower() == "bearer" else request.cookies.get(self.cookie)):
            return None
        sentence = "a token is needed. Open /?token=… once, or send the header Authorization: Bearer …."
        return _refused(401, sentence, {"www-authenticate": "Bearer"})

    def _is_token(self, given: str | None) -> bool:
        """Compare in constant time, so that the token cannot be guessed letter by letter."""
        assert self.token is not None
        return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self.token)

    def _with_cookie(self, request: Request, path: str) -> Response:
        """Store the token in the browser, and redirect to the address without it."""
        rest = urlencode([item for item in request.query_params.multi_items() if item[0] != "token"])
        here = "./" + quote(path.rpartition("/")[2])
        response = Response(status_code=303, headers={"location": f"{here}?{rest}" if rest else here})
        response.set_cookie(
            self.cookie,
            request.query_params["token"],
            path=request.scope.get("root_path", "").rstrip("/") + "/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return response


def check_token(token: str | None) -> None:
    """Refuse a token that is short, or not safe in headers, cookies and addresses."""
    if token is not None and not re.fullmatch(r"[A-Za-z0-9._~-]{8,}", token):
        raise InputError("the token must be at least 8 letters, digits and -._~.", "setting", setting="token")


def _host(header: str) -> str:
    """A host name without its port.

    >>> _host("LOCALHOST:8765"), _host("[::1]:80"), _host("127.0.0.1")
    ('localhost', '[::1]', '127.0.0.1')
    """
    name, _, port = header.rpartition(":")
    return (name if name and port.isdecimal() else header).lower()


def _limited(receive: Receive) -> Receive:
    """Refuse a body that is too large, whatever length was announced."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
            raise HTTPException(413, f"a request may have {LARGEST_BODY:,} bytes. Ask for less at a time")
        return message

    return counted


def _refused(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": sentence}, status, headers)
