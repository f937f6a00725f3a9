"""Pieces of a model that are described by their settings alone, and can travel as JSON."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

from kernode.errors import InputError


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A frozen dataclass that knows its kind by name: feature maps and base kernels.

    A new kind needs no registration: defining the class is enough, and importing it is what a model
    file needs to be read again.
    """

    kinds: ClassVar[dict[str, type[Recipe]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Recipe.kinds[cls.__name__] = cls

    def to_json(self) -> dict[str, Any]:
        """Settings as plain values, with the kind's name."""
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"kind": type(self).__name__, **{name: _plain(value) for name, value in settings.items()}}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Build the piece that :meth:`to_json` described."""
        settings = dict(values)
        kind = cls.kinds.get(settings.pop("kind", ""))
        if kind is None or not issubclass(kind, cls):
            raise InputError(
                f"{values.get('kind')!r} is not a known {cls.__name__}. Import the module that defines it."
            )
        return kind(**{name: _built(value) for name, value in settings.items()})


def take_fields(changes: dict[str, Any], owner: Any) -> dict[str, Any]:
    """Take out of some changes those that a dataclass has as fields."""
    return {
        field.name: changes.pop(field.name) for field in dataclasses.fields(owner) if field.name in changes
    }


def _plain(value: Any) -> Any:
    """A piece as an object, also among others."""
    if isinstance(value, Recipe):
        return value.to_json()
    return tuple(_plain(item) for item in value) if isinstance(value, tuple) else value


def _built(value: Any) -> Any:
    """What a plain value stood for: a piece for an object, a tuple for a list."""
    if isinstance(value, dict):
        return Recipe.from_json(value)
    return tuple(_built(item) for item in value) if isinstance(value, list | tuple) else value
