"""How a long computation tells whoever waits for it how far it is, without knowing who that is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]  # what is computed, steps done, steps in all

log = logging.getLogger("kernode")  # INFO: what is trained on what, and chosen why; DEBUG: its epochs
log.addHandler(logging.NullHandler())

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
