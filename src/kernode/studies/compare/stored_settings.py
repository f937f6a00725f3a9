"""Settings in the form that records have: by it they are found, so it does not change with the code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernode.losses import Hinge, Joint, KernelLoss, Loss, Softmax
from kernode.maps.former import former_json
from kernode.tasks.classes.method import Method, NodeMethod
from kernode.training.settings import Training


def stored_settings(method: NodeMethod, training: Training) -> dict[str, Any]:
    """A method and its training as plain values; a loss's settings stand among those of training."""
    described = former_json(method.to_json())
    loss: Loss = Joint()
    if isinstance(method, Method):
        loss = method.loss
        described.pop("loss")
        described["objective"] = loss.objective
    joint = _parts(loss)
    kernel: Any = joint.kernel
    if isinstance(method, Method):
        described["kernel_loss"] = type(kernel).__name__.lower()
    settings = training.to_json() | {
        "kernel_weight": joint.kernel_weight,
        "margin": getattr(kernel, "margin", Hinge().margin),
        "triplets": kernel.triplets,
        "class_weights": joint.softmax.class_weights,
    }
    return {"method": described, "training": settings}


def _parts(loss: Loss) -> Joint:
    """A loss with the parts it lacks as they are by default."""
    if isinstance(loss, Joint):
        return loss
    if isinstance(loss, KernelLoss):
        return replace(Joint(), kernel=loss)
    assert isinstance(loss, Softmax)
    return replace(Joint(), softmax=loss)
