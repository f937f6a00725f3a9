"""A cache of what several trainings on one graph share, such as the hop operator."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
_made: ContextVar[dict[Hashable, tuple[Any, Any]] | None] = ContextVar("made", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Let :func:`shared` cache what it makes; the cache ends with the context."""
    token = _made.set({} if _made.get() is None else _made.get())
    try:
        yield
    finally:
        _made.reset(token)


def shared(of: Any, what: Hashable, make: Callable[[], T]) -> T:
    """Return ``make()``, cached for an object and a key; the result must not be changed."""
    made = _made.get()
    if made is None:
        return make()
    key = (id(of), what)
    if key not in made:
        made[key] = of, make()  # the object itself, too: its number must stay its own
    found: T = made[key][1]
    return found
