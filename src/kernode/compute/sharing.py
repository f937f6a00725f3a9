"""What several trainings on one graph need alike, made once: features at their place, the hop operator."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
_made: ContextVar[dict[Hashable, tuple[Any, Any]] | None] = ContextVar("made", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """While this lasts, :func:`shared` makes nothing twice; afterwards it lets go of all of it."""
    token = _made.set({} if _made.get() is None else _made.get())
    try:
        yield
    finally:
        _made.reset(token)


def shared(of: Any, what: Hashable, make: Callable[[], T]) -> T:
    """What ``make`` makes of an object, which nobody may write to."""
    made = _made.get()
    if made is None:
        return make()
    key = (id(of), what)
    if key not in made:
        made[key] = of, make()  # the object itself, too: its number must stay its own
    found: T = made[key][1]
    return found
