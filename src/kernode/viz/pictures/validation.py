"""Validation scores over epochs, by which the epoch was chosen."""

from __future__ import annotations

from functools import partial
from typing import Any

from kernode.viz.canvas import Axes
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import Picture
from kernode.viz.pictures.curves import curves_chart, draw_curves, history

_SCORES = {"validation_accuracy": "validation accuracy", "validation_map": "validation mAP"}


def validation_data(evaluation: EvaluationData) -> dict[str, Any]:
    """Return the validation scores over epochs, or over the settings tried."""
    return history(evaluation.model, _SCORES, "scores on validation nodes")


def _draw(axes: Axes, data: dict[str, Any]) -> None:
    titles = list(data["curves"])
    axis = f"{titles[0]}, %" if len(titles) == 1 else "%"
    draw_curves(axes, data, dict(zip(titles, ("-", "--"), strict=False)), axis, 0.03)
    if len(titles) > 1:
        axes.legend(loc="lower right", frameon=False, fontsize=7)


PICTURE = Picture(
    "validation",
    "Validation",
    "The scores by which the epoch, or the setting, was chosen.",
    section="training",
    height=2.4,
    data=validation_data,
    draw=_draw,
    chart=partial(curves_chart, axis="%"),
)
