"""Losses over epochs, on training and on validation nodes."""

from __future__ import annotations

from functools import partial
from typing import Any

from kernode.viz.canvas import Axes
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import Picture
from kernode.viz.pictures.curves import curves_chart, draw_curves, history

_LOSSES = {
    "loss": "training loss",
    "softmax_loss": "its softmax part",
    "kernel_loss": "its kernel part",
    "validation_loss": "validation loss",
}
_PARTS = ("its softmax part", "its kernel part")
_STYLES = dict(zip(_LOSSES.values(), ("-", (0, (5, 2)), (0, (1, 1.2)), "-."), strict=True))


def loss_data(evaluation: EvaluationData) -> dict[str, Any]:
    """Return the losses over epochs."""
    data = history(evaluation.model, _LOSSES, "losses")
    parts = [title for title in _PARTS if title in data["curves"]]
    if len(parts) == 1 and "training loss" in data["curves"]:
        del data["curves"][parts[0]]  # a single part is the loss itself
    return data


def _draw(axes: Axes, data: dict[str, Any]) -> None:
    draw_curves(axes, data, _STYLES, "loss", 0.42)  # below the legend, and above where losses end
    look: dict[str, Any] = {"handlelength": 2.6, "facecolor": "white", "framealpha": 1, "edgecolor": "none"}
    axes.legend(loc="upper right", fontsize=7, **look)


PICTURE = Picture(
    "losses",
    "Losses",
    "What was minimised, and the same on validation nodes.",
    section="training",
    height=2.5,
    data=loss_data,
    draw=_draw,
    chart=partial(curves_chart, axis="loss"),
)
