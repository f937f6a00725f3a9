"""scikit-learn's nested parameters for parts that never change: ``kernel__gamma`` replaces the kernel."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from kernode.config import Config
from kernode.errors import InputError


class PartParameters(BaseEstimator):
    """An estimator with parts among its parameters, whose settings are parameters, too.

    ``get_params`` lists them under ``part__setting``, parts within parts included; ``set_params`` puts a part
    with the new setting in the place of the old one, for a part is a value that nothing changes.
    """

    _PARTS: ClassVar[dict[str, type[Config]]]  # parameters that are parts, and what they must be

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; ``deep``: also those of parts, as ``kernel__gamma``."""
        params = super().get_params(deep=deep)
        if deep:
            for name in self._PARTS:
                params |= _settings(name, params[name])
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of parts included: ``set_params(kernel__gamma=0.5)``."""
        nested = {name: value for name, value in params.items() if name.partition("__")[0] in self._PARTS}
        whole = {name: nested.pop(name) for name in list(nested) if "__" not in name}
        super().set_params(**{name: value for name, value in params.items() if name not in nested} | whole)
        # A part that is given beside its settings is set first; outer settings before those within them.
        for path, value in sorted(nested.items(), key=lambda item: item[0].count("__")):
            name, _, rest = path.partition("__")
            self._require_part(name, rest)
            setattr(self, name, _changed(getattr(self, name), rest, value, name))
        return self

    def _require_part(self, name: str, setting: str) -> None:
        given, kind = getattr(self, name), self._PARTS[name]
        if isinstance(given, Config):
            return
        if setting in self._get_param_names():
            way = f"set {setting}= itself"
        else:
            having = [one.__name__ for one in _kinds_with(kind, setting.partition("__")[0])]
            if not having:
                raise InputError(f"{name}__{setting} is not a setting of any {name}. Check the spelling.")
            way = f"give {name}= a part that has it, such as {having[0]}()"
        what = "None, the variant's own" if given is None else repr(given)
        raise InputError(f"{name}__{setting} has no part to change, for {name} is {what}: {way}.")


def _settings(prefix: str, part: Any) -> dict[str, Any]:
    """All settings of a part, by their paths."""
    if not isinstance(part, Config):
        return {}
    found: dict[str, Any] = {}
    for field in dataclasses.fields(part):
        path, value = f"{prefix}__{field.name}", getattr(part, field.name)
        found |= {path: value} | _settings(path, value)
    return found


def _changed(part: Config, path: str, value: Any, called: str) -> Config:
    """A part with one setting replaced, however deep it is."""
    name, _, rest = path.partition("__")
    known = [field.name for field in dataclasses.fields(part)]
    if name not in known:
        has = f"It has {', '.join(known)}" if known else "It has none"
        raise InputError(f"{called}, {type(part).__name__}, has no setting {name!r}. {has}.")
    if rest:
        inner = getattr(part, name)
        if not isinstance(inner, Config):
            raise InputError(f"{called}__{name} is {inner!r}, which has no setting {rest!r}.")
        value = _changed(inner, rest, value, f"{called}__{name}")
    return dataclasses.replace(part, **{name: value})


def _kinds_with(kind: type[Config], setting: str) -> list[type[Config]]:
    return [
        one
        for one in Config.kinds.values()
        if issubclass(one, kind) and setting in {field.name for field in dataclasses.fields(one)}
    ]
