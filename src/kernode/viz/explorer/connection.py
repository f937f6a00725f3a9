"""A time limit for incomplete requests, which uvicorn lacks."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SECONDS = 10  # in which a request must arrive


class TimedProtocol(HttpToolsProtocol):
    """Close a connection whose request does not arrive in time."""

    _timer: asyncio.TimerHandle | None = None

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._set_timer(SECONDS)

    def on_message_begin(self) -> None:
        """Wait for the rest of a request."""
        super().on_message_begin()
        self._set_timer(SECONDS)

    def on_message_complete(self) -> None:
        """Wait no longer: uvicorn itself closes idle connections."""
        self._set_timer(None)
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._set_timer(None)
        super().connection_lost(exc)
