"""Overrides of a variant by part: another map, kernel, loss or training, or other settings of them.

A change of a part is the part itself, or a mapping of settings; a setting that is not given stays as the
variant has it. Estimators take changes in the same form as parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from kernode.compute.replicas import whole
from kernode.config import Config, changed, require_part
from kernode.errors import InputError, bad_setting
from kernode.kernels import BaseKernel, Normalized
from kernode.losses import Joint, KernelLoss, Loss, Softmax
from kernode.losses.kernel_loss import kernel_losses
from kernode.maps import FeatureMap
from kernode.maps.module import require_map
from kernode.training.settings import Training

Changes = Mapping[str, Any]
PARTS = ("map", "kernel", "loss", "training")
_SETTINGS = {  # those of maps are all others; methods without a loss have their settings in its place
    "training": {one.name for one in fields(Training)},
    "kernel": {"normalized"},
    "loss": {"objective", "kernel_loss", "kernel_weight", "margin", "triplets", "class_weights"}
    | {"scaled", "variational", "edge_folds", "base", "shares", "clamped", "steps"}
    | {"correction_shares", "smoothing_shares"},
}
_MOST_LAYERS = 1000


def part_of(name: str) -> str:
    """The part that a setting belongs to, by the setting's name.

    >>> part_of("patience"), part_of("margin"), part_of("hops")
    ('training', 'loss', 'map')
    """
    return next((part for part, names in _SETTINGS.items() if name in names), "map")


def by_part(**given: Any) -> dict[str, Any]:
    """Sort parts and single settings by part; None changes nothing.

    >>> by_part(loss={"margin": 0.5}, hops=3, patience=None)
    {'loss': {'margin': 0.5}, 'map': {'hops': 3}}
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        if value is not None:
            change = {name: value} if name in PARTS else {part_of(name): {name: value}}
            found = combined(found, change)
    return found


def combined(first: Changes, second: Changes) -> dict[str, Any]:
    """Return changes, and others that win over them."""
    found = dict(first)
    for part, change in second.items():
        before = found.get(part)
        if before is None or not isinstance(change, Mapping):
            found[part] = change
        elif isinstance(before, Mapping):
            found[part] = {**before, **change}
        elif isinstance(before, str):  # the name of a loss
            found[part] = {"objective": before, **change}
        elif isinstance(before, Config):
            found[part] = CHANGED[part](before, change)
        else:
            raise bad_setting(part, "a part, or a mapping of its settings", before)
    return found


def replaces_map(changes: Changes) -> bool:
    """Return whether the map is another, and not the variant's with other settings."""
    return not isinstance(changes.get("map", {}), Mapping)


def flat(changes: Changes) -> dict[str, Any]:
    """Return all settings that are changed, by name, and the parts that are replaced."""
    parts = (change if isinstance(change, Mapping) else {part: change} for part, change in changes.items())
    return {name: value for settings in parts for name, value in settings.items()}


def changed_training(before: Training, change: Any) -> Training:
    """Return other training settings. Where the last epoch is kept, no rule stops before it."""
    if not isinstance(change, Mapping):
        if not isinstance(change, Training):
            raise bad_setting("training", "a Training(…), or a mapping of its settings", change)
        return change
    settings = dict(change)
    if settings.get("selection") == "last" and settings.keys().isdisjoint(("patience", "stopping")):
        epochs = before.without_selection().epochs
        settings = {"epochs": epochs, "patience": None, "stopping": None, **settings}
    found: Training = changed(before, settings)
    return found


def changed_kernel(before: BaseKernel, change: Any) -> Any:
    """Return another kernel; ``normalized`` wraps it or takes the wrapping off."""
    if not isinstance(change, Mapping):
        return change
    settings = dict(change)
    if (normalized := settings.pop("normalized", None)) is not None:
        inner: Any = before.kernel if isinstance(before, Normalized) else before
        before = Normalized(inner) if normalized else inner
    return changed(before, settings) if settings else before


def changed_map(before: FeatureMap, change: Any) -> FeatureMap:
    """Return another map; ``hidden``: widths, 0 for none, or one for all but the last of ``layers``."""
    if not isinstance(change, Mapping):
        require_map(change, "kernode.maps.HopMLP()")
        return change
    require_map(before, "kernode.maps.HopMLP()")
    settings, inner = dict(change), before.unwrapped
    layers = settings.pop("layers", None)
    if layers is not None or "hidden" in settings:
        if not hasattr(inner, "hidden"):
            setting = "hidden" if layers is None else "layers"
            raise InputError(
                f"{type(inner).__name__} has no setting {setting!r}: leave it out.",
                "unknown", what="setting", setting=setting,
            )  # fmt: skip
        hidden = settings.get("hidden", inner.hidden)
        widths = tuple(np.atleast_1d(hidden).tolist()) if np.any(hidden) else ()
        if layers is not None and len(widths) != whole("layers", layers, 1, _MOST_LAYERS) - 1:
            if len(widths) != 1:
                raise InputError(
                    f"{layers} layers have {layers - 1} hidden widths. Got {widths}: give them.",
                    "setting", setting="hidden", value=widths,
                )  # fmt: skip
            widths *= layers - 1
        settings["hidden"] = widths
    found: FeatureMap = changed(before, settings)
    return found


def changed_loss(before: Any, change: Any) -> Any:
    """Return another loss: ``objective`` is a loss, or the name of one or of an objective.

    >>> from kernode.losses import Hinge
    >>> changed_loss(Joint(Hinge(margin=0.5)), "kernel")
    Hinge(triplets=10000, margin=0.5)
    >>> changed_loss(Joint(), {"margin": 0.5, "kernel_weight": 1.0}).kernel
    Hinge(triplets=10000, margin=0.5)
    """
    settings = dict(change) if isinstance(change, Mapping) else {"objective": change}
    if (other := settings.pop("objective", None)) is not None:
        before = _other_loss(before, other)
    if (kernel := settings.pop("kernel_loss", None)) is not None:
        before = _with_kernel_loss(before, kernel)
    return changed(before, settings)


CHANGED: dict[str, Any] = {
    "map": changed_map, "kernel": changed_kernel, "loss": changed_loss, "training": changed_training,
}  # fmt: skip


def _other_loss(loss: Any, given: Any) -> Loss:
    """Another loss, by name or as an object: of parts that stay, the settings stay."""
    if isinstance(given, Loss):
        return given
    joint = loss if isinstance(loss, Joint) else Joint()
    kernel = loss if isinstance(loss, KernelLoss) else joint.kernel
    softmax = loss if isinstance(loss, Softmax) else joint.softmax
    losses: dict[str, Loss] = {"kernel": kernel, "softmax": softmax}
    losses |= {"joint": replace(joint, kernel=kernel, softmax=softmax), loss.objective: loss}
    if isinstance(given, str) and given in losses:
        return losses[given]
    if isinstance(given, str) and given.lower() in kernel_losses():
        return _with_kernel_loss(loss, given)
    if isinstance(given, type):
        require_part("loss", given, Loss, "kernode.losses.Hinge()")
    known = ", ".join((*losses, *sorted(kernel_losses())))
    raise bad_setting("loss", f"a loss such as kernode.losses.Hinge(), or one of {known}", given)


def _with_kernel_loss(loss: Loss, given: Any) -> Loss:
    """A loss with another kernel loss, by name or as an object."""
    if isinstance(loss, Joint):
        kernel: Any = _with_kernel_loss(loss.kernel, given)
        return replace(loss, kernel=kernel)
    if not isinstance(loss, KernelLoss):
        raise InputError(
            f"{type(loss).__name__} has no kernel loss to replace: use the joint loss.",
            "no-effect", setting="kernel_loss",
        )  # fmt: skip
    if isinstance(given, KernelLoss):
        return given
    if isinstance(given, type):
        require_part("kernel_loss", given, KernelLoss, "kernode.losses.Hinge()")
    by_name = kernel_losses()
    if not isinstance(given, str) or given.lower() not in by_name:
        raise bad_setting("kernel_loss", f"one of {', '.join(sorted(by_name))}", given)
    kind = by_name[given.lower()]
    return loss if type(loss) is kind else kind(triplets=loss.triplets)
