"""Who computes answers: the event loop those of a moment, threads beside it all others."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from kernode.compute.place import cpu_threads
from kernode.errors import KernodeError

MOST_WAITING = 200  # answers; whoever comes after has long gone when theirs is computed
MOMENT = 0.005  # seconds: what a page's file, or whoever watches the server, can wait for
_FORGOTTEN = 0.7  # what is left of a slow answer's time after each later one


class BusyError(KernodeError):
    """Too many wait already."""


class Lane:
    """Computes one answer after the other, with one thread of torch's.

    Answers are many small products: torch's own threads, or several answers at a time, would mostly wait for
    each other. A lane has a thread, so that the event loop goes on meanwhile. To hand an answer over and back
    takes as long as some answers do, because the two threads wait for Python's lock at each product. So a
    ``quick`` lane leaves to the loop what has taken but a moment lately: one answer, then whatever arrived
    meanwhile is read, then the next.
    """

    def __init__(self, name: str, *, quick: bool = False) -> None:
        self._name, self._quick = f"kernode-{name}", quick
        self._thread: ThreadPoolExecutor | None = None
        self._waiting = 0
        self._seconds: dict[Callable[..., Any], float] = {}  # that each kind of answer has taken lately
        self._momentary: deque[tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]]] = deque()

    async def __call__(self, answer: Callable[..., Any], *arguments: Any) -> Any:
        """Compute an answer; refused where too many wait for theirs."""
        if self._waiting >= MOST_WAITING:
            raise BusyError("the server has more questions than it can answer. Ask again in a while.")
        self._waiting += 1
        loop = asyncio.get_running_loop()
        computed: asyncio.Future[Any]
        if self._quick and self._seconds.get(answer, math.inf) < MOMENT:
            computed = loop.create_future()
            self._momentary.append((computed, answer, arguments))
            if len(self._momentary) == 1:
                loop.call_soon(self._compute_next, loop)
        else:
            if self._thread is None:  # the first answer, or the first after a server was started again
                self._thread = ThreadPoolExecutor(1, self._name, torch.set_num_threads, (1,))
            computed = loop.run_in_executor(self._thread, self._timed, answer, arguments)
        computed.add_done_callback(self._answered)  # not where it is awaited: who asked may be gone
        return await computed

    def _compute_next(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._momentary:  # closed meanwhile
            return
        computed, answer, arguments = self._momentary.popleft()
        if self._momentary:
            loop.call_soon(self._compute_next, loop)
        if computed.done():  # who asked is gone
            return
        try:
            with cpu_threads(1):
                computed.set_result(self._timed(answer, arguments))
        except Exception as error:
            computed.set_exception(error)

    def _timed(self, answer: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        started = time.thread_time()  # not the clock: on busy cores that tells of others
        try:
            return answer(*arguments)
        finally:
            before = self._seconds.get(answer, 0.0)
            self._seconds[answer] = max(time.thread_time() - started, _FORGOTTEN * before)

    def _answered(self, _: asyncio.Future[Any]) -> None:
        self._waiting -= 1

    def close(self) -> None:
        """Nobody waits for answers that have not begun."""
        while self._momentary:
            self._momentary.popleft()[0].cancel()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
        self._thread = None
