"""What a model's file says of its training, epoch by epoch: hop weights, losses, validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.node_classification.model import Model

# What is minimised and what chooses, in the order in which it is shown.
LOSSES = {
    "loss": "training loss",
    "softmax_loss": "its softmax part",
    "kernel_loss": "its kernel part",
    "validation_loss": "validation loss",
}
_PARTS = ("softmax_loss", "kernel_loss")
SCORES = {"validation_accuracy": "validation accuracy", "validation_map": "validation mAP"}
EPOCH, SETTING = "epoch", "setting"  # what is counted


def hop_weight_history(model: Model) -> dict[str, Any]:
    """Return ω_h after every epoch, its mean and spread over the runs (E × (H+1)), and the epochs kept."""
    weights = model.history.get("hop_weights")
    if weights is None:
        raise InputError(
            "only a map that learns its hop weights, trained for at least one epoch, has a history of them. "
            f"Got {type(getattr(model.method, 'map', model.method)).__name__}."
        )
    weights = weights.astype(np.float64)  # E × r × (H+1)
    spread = weights.std(axis=1, ddof=1) if weights.shape[1] > 1 else np.zeros_like(weights[:, 0])
    return {
        "mean": weights.mean(axis=1).round(4).tolist(),
        "std": spread.round(4).tolist(),
        "kept_epochs": model.kept_epochs.tolist(),
    }


def course(model: Model, wanted: Mapping[str, str], what: str) -> dict[str, Any]:
    """Some curves over epochs, the mean over the runs and their spread (E each), by name.

    ``step``: what E counts. Label propagation tries settings, which have no order, in the place of
    epochs.
    """
    known = {name: model.history[name] for name in wanted if len(model.history.get(name, ()))}
    if not known:
        raise InputError(
            f"the model has no history of {what}: {model.method.title} has none, or it was trained for no "
            "epoch."
        )
    parts = [name for name in _PARTS if name in known]
    if len(parts) == 1 and "loss" in known:
        del known[parts[0]]  # one part alone is the loss itself
    return {
        "curves": {name: _mean_and_std(values) for name, values in known.items()},
        "kept_epochs": model.kept_epochs.tolist(),
        "step": EPOCH if model.method.learns_by_gradient or "loss" in model.history else SETTING,
    }


def _mean_and_std(values: np.ndarray) -> dict[str, list[float]]:
    values = values.astype(np.float64)  # E × r
    spread = values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.zeros(len(values))
    return {"mean": values.mean(axis=1).round(6).tolist(), "std": spread.round(6).tolist()}
