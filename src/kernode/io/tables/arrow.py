"""pyarrow, imported on first use: only tables need it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Later:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = self.__dict__[attribute] = getattr(import_module(self._name), attribute)
        return found


pa: Any = _Later("pyarrow")
pc: Any = _Later("pyarrow.compute")
