"""Parts that are described by their settings alone, as JSON with the name of their class."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, ClassVar, Self

import numpy as np

from kernode.errors import InputError, bad_setting

# Of a setting that a released kind did not have, with what it always was as its default. It is written only
# where it is something else, so that files and stored results of before stay the same.
LATER = {"later": True}
# Of a setting that says how something is computed and not what: it is never written.
RUNTIME = {"later": True, "runtime": True}
RENAMED = {"Free": "NodeEmbedding", "SideBySide": "ConcatMap"}  # names of kinds in files of 0.2 and before


@dataclasses.dataclass(frozen=True)
class Config:
    """A frozen dataclass of settings that files know by its name: maps, kernels, losses, methods.

    A new kind needs no registration: defining the class is enough, and importing it is what a model
    file needs to be read again. No second class can take a name over, for files would then mean another: a
    map cannot have the name of a kernel, either.
    """

    kinds: ClassVar[dict[str, type[Config]]] = {}
    # By the name of a kind: its JSON of an earlier version as today's, perhaps of another kind.
    former: ClassVar[dict[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        known = Config.kinds.get(cls.__name__)
        # The same definition run again, as in a notebook, replaces itself.
        if known is not None and _place(known) != _place(cls):
            raise InputError(
                f"{cls.__name__!r} is the name of {_place(known)} in files already. "
                f"Give {_place(cls)} another name.",
                "conflict", name=cls.__name__,
            )  # fmt: skip
        Config.kinds[cls.__name__] = cls
        if "__post_init__" in vars(cls):
            cls.__post_init__ = _checked(cls.__post_init__)  # type: ignore[method-assign, assignment]
        cls.__repr__ = Config.__repr__  # type: ignore[method-assign] # else each dataclass writes its own

    def __post_init__(self) -> None:
        require_types(self)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values, with the kind's name; a later one only where it is set."""
        unwritten = {field.name for field in dataclasses.fields(self) if field.metadata.get("runtime")}
        settings = {name: _plain(value) for name, value in self._settings() if name not in unwritten}
        return {"kind": type(self).__name__, **settings}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._settings())})"

    def _settings(self) -> Iterator[tuple[str, Any]]:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not (field.metadata.get("later") and value == field.default):
                yield field.name, value

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Build the part that :meth:`to_json` described."""
        settings = dict(values)
        settings = cls.former.get(settings.get("kind", ""), dict)(settings)
        name = settings.pop("kind", "")
        kind = cls.kinds.get(RENAMED.get(name, name))
        if kind is None or not issubclass(kind, cls):
            what = "part" if cls is Config else cls.__name__
            raise InputError(
                f"{values.get('kind')!r} is not a known {what}. Import the module that defines it, or "
                "update kernode where a later version has it.",
                "unknown", what="part", name=values.get("kind"),
            )  # fmt: skip
        known = {field.name for field in dataclasses.fields(kind)}
        if unknown := sorted(set(settings) - known):
            raise InputError(
                f"{kind.__name__} has no setting {unknown[0]!r}: that is of another version of kernode. "
                "Update kernode, or write the file again with this one.",
                "unknown", what="setting", name=unknown[0],
            )  # fmt: skip
        return kind(**{name: _built(value) for name, value in settings.items()})


def _checked(own: Callable[[Any], None]) -> Callable[[Any], None]:
    """Check the types, then run a kind's own checks."""

    @wraps(own)
    def check(self: Any) -> None:
        require_types(self)
        try:
            own(self)
        except (TypeError, ArithmeticError) as error:  # of a setting whose type is not checked
            raise InputError(f"a setting of {type(self).__name__} is wrong ({error}).", "setting") from error

    return check


_LARGEST = 2**63  # integers are less, here and in files


def require_types(part: Any) -> None:
    """Raise unless flags are true or false, and numbers are numbers; other settings check themselves.

    A text as a flag would be true, whatever it says.
    """
    for field in dataclasses.fields(part):
        value, kind = getattr(part, field.name), getattr(field.type, "__name__", None) or str(field.type)
        if value is None and kind.endswith(" | None"):
            continue
        match kind.removesuffix(" | None"):
            case "bool":
                fits, what = isinstance(value, bool | np.bool_), "true or false"
            case "int":
                fits, what = _is_number(value, int | np.integer), "an integer"
            case "float":
                fits, what = _is_number(value, int | float | np.integer | np.floating), "a number"
            case _:
                continue
        if not fits:
            raise bad_setting(field.name, what, value)


def _is_number(value: Any, kinds: Any) -> bool:
    if not isinstance(value, kinds) or isinstance(value, bool):
        return False
    return bool(-_LARGEST <= value < _LARGEST) if isinstance(value, int | np.integer) else not np.isnan(value)


def require_setting(fits: bool, name: str, what: str, value: Any) -> None:
    """Raise unless a setting has a value that fits; ``what``: what it must be."""
    if not fits:
        raise bad_setting(name, what, value)


def require_part(name: str, value: Any, kind: type[Config], example: str) -> None:
    """Raise unless a value is a part of this kind; ``example`` is one as it is written."""
    if isinstance(value, kind):
        return
    if isinstance(value, type):
        kind_name = value.__name__
        sentence = f"{name} must be an instance. Got the class {kind_name}: write {name}={kind_name}(…)."
        raise InputError(sentence, "setting", setting=name)
    raise bad_setting(name, f"a part such as {example}", value)


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def changed(part: Any, changes: Mapping[str, Any]) -> Any:
    """Return a part with other settings, its own or those of a part within it.

    >>> from kernode.losses import Joint
    >>> changed(Joint(), {"margin": 0.5, "kernel_weight": 1.0}).kernel
    Hinge(triplets=10000, margin=0.5)
    """
    names = [field.name for field in dataclasses.fields(part)]
    own: dict[str, Any] = {}
    within: dict[str, dict[str, Any]] = {}
    for name, value in changes.items():
        if name in names:
            inner = getattr(part, name)
            is_change = isinstance(value, Mapping) and isinstance(inner, Config)
            own[name] = changed(inner, value) if is_change else value
            continue
        holder = next((one for one in names if has_setting(getattr(part, one), name)), None)
        if holder is None:
            has = f"It has {', '.join(names)}" if names else "It has none"
            sentence = f"{type(part).__name__} has no setting {name!r}. {has}."
            raise InputError(sentence, "unknown", what="setting", setting=name)
        within.setdefault(holder, {})[name] = value
    for name, inner_changes in within.items():
        own[name] = changed(own.get(name, getattr(part, name)), inner_changes)
    return dataclasses.replace(part, **own) if own else part


def has_setting(part: Any, name: str) -> bool:
    """Return whether a part, or a part within it, has a setting of this name."""
    if not isinstance(part, Config):
        return False
    names = [field.name for field in dataclasses.fields(part)]
    return name in names or any(has_setting(getattr(part, one), name) for one in names)


def _plain(value: Any) -> Any:
    """Return parts as dictionaries, and numpy's numbers as Python's."""
    if isinstance(value, Config):
        return value.to_json()
    if isinstance(value, np.generic):
        return value.item()
    return tuple(_plain(item) for item in value) if isinstance(value, tuple) else value


def _built(value: Any) -> Any:
    """Return a part for a dictionary, and a tuple for a list."""
    if isinstance(value, dict):
        return Config.from_json(value)
    return tuple(_built(item) for item in value) if isinstance(value, list | tuple) else value
