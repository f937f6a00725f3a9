"""Accuracy over coverage: how many of the most confident predictions are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.viz.canvas import COLOURS, INK, QUIET, Axes, line_layout, plain_axes, rounded
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import Chart, Picture

_THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)  # marked on the curve


@dataclass(frozen=True)
class Coverage:
    """Percent of the nodes that are answered and percent of them that are right, by confidence threshold."""

    answered: np.ndarray
    accuracy: np.ndarray
    threshold: np.ndarray
    of: str


def coverage_data(evaluation: EvaluationData) -> Coverage:
    """Return the curve from the most confident test nodes to all; equal confidences count together."""
    predictions = evaluation.predictions
    order = np.argsort(-predictions.confidence, kind="stable")
    confidence, right = predictions.confidence[order], np.cumsum(predictions.correct[order])
    last = np.flatnonzero(np.append(confidence[1:] != confidence[:-1], True))  # the last of each confidence
    count = last + 1
    answered, accuracy = 100 * count / len(confidence), 100 * right[last] / count
    return Coverage(answered, accuracy, confidence[last], predictions.of)


def _draw(axes: Axes, data: Coverage) -> None:
    axes.plot(data.answered, data.accuracy, color=COLOURS[0], linewidth=1.5, drawstyle="steps-post")
    many = data.answered >= 5  # a handful of nodes says little, and would set the scale
    shown = data.accuracy[many] if many.any() else data.accuracy
    least = max(0.0, float(np.floor(shown.min() - 3)))
    axes.set(xlim=(0, 101), ylim=(least, 100.8), xlabel="answered nodes, %", ylabel="of them right, %")
    for number, threshold in enumerate(_THRESHOLDS):
        at = np.flatnonzero(data.threshold >= threshold)
        if len(at):
            x, y = data.answered[at[-1]], data.accuracy[at[-1]]
            axes.plot(x, y, "o", color=COLOURS[1], markersize=3.5, zorder=3)
            # Above and below in turn: marks may be close to each other.
            below = number % 2 == 1 and x > 20
            side: dict[str, Any] = {"ha": "right", "va": "top"} if below else {"ha": "left", "va": "bottom"}
            by = (-2, -2) if below else (2, 2)
            text = f"≥ {100 * threshold:g} %"
            axes.annotate(text, (x, y), by, textcoords="offset points", fontsize=6.5, color=INK, **side)
    words = f"{data.of};\nmarks: least probability of an answer"
    axes.text(0.03, 0.04, words, transform=axes.transAxes, fontsize=7, color=QUIET, va="bottom")
    plain_axes(axes)


def _chart(data: Coverage) -> Chart:
    keep = np.unique(np.linspace(0, len(data.answered) - 1, min(len(data.answered), 800)).round().astype(int))
    trace = {
        "type": "scatter",
        "mode": "lines",
        "x": rounded(data.answered[keep], 2),
        "y": rounded(data.accuracy[keep], 2),
        "customdata": rounded(100 * data.threshold[keep], 1),
        "hovertemplate": "at least %{customdata} % sure:<br>%{x:.1f} % answered, %{y:.1f} % right"
        "<extra></extra>",
        "line": {"color": COLOURS[0], "width": 2, "shape": "hv"},
    }
    layout = line_layout("answered nodes, %", "of them right, %", showlegend=False)
    layout["xaxis"]["range"] = [0, 101]
    return {"data": [trace], "layout": layout, "height": 360, "of": data.of}


COVERAGE = Picture(
    "coverage",
    "Accuracy over coverage",
    "If only the most confident answers are given, how many of them are right.",
    section="sure",
    height=2.6,
    data=coverage_data,
    draw=_draw,
    chart=_chart,
    takes=("X", "y"),
)
