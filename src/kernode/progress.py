"""How a long computation tells how far it is, and what it does, without knowing who waits for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

Listener = Callable[[str, int, int], None]  # what is computed, steps done, steps in all

log = logging.getLogger("kernode")  # INFO: what is trained on what, and chosen why; DEBUG: its epochs
log.addHandler(logging.NullHandler())


def note(event: str, message: str, level: int = logging.INFO, **fields: Any) -> None:
    """Tell the log; ``event`` and the fields are for programs that read it, the message for people."""
    log.log(level, message, extra={"event": event, "fields": fields})


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """While this lasts, what :func:`tell` is told goes to the listener.

    >>> with heard_by(lambda what, done, total: print(f"{what}: {done} of {total}")):
    ...     tell("rows", 3, 10)
    rows: 3 of 10
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def tell(what: str, done: int, total: int) -> None:
    """Say how far something is; nobody need listen."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


OTHER = "other"  # what nobody gave a name


class Stopwatch:
    """Seconds by name. It always runs: a part within a part interrupts it, and what has no name is "other".

    >>> watch = Stopwatch()
    >>> with watch.part("outer"):
    ...     with watch.part("inner"):
    ...         pass
    >>> list(watch.seconds())
    ['outer', 'inner', 'other']
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._open, self._since = [OTHER], time.perf_counter()

    @contextmanager
    def part(self, what: str) -> Iterator[None]:
        """While this lasts, seconds go to ``what``; the same name again adds to it."""
        self._note()
        self._seconds.setdefault(what, 0.0)
        self._open.append(what)
        try:
            yield
        finally:
            self._note()
            self._open.pop()

    def seconds(self) -> dict[str, float]:
        """By name, in the order in which parts began, "other" last: together all the time since the start."""
        self._note()
        other = self._seconds.get(OTHER, 0.0)
        return {name: value for name, value in self._seconds.items() if name != OTHER} | {OTHER: other}

    def _note(self) -> None:
        now = time.perf_counter()
        self._seconds[self._open[-1]] = self._seconds.get(self._open[-1], 0.0) + now - self._since
        self._since = now


_running: ContextVar[Stopwatch | None] = ContextVar("stopwatch", default=None)


@contextmanager
def timed_by(watch: Stopwatch) -> Iterator[None]:
    """While this lasts, what :func:`timed` names is a part of the stopwatch."""
    before = _running.set(watch)
    try:
        yield
    finally:
        _running.reset(before)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say what is done while this lasts; nobody need measure it, and the log hears how long it took."""
    watch, started = _running.get(), time.perf_counter()
    with nullcontext() if watch is None else watch.part(what):
        yield
    seconds = round(time.perf_counter() - started, 3)
    note("part", f"{what} took {seconds:.3f} s", logging.DEBUG, what=what, seconds=seconds)
