"""Parts that are described by their settings alone, and can travel as JSON by the name of their class."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from kernode.errors import InputError

# Of a setting that a released kind did not have, with what it always was as its default. It is written only
# where it is something else, so that files and stored results of before stay the same.
LATER = {"later": True}


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A frozen dataclass of settings that files know by its name: maps, kernels, losses, methods.

    A new kind needs no registration: defining the class is enough, and importing it is what a model
    file needs to be read again. No second class can take a name over, for files would then mean another: a
    map cannot have the name of a kernel, either.
    """

    kinds: ClassVar[dict[str, type[Recipe]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        known = Recipe.kinds.get(cls.__name__)
        # The same definition run again, as in a notebook, replaces itself.
        if known is not None and _place(known) != _place(cls):
            raise InputError(
                f"{cls.__name__!r} is the name of {_place(known)} in files already. "
                f"Give {_place(cls)} another name."
            )
        Recipe.kinds[cls.__name__] = cls
        cls.__repr__ = Recipe.__repr__  # type: ignore[method-assign] # else each dataclass writes its own

    def to_json(self) -> dict[str, Any]:
        """Settings as plain values, with the kind's name; a later one only where it is set."""
        return {"kind": type(self).__name__, **{name: _plain(value) for name, value in self._settings()}}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._settings())})"

    def _settings(self) -> Iterator[tuple[str, Any]]:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not (field.metadata.get("later") and value == field.default):
                yield field.name, value

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Build the piece that :meth:`to_json` described."""
        settings = dict(values)
        kind = cls.kinds.get(settings.pop("kind", ""))
        if kind is None or not issubclass(kind, cls):
            what = "part" if cls is Recipe else cls.__name__
            raise InputError(
                f"{values.get('kind')!r} is not a known {what}. Import the module that defines it, or "
                "update kernode where a later version has it."
            )
        known = {field.name for field in dataclasses.fields(kind)}
        if unknown := sorted(set(settings) - known):
            raise InputError(
                f"{kind.__name__} has no setting {unknown[0]!r}: that is of another version of kernode. "
                "Update kernode, or write the file again with this one."
            )
        return kind(**{name: _built(value) for name, value in settings.items()})


def require_part(name: str, value: Any, kind: type[Recipe], example: str) -> None:
    """Raise unless a value is a part of this kind; ``example`` is one as it is written."""
    if isinstance(value, kind):
        return
    if isinstance(value, type) and issubclass(value, kind):
        raise InputError(
            f"{name} must be an instance, with its settings in brackets. Got the class {value.__name__}: "
            f"write {name}={value.__name__}({_required(value)})."
        )
    raise InputError(f"{name} must be a part such as {example}. Got {value!r}.")


def _required(kind: type[Recipe]) -> str:
    """Settings without a default, as a call would name them."""
    return ", ".join(
        f"{field.name}=…"
        for field in dataclasses.fields(kind)
        if field.init and field.default is field.default_factory is dataclasses.MISSING
    )


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def take_fields(changes: dict[str, Any], owner: Any) -> dict[str, Any]:
    """Take out of some changes those that a dataclass has as fields."""
    return {
        field.name: changes.pop(field.name) for field in dataclasses.fields(owner) if field.name in changes
    }


def _plain(value: Any) -> Any:
    """A part as an object, also among others, and numpy's numbers as Python's."""
    if isinstance(value, Recipe):
        return value.to_json()
    if isinstance(value, np.generic):
        return value.item()
    return tuple(_plain(item) for item in value) if isinstance(value, tuple) else value


def _built(value: Any) -> Any:
    """What a plain value stood for: a piece for an object, a tuple for a list."""
    if isinstance(value, dict):
        return Recipe.from_json(value)
    return tuple(_built(item) for item in value) if isinstance(value, list | tuple) else value
