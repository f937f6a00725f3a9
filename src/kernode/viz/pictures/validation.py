"""Validation scores over epochs, by which the epoch was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import Chart, Picture
from kernode.viz.pictures.curves import curves_chart, draw_curves, history

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SCORES = {"validation_accuracy": "validation accuracy", "validation_map": "validation mAP"}


def validation_data(evaluation: EvaluationData) -> dict[str, Any]:
    """Return the validation scores over epochs, or over the settings tried."""
    return history(evaluation.model, _SCORES, "scores on validation nodes")


def draw_validation(axes: Axes, data: dict[str, Any]) -> None:
    """Draw the scores, and a legend if there are several."""
    titles = list(data["curves"])
    axis = f"{titles[0]}, %" if len(titles) == 1 else "%"
    draw_curves(axes, data, dict(zip(titles, ("-", "--"), strict=False)), axis, 0.03)
    if len(titles) > 1:
        axes.legend(loc="lower right", frameon=False, fontsize=7)


def validation_chart(data: dict[str, Any]) -> Chart:
    """Return the scores over epochs, or over the settings tried."""
    return curves_chart(data, "%")


PICTURE = Picture(
    "validation",
    "Validation",
    "The scores by which the epoch, or the setting, was chosen.",
    section="training",
    height=2.4,
    data=validation_data,
    draw=draw_validation,
    chart=validation_chart,
)
