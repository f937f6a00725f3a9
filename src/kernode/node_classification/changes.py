"""Flat changes (``objective``, ``kernel_loss``, ``margin``, ``layers``, …) as other parts of a method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernode.compute.replicas import whole
from kernode.config import require_part, take_fields
from kernode.errors import InputError
from kernode.losses import Joint, KernelLoss, Loss, Objective, Softmax
from kernode.losses.kernel_loss import kernel_losses
from kernode.maps import FeatureMap

_MOST_LAYERS = 1000


def with_objective(loss: Loss, objective: Objective) -> Loss:
    """A loss with other parts: of those that stay, the settings stay.

    >>> from kernode.losses import Hinge
    >>> with_objective(Joint(Hinge(margin=0.5)), "kernel")
    Hinge(triplets=10000, margin=0.5)
    """
    if isinstance(objective, Loss) or (isinstance(objective, type) and issubclass(objective, Loss)):
        word = getattr(objective, "objective", "kernel")
        own = " and kernel_loss= the loss itself" if word == "kernel" else ""
        raise InputError(f"objective is a word: write objective={word!r}{own}. Got {objective!r}.")
    if objective not in ("kernel", "softmax", "joint"):
        raise InputError(f"objective must be 'kernel', 'softmax' or 'joint'. Got {objective!r}.")
    if objective == loss.objective:
        return loss
    joint = loss if isinstance(loss, Joint) else Joint()
    kernel = loss if isinstance(loss, KernelLoss) else joint.kernel
    softmax = loss if isinstance(loss, Softmax) else joint.softmax
    return {"kernel": kernel, "softmax": softmax, "joint": replace(joint, kernel=kernel, softmax=softmax)}[
        objective
    ]


def changed_loss(loss: Loss, changes: dict[str, Any]) -> Loss:
    """A loss with other settings, its parts' included, and another kernel loss by name or as an object."""
    if isinstance(loss, Joint):
        parts: dict[str, Any] = {part: changed_loss(getattr(loss, part), changes) for part in _PARTS}
        return replace(loss, **parts, **take_fields(changes, loss))
    if isinstance(loss, KernelLoss) and "kernel_loss" in changes:
        loss = _kernel_loss(changes.pop("kernel_loss"), loss)
    return replace(loss, **take_fields(changes, loss))


_PARTS = ("kernel", "softmax")  # of the joint loss


def _kernel_loss(given: Any, before: KernelLoss) -> KernelLoss:
    if isinstance(given, KernelLoss):
        return given
    if isinstance(given, type):
        require_part("kernel_loss", given, KernelLoss, "kernode.losses.Hinge()")
    known = kernel_losses()
    if not isinstance(given, str) or given.lower() not in known:
        raise InputError(f"kernel_loss must be one of {sorted(known)}. Got {given!r}.")
    kind = known[given.lower()]
    return before if type(before) is kind else kind(triplets=before.triplets)


def hidden_widths(feature_map: FeatureMap, hidden: Any, layers: int | None) -> tuple[int, ...]:
    """Widths of the hidden layers: as given, or one width for each of so many layers but the last."""
    if layers is not None:
        whole("layers", layers, 1, _MOST_LAYERS)
    if not hasattr(feature_map, "hidden"):
        setting = "hidden" if layers is None else "layers"
        raise InputError(f"{type(feature_map).__name__} has no setting {setting!r}: leave it out.")
    widths = tuple(np.atleast_1d(feature_map.hidden if hidden is None else hidden).tolist())
    if layers is None or len(widths) == layers - 1:
        return widths
    if len(widths) != 1:
        raise InputError(f"{layers} layers have {layers - 1} hidden widths. Got hidden={widths}: give them.")
    return widths * (layers - 1)
