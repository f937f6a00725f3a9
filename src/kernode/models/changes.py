"""Changes of a variant, part by part: another map, kernel, loss or training, or other settings of them.

A change of a part is the part itself, the name of one, or a mapping of settings; a setting that is not given
stays as the variant has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kernode.config import Config, changed
from kernode.errors import bad_setting
from kernode.kernels import Normalized
from kernode.training.settings import Training

PARTS = ("map", "kernel", "loss", "training")
_SETTINGS = {  # those of maps are all others
    "training": {one.name for one in fields(Training)},
    "loss": {"objective", "kernel_loss", "kernel_weight", "margin", "triplets", "class_weights"},
    "kernel": {"normalized"},
    "method": {"scaled", "variational", "base", "shares", "clamped", "steps"}
    | {"correction_shares", "smoothing_shares"},
}


def part_of(name: str) -> str:
    """The part that a setting belongs to, by the setting's name; "method" for settings of the method itself.

    >>> part_of("patience"), part_of("margin"), part_of("hops"), part_of("steps")
    ('training', 'loss', 'map', 'method')
    """
    return next((part for part, names in _SETTINGS.items() if name in names), "map")


@dataclass(frozen=True)
class Changes:
    """Parts that take the place of a variant's, and settings that are changed in its parts."""

    parts: Mapping[str, Any] = field(default_factory=dict)  # by "map", "kernel", …; a loss may be a name
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by part

    @classmethod
    def of(cls, **given: Any) -> Changes:
        """Sort parts and single settings by what they change; None changes nothing.

        >>> Changes.of(loss={"margin": 0.5}, hops=3, patience=None)
        Changes(parts={}, settings={'loss': {'margin': 0.5}, 'map': {'hops': 3}})
        """
        parts: dict[str, Any] = {}
        settings: dict[str, dict[str, Any]] = {}
        for name, value in given.items():
            if value is None:
                continue
            if name not in PARTS:
                settings.setdefault(part_of(name), {})[name] = value
            elif isinstance(value, Mapping):
                settings.setdefault(name, {}).update(value)
            else:
                parts[name] = value
        return cls(parts, settings)

    def __or__(self, other: Changes) -> Changes:
        """These changes, and others that win over them."""
        names = {*self.settings, *other.settings}
        # Settings of a part that is replaced go with it.
        kept = {name: self.settings.get(name, {}) for name in names if name not in other.parts}
        settings = {name: {**kept.get(name, {}), **other.settings.get(name, {})} for name in sorted(names)}
        return Changes({**self.parts, **other.parts}, settings)

    def of_part(self, name: str) -> dict[str, Any]:
        """Settings that are changed in a part."""
        return dict(self.settings.get(name, {}))

    @property
    def flat(self) -> dict[str, Any]:
        """All settings that are changed, by name, and the parts."""
        return {**self.parts, **{k: v for one in self.settings.values() for k, v in one.items()}}

    def training(self, before: Training) -> Training:
        """Other training settings. Where the last epoch is kept, no rule stops before it."""
        given, settings = self.parts.get("training", before), self.of_part("training")
        if not isinstance(given, Training):
            raise bad_setting("training", "a Training(…), or a mapping of its settings", given)
        if settings.get("selection") == "last" and settings.keys().isdisjoint(("patience", "stopping")):
            settings = {"epochs": given.to_the_last().epochs, "patience": None, "stopping": None, **settings}
        found: Training = changed(given, settings)
        return found

    def kernel(self, before: Config) -> Any:
        """Another kernel; ``normalized`` wraps it or takes the wrapping off."""
        kernel, settings = self.parts.get("kernel", before), self.of_part("kernel")
        if (normalized := settings.pop("normalized", None)) is not None:
            inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
            kernel = Normalized(inner) if normalized else inner
        return changed(kernel, settings) if settings else kernel

    def parameters(self) -> dict[str, Any]:
        """The same as parameters of an estimator.

        >>> Changes.of(loss={"margin": 0.5}, epochs=3).parameters()
        {'loss': {'margin': 0.5}, 'training': {'epochs': 3}}
        """
        found: dict[str, Any] = {}
        for name in PARTS:
            part, settings = self.parts.get(name), self.of_part(name)
            if isinstance(part, Config):
                found[name] = changed(part, settings)
            elif settings or part is not None:
                named = {} if part is None else {"objective": part}
                found[name] = {**settings, **named} if settings else part
        return found


UNCHANGED = Changes()
