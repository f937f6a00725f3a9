"""Processes that share a port share its connections evenly: who has fewest takes the next.

Event loops take every connection that waits. Of twenty that come at once one process would get all, and keep
them: browsers and proxies ask again on the same connection.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
import socket
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

COUNTS = "KERNODE_CONNECTIONS"  # names the file that the processes share
_WAIT = 0.001  # seconds until a process looks again whether one with fewer has taken a connection
_PATIENCE = 3  # times, for that one may be busy
_PAUSE = 1.0  # seconds where the system has no room for another connection
_SPARE = 64  # places for processes that uvicorn is told to start later
_NOT_SERVING = 2**62  # connections: more than anybody has
_log = logging.getLogger(__name__)


def loop() -> asyncio.AbstractEventLoop:
    """An event loop as uvicorn would make it, that serves a shared port."""
    fastest: Any = asyncio.SelectorEventLoop
    with suppress(ImportError):
        from uvloop import Loop as fastest  # noqa: N813

    class SharedPort(fastest):
        async def create_server(self, make: Callable[[], Any], *, sock: socket.socket, **_: Any) -> Any:
            return _Listener(self, make, sock, Counts(Path(os.environ[COUNTS])))

    return SharedPort()


class Counts:
    """How many connections each process has: eight bytes of a file for each."""

    def __init__(self, path: Path) -> None:
        """Take a place that no other process holds; the system frees it when this one ends."""
        import fcntl  # here: not on Windows

        file = os.open(path, os.O_RDWR)  # open as long as the process lives: that is how long the lock does
        self._of = memoryview(mmap.mmap(file, 0)).cast("q")
        for place in range(len(self._of)):
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 8, 8 * place)
            except OSError:
                continue
            self._own = place
            self._of[place] = 0
            return
        raise OSError(f"{path} has no place left")

    @staticmethod
    def create(path: Path, processes: int) -> None:
        """A file with a place for each."""
        path.write_bytes(array("q", [_NOT_SERVING] * (processes + _SPARE)).tobytes())

    @property
    def are_fewer_elsewhere(self) -> bool:
        """Whether another process has fewer connections than this one."""
        return min(self._of) < self._of[self._own]

    def add(self, change: int) -> None:
        """One more, or one less, of this process."""
        self._of[self._own] += change

    def leave(self) -> None:
        """Nothing is left to this process any more."""
        self._of[self._own] = _NOT_SERVING


class _Listener:
    """Takes connections from a socket, one at a time."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        make: Callable[[], Any],
        listening: socket.socket,
        counts: Counts,
    ) -> None:
        self._loop, self._make, self._socket, self._counts = loop, make, listening, counts
        self._tasks: set[asyncio.Task[Any]] = set()
        self._left = 0  # times that a connection was left to others
        self._closed = False
        listening.setblocking(False)
        self._watch()

    def _watch(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._socket, self._arrived)

    def _look_away(self, seconds: float) -> None:
        self._loop.remove_reader(self._socket)
        self._loop.call_later(seconds, self._watch)

    def _arrived(self) -> None:
        if self._counts.are_fewer_elsewhere and self._left < _PATIENCE:
            self._left += 1
            self._look_away(_WAIT)
            return
        self._left = 0
        try:
            taken, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionError):  # others took it, or who came has gone
            return
        except OSError:  # too many open files, mostly
            _log.exception("a connection was not taken")
            self._look_away(_PAUSE)
            return
        taken.setblocking(False)
        task = self._loop.create_task(self._loop.connect_accepted_socket(self._counted, taken))
        self._tasks.add(task)  # the loop itself would let it be forgotten
        task.add_done_callback(self._tasks.discard)

    def _counted(self) -> Any:
        """What answers a connection, counted while that lasts."""
        protocol = self._make()
        ended = protocol.connection_lost

        def lost(error: Exception | None) -> None:
            self._counts.add(-1)
            ended(error)

        protocol.connection_lost = lost
        self._counts.add(1)
        return protocol

    def close(self) -> None:
        """Take no more."""
        self._closed = True
        self._loop.remove_reader(self._socket)
        self._counts.leave()

    async def wait_closed(self) -> None:
        """Nothing is left to wait for: uvicorn looks after connections."""
