"""Which values a search tries: the structure that a map says can be, and the training settings that matter.

A structure is shared by all replicas of a stack, so it has few choices; training settings may differ
from replica to replica and are ranges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kernode.errors import InputError
from kernode.losses import Joint
from kernode.maps import FeatureMap
from kernode.tasks.classes.method import Method
from kernode.tasks.links.method import LinkMethod
from kernode.training.settings import Training

Choices = tuple[Any, ...]


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, spread evenly or, where ``log``, by their magnitude."""

    low: float
    high: float
    log: bool = False


TRAINING = {
    "learning_rate": Range(1e-3, 5e-2, log=True),
    "weight_decay": Range(1e-6, 1e-2, log=True),
    "dropout": Range(0.0, 0.9),
    "input_dropout": Range(0.0, 0.9),
    "kernel_weight": Range(0.0, 3.0),  # λ
    "margin": Range(0.05, 1.0),  # α
}


@dataclass(frozen=True)
class Space:
    """What is tried for one method, and where the method itself stands in it."""

    structure: dict[str, Choices]
    training: dict[str, Range]
    own: dict[str, Any]  # the method's values, as near as the space has them
    layers: int  # hidden layers where there are any

    def ranges(self, structure: dict[str, Any]) -> dict[str, Range]:
        """The training settings that matter for a structure: dropout is after hidden layers."""
        return {
            name: values
            for name, values in self.training.items()
            if name != "dropout" or "hidden" not in self.structure or structure["hidden"]
        }

    def settings(self, structure: dict[str, Any], training: dict[str, float]) -> dict[str, Any]:
        """What was drawn as `configure` takes it; four digits, so that a file says exactly what was tried."""
        settings = dict(structure)
        if "hidden" in settings:
            settings["hidden"] = [settings["hidden"]] * self.layers if settings["hidden"] else []
        return settings | {name: float(f"{value:.4g}") for name, value in training.items()}

    def to_json(self) -> dict[str, Any]:
        """The space as plain values: searches of another one cannot be compared."""
        return {
            "structure": {name: list(values) for name, values in self.structure.items()},
            "training": {name: asdict(values) for name, values in self.training.items()},
        }


def node_space(method: Method, training: Training) -> Space:
    """What to try for a method that learns the classes of nodes."""
    own = _own_values(method, training)
    of_loss = tuple(name for name in ("margin", "kernel_weight") if name in own)
    return _space(method.map.search_space, method.map, own, of_loss)


def link_space(method: LinkMethod, training: Training, choices: Mapping[str, Choices]) -> Space:
    """What to try for a method that learns links; its structure is the variant's to say."""
    return _space(choices, method.map, _own_values(method, training), ())


def _space(
    choices: Mapping[str, Choices], feature_map: FeatureMap, own: dict[str, Any], of_loss: tuple[str, ...]
) -> Space:
    if not choices:
        kind = type(feature_map).__name__
        raise InputError(f"{kind} has no settings to search for. Choose another --variant.")
    layers = len(getattr(feature_map.unwrapped, "hidden", ()))
    structure = dict(choices)
    if layers == 0 and 0 not in structure.get("hidden", (0,)):
        del structure["hidden"]  # a method of one layer stays one
    structure = {name: _with(own[name], choices) for name, choices in structure.items()}
    # A map without a hidden layer ignores dropout, but a structure that is tried may have one.
    may_drop = feature_map.drops_input and "hidden" in structure
    ignored = feature_map.ignored_settings - ({"dropout"} if may_drop else set())
    names = {"learning_rate", "weight_decay", "dropout", "input_dropout", *of_loss} - ignored
    ranges = {name: TRAINING[name] for name in TRAINING if name in names}
    inside = {name: min(max(own[name], r.low), r.high) for name, r in ranges.items()}
    return Space(structure, ranges, {name: own[name] for name in structure} | inside, max(1, layers))


def _own_values(method: Method | LinkMethod, training: Training) -> dict[str, Any]:
    """Every setting that the method has, by its name."""
    of_kernel_loss = vars(method.loss.kernel) if isinstance(method.loss, Joint) else {}
    own = vars(training) | of_kernel_loss | vars(method.loss) | vars(method) | vars(method.map.unwrapped)
    hidden = own.get("hidden", ())
    kernel = type(method.kernel).__name__
    return own | {"hidden": hidden[0] if hidden else 0, "normalized": kernel == "Normalized"}


def _with(own: Any, choices: Choices) -> Choices:
    """The choices, and the method's own value where it is another."""
    return choices if own in choices else (*choices, own)
