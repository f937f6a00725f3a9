"""Who computes answers: threads beside the event loop, one for quick answers and one for longer ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from kernode.errors import KernodeError

MOST_WAITING = 200  # answers; whoever comes after has long gone when theirs is computed


class BusyError(KernodeError):
    """Too many wait already."""


class Lane:
    """One thread that computes one answer after the other, with one thread of torch's.

    Answers are many small products: torch's own threads, or several answers at a time, would mostly wait for
    each other.
    """

    def __init__(self, name: str) -> None:
        self._name = f"kernode-{name}"
        self._thread: ThreadPoolExecutor | None = None
        self._waiting = 0

    async def __call__(self, answer: Callable[..., Any], *arguments: Any) -> Any:
        """Compute an answer while the event loop goes on; refused where too many wait for theirs."""
        if self._waiting >= MOST_WAITING:
            raise BusyError("the server has more questions than it can answer. Ask again in a while.")
        if self._thread is None:  # the first answer, or the first after a server was started again
            self._thread = ThreadPoolExecutor(1, self._name, torch.set_num_threads, (1,))
        self._waiting += 1
        computed = asyncio.get_running_loop().run_in_executor(self._thread, answer, *arguments)
        computed.add_done_callback(self._answered)  # not where it is awaited: who asked may be gone
        return await computed

    def _answered(self, _: asyncio.Future[Any]) -> None:
        self._waiting -= 1

    def close(self) -> None:
        """Nobody waits for answers that have not begun."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
        self._thread = None
