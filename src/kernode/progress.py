"""Progress and log messages of long computations."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Listener = Callable[[str, int, int], None]  # name of the computation, steps done, steps in total

log = logging.getLogger("kernode")  # INFO: trainings and choices; DEBUG: epochs and durations
log.addHandler(logging.NullHandler())
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def log_event(event: str, message: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log a message for people, with an event name and fields for programs."""
    log.log(level, message, extra={"event": event, "fields": fields})


@contextmanager
def progress_listener(listener: Listener) -> Iterator[None]:
    """Send the progress that :func:`report_progress` reports to a listener.

    >>> with progress_listener(lambda what, done, total: print(f"{what}: {done} of {total}")):
    ...     report_progress("rows", 3, 10)
    rows: 3 of 10
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def report_progress(what: str, done: int, total: int) -> None:
    """Report progress to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)
