"""Whoever waits for a model has it before it is judged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernode.errors import KernodeError, kept


@contextmanager
def saved_already(model: Path) -> Iterator[None]:
    """What ends the judging of a model does not lose it: say where it is."""
    try:
        with kept(lambda: f"The model is saved in {model}; its test figures were not done."):
            yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "allocate" not in str(error):
            raise
        raise KernodeError(
            f"the memory does not suffice for the test figures. The model is saved in {model}."
        ) from None
