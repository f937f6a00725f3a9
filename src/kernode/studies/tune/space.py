"""Which values a search tries: for each kind of map its structure, and the training settings that matter.

A structure is shared by all replicas of a stack, so it has few choices; training settings may differ
from replica to replica and are ranges.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kernode.errors import InputError
from kernode.link_prediction.method import LinkMethod
from kernode.maps import APPNP, GAT, GCN, FastGCN, FeatureMap, HopMLP, JKConcat, Presmoothed
from kernode.node_classification.method import Method
from kernode.training.settings import Training

Choices = tuple[Any, ...]


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, spread evenly or, where ``log``, by their magnitude."""

    low: float
    high: float
    log: bool = False


_WIDTHS = (16, 32, 64, 128, 256)
_HOPS = {"hops": (1, 2, 3), "powers": ("each", "last", "plain")}
_ROWS = {"normalize_rows": (True, False)}

# ``hidden`` is one width for all hidden layers, of which a variant keeps its number.
STRUCTURES: dict[type[FeatureMap], dict[str, Choices]] = {
    HopMLP: {"hidden": _WIDTHS, **_HOPS, "hop_weights": ("learned", 1.0), **_ROWS},
    Presmoothed: {"hidden": _WIDTHS, **_HOPS, **_ROWS},
    GCN: {"hidden": _WIDTHS, **_ROWS},
    GAT: {"hidden": _WIDTHS, "attention_dropout": (0.2, 0.4, 0.6), **_ROWS},
    JKConcat: {"hidden": _WIDTHS, "inner_dropout": (0.2, 0.5, 0.8), **_ROWS},
    FastGCN: {"hidden": _WIDTHS, "share": (0.25, 0.5, 1.0), **_ROWS},
    APPNP: {"hidden": _WIDTHS, "steps": (5, 10), "teleport": (0.05, 0.1, 0.2), **_ROWS},
}

# Of links: a hidden width of 0 is no hidden layer. GAE and VGAE keep their decoder.
LINK_STRUCTURES: dict[type[FeatureMap], dict[str, Choices]] = {
    HopMLP: {
        "hidden": (0, 64, 128, 256), "outputs": (64, 128, 256), **_HOPS, **_ROWS,
        "normalized": (True, False), "scaled": (True, False),
    },
    GCN: {"hidden": _WIDTHS, "outputs": _WIDTHS, **_ROWS},
}  # fmt: skip

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
            if name != "dropout" or structure.get("hidden", 0)
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
    return _space(STRUCTURES, method.map, method, training, _losses(method))


def link_space(method: LinkMethod, training: Training) -> Space:
    """What to try for a method that learns links."""
    return _space(LINK_STRUCTURES, method.map, method, training, ())


def _losses(method: Method) -> tuple[str, ...]:
    """Settings of the loss that this objective has."""
    return {"softmax": (), "kernel": ("margin",), "joint": ("margin", "kernel_weight")}[method.objective]


def _space(
    structures: dict[type[FeatureMap], dict[str, Choices]],
    feature_map: FeatureMap,
    method: Method | LinkMethod,
    training: Training,
    of_loss: tuple[str, ...],
) -> Space:
    kind = type(feature_map)
    if kind not in structures:
        raise InputError(f"{kind.__name__} has no settings to search for. Choose another --variant.")
    own = _own_values(feature_map, method, training)
    layers = len(getattr(feature_map, "hidden", ()))
    structure = dict(structures[kind])
    if layers == 0 and 0 not in structure["hidden"]:
        del structure["hidden"]  # a method of one layer stays one
    structure = {name: _with(own[name], choices) for name, choices in structure.items()}
    # GAT and JK have a dropout of their own, in their structure.
    dropped = ("dropout", "input_dropout") if feature_map.drops_input else ()
    names = ("learning_rate", "weight_decay", *dropped, *of_loss)
    ranges = {name: TRAINING[name] for name in TRAINING if name in names}
    inside = {name: min(max(own[name], r.low), r.high) for name, r in ranges.items()}
    return Space(structure, ranges, {name: own[name] for name in structure} | inside, max(1, layers))


def _own_values(feature_map: FeatureMap, method: Method | LinkMethod, training: Training) -> dict[str, Any]:
    own = vars(training) | vars(method) | vars(feature_map)
    hidden = own.get("hidden", ())
    kernel = type(method.kernel).__name__
    return own | {"hidden": hidden[0] if hidden else 0, "normalized": kernel == "Normalized"}


def _with(own: Any, choices: Choices) -> Choices:
    """The choices, and the method's own value where it is another."""
    return choices if own in choices else (*choices, own)
