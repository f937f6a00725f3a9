"""How sure predictions are: the reliability diagram, and accuracy over coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.metrics.accuracy import wilson
from kernode.tasks.classes.evaluation import calibration_report
from kernode.viz.canvas import COLOURS, GREY, QUIET, Axes, line_layout, plain_axes, rounded
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import Chart, Picture


def reliability_data(evaluation: EvaluationData) -> dict[str, Any]:
    """Return confidence and accuracy by bin, the calibration error, and its size by chance alone."""
    by_run, nodes, truth = evaluation.probabilities_on_test, evaluation.test_nodes, evaluation.truth
    assert truth is not None
    report = calibration_report(evaluation.model.calibration, by_run, nodes, truth)
    figures = report["ensemble"] or report
    shown = {name: figures[name] for name in ("error_mean", "by_chance", "bins")}
    return shown | {"calibrated_on": report["calibrated_on"], "of": evaluation.predictions.of}


def _columns(data: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Confidence and accuracy of the bins, and the lower and upper ends of their 95 % intervals."""
    bins = data["bins"]
    claimed, true = (np.array([one[name] for one in bins]) for name in ("confidence", "accuracy"))
    ends = np.array([wilson(one["accuracy"] / 100, one["nodes"]) for one in bins])
    return claimed, true, np.minimum(ends[:, 0], true), np.maximum(ends[:, 1], true)


def _draw_reliability(axes: Axes, data: dict[str, Any]) -> None:
    claimed, true, low, high = _columns(data)
    axes.plot([0, 100], [0, 100], color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
    around: dict[str, Any] = {"yerr": (true - low, high - true), "ecolor": COLOURS[0], "elinewidth": 0.9}
    axes.errorbar(claimed, true, fmt="o", color=COLOURS[0], markersize=4, capsize=0, **around)
    least = max(0.0, 5 * np.floor((min(claimed.min(), low.min()) - 3) / 5))
    axes.set(
        xlim=(least, 101),
        ylim=(least, 101),
        xlabel="predicted probability, %",
        ylabel="observed frequency, %",
    )
    axes.set_aspect("equal")
    words = f"calibration error {data['error_mean']:.1f} %\n(chance alone: {data['by_chance']:.1f} %)"
    words += "" if data["calibrated_on"] else "\nnot calibrated"
    above: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "fontsize": 7}
    axes.text(0.03, 0.98, f"{words}\n{data['of']};\nbars: 95 % intervals", color=QUIET, **above)
    plain_axes(axes)


def _reliability_chart(data: dict[str, Any]) -> Chart:
    claimed, true, low, high = _columns(data)
    bars: dict[str, Any] = {"type": "data", "symmetric": False, "width": 0, "color": COLOURS[0]}
    bars |= {"array": rounded(high - true, 2), "arrayminus": rounded(true - low, 2)}
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": claimed.tolist(),
        "y": true.tolist(),
        "customdata": [one["nodes"] for one in data["bins"]],
        "hovertemplate": "claimed %{x:.1f} %<br>came true %{y:.1f} %<br>%{customdata:,} nodes<extra></extra>",
        "marker": {"color": COLOURS[0], "size": 9},
        "error_y": bars,
    }
    look = {"hoverinfo": "skip", "line": {"dash": "dash", "width": 1, "color": GREY}}
    straight = {"type": "scatter", "mode": "lines", "x": [0, 100], "y": [0, 100], **look}
    layout = line_layout("claimed probability, %", "came true, %", showlegend=False)
    for axis in ("xaxis", "yaxis"):
        layout[axis]["range"] = [0, 102]
    return {"data": [straight, points], "layout": layout, "height": 360, "of": data["of"]}


@dataclass(frozen=True)
class Coverage:
    """Percent of the nodes above each confidence threshold, and accuracy on them."""

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


def _draw_coverage(axes: Axes, data: Coverage) -> None:
    axes.plot(data.answered, data.accuracy, color=COLOURS[0], linewidth=1.5, drawstyle="steps-post")
    many = data.answered >= 5  # a handful of nodes says little, and would set the scale
    shown = data.accuracy[many] if many.any() else data.accuracy
    least = max(0.0, float(np.floor(shown.min() - 3)))
    axes.set(xlim=(0, 101), ylim=(least, 100.8), xlabel="share of nodes, %", ylabel="accuracy, %")
    axes.text(0.03, 0.04, data.of, transform=axes.transAxes, fontsize=7, color=QUIET, va="bottom")
    plain_axes(axes)


def _coverage_chart(data: Coverage) -> Chart:
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


RELIABILITY = Picture(
    "reliability",
    "Reliability diagram",
    "Each point is one fifteenth of the predictions. On the dashed line, probabilities equal observed "
    "frequencies; bars are 95 % intervals.",
    section="sure",
    height=3.3,
    data=reliability_data,
    draw=_draw_reliability,
    chart=_reliability_chart,
    takes=("X", "y"),
)
COVERAGE = Picture(
    "coverage",
    "Accuracy over coverage",
    "Accuracy of the most confident predictions, by their share of the nodes.",
    section="sure",
    height=2.6,
    data=coverage_data,
    draw=_draw_coverage,
    chart=_coverage_chart,
    takes=("X", "y"),
)
