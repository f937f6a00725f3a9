"""Predicted numbers against true ones, and how often intervals hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.tasks.numbers.evaluation import COVERAGE as NOMINAL
from kernode.tasks.numbers.evaluation import coverage_by_chance, figures
from kernode.tasks.numbers.model import INTERVALS, Interval, enough_errors
from kernode.viz.canvas import (
    COLOURS,
    GREY,
    QUIET,
    Axes,
    class_label,
    html_label,
    line_layout,
    plain_axes,
    rounded,
)
from kernode.viz.numbers import NumberEvaluation
from kernode.viz.pictures import Chart, Picture
from kernode.viz.pictures.embedding import BY_WEBGL

_WHISKERS = 40  # nodes whose interval is drawn
_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_LOOK = {"conformal": (COLOURS[0], "o"), "loo": (COLOURS[1], "s"), "gaussian": (COLOURS[2], "^")}


@dataclass(frozen=True)
class Predicted:
    """True and predicted numbers of m nodes, and intervals of some of them."""

    names: list[str]
    truth: np.ndarray
    numbers: np.ndarray
    some: np.ndarray  # positions of nodes with a whisker
    intervals: np.ndarray  # some × 2
    target: str
    r2: float
    nodes: int  # of which m are shown
    method: Interval

    @property
    def span(self) -> tuple[float, float]:
        """Ends of both axes."""
        low, high = (pick(pick(self.truth), pick(self.numbers)) for pick in (min, max))
        edge = 0.04 * ((high - low) or 1.0)
        return low - edge, high + edge

    @property
    def of(self) -> str:
        """What is shown, in words."""
        return f"R² {self.r2:.3f} on {self.nodes:,} test nodes"

    @property
    def bars(self) -> str:
        """What a whisker is."""
        return f"bars: {100 * NOMINAL:.0f} % intervals ({self.method}) of {len(self.some)}"


def predicted_data(evaluation: NumberEvaluation, most: int | None = None) -> Predicted:
    """Return the test nodes, or evenly spaced ones beyond ``most``; whiskers are spread over true numbers."""
    nodes, truth = evaluation.test_nodes, evaluation.truth
    assert truth is not None
    r2 = figures(truth, evaluation.numbers[nodes])["r2"]
    t = len(nodes)
    shown = np.arange(t) if most is None or t <= most else np.linspace(0, t - 1, most).round().astype(int)
    own, order = nodes[shown], np.argsort(truth[shown], kind="stable")
    some = order[np.unique(np.linspace(0, len(own) - 1, min(_WHISKERS, len(own))).round().astype(int))]
    return Predicted(
        evaluation.names(own), truth[shown], evaluation.numbers[own], some, evaluation.intervals[own[some]],
        evaluation.target, r2, t, evaluation.interval,
    )  # fmt: skip


def _draw(axes: Axes, data: Predicted) -> None:
    low, high = data.span
    axes.plot([low, high], [low, high], color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.vlines(data.truth[data.some], *data.intervals.T, color=GREY, linewidth=0.8)
    scale = float(np.clip(400 / max(len(data.truth), 1), 0.25, 1))
    axes.scatter(data.truth, data.numbers, s=10 * scale, color=COLOURS[0], alpha=0.6, linewidths=0, zorder=3)
    name = class_label(data.target)
    axes.set(xlim=(low, high), ylim=(low, high), xlabel=f"true {name}", ylabel=f"predicted {name}")
    axes.set_aspect("equal")
    above: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "fontsize": 7}
    axes.text(0.03, 0.98, f"{data.of};\n{data.bars}", color=QUIET, **above)
    plain_axes(axes)


def _chart(data: Predicted) -> Chart:
    low, high = data.span
    line: dict[str, Any] = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    dashed: dict[str, Any] = {"dash": "dash", "width": 1, "color": GREY}
    straight = line | {"x": [low, high], "y": [low, high], "line": dashed}
    x = [place for one in data.truth[data.some].tolist() for place in (one, one, None)]
    y = [end for lower, upper in data.intervals.tolist() for end in (lower, upper, None)]
    whiskers = line | {"x": x, "y": y, "line": {"width": 1.2, "color": GREY}}
    points = {
        "type": "scattergl" if len(data.truth) > BY_WEBGL else "scatter",
        "mode": "markers",
        "x": data.truth.tolist(),
        "y": data.numbers.tolist(),
        "text": [html_label(name) for name in data.names],
        "hovertemplate": "<b>%{text}</b><br>true %{x:.4g}<br>predicted %{y:.4g}<extra></extra>",
        "marker": {"color": COLOURS[0], "size": 6, "opacity": 0.7},
    }
    name = html_label(data.target)
    layout = line_layout(f"true {name}", f"predicted {name}", showlegend=False, hovermode="closest")
    for axis in ("xaxis", "yaxis"):
        layout[axis]["range"] = [low, high]
    look = {"height": 460, "ratio": 1.0, "of": f"{data.of}; {data.bars} nodes"}
    return {"data": [straight, whiskers, points], "layout": layout, **look}


@dataclass(frozen=True)
class Coverages:
    """Of each method, nominal and measured coverage in percent, and the ends of what chance explains."""

    rows: dict[Interval, np.ndarray]  # levels × 4
    nodes: int


def coverage_data(evaluation: NumberEvaluation) -> Coverages:
    """Return the coverage of test nodes at each level that the errors suffice for."""
    nodes, truth, on = evaluation.test_nodes, evaluation.truth, evaluation.on
    assert truth is not None
    held, rows = evaluation.model.held, {}
    errors = {"conformal": 0 if held is None else held.shape[1], "loo": evaluation.model.train.shape[1]}
    for method in INTERVALS:
        found = []
        for level in _LEVELS:
            if method in errors and not enough_errors(errors[method], level):
                continue
            low, high = on.intervals(nodes, level, method).T
            measured = 100 * float(((low <= truth) & (truth <= high)).mean())
            found.append([100 * level, measured, *coverage_by_chance(on, len(nodes), level, method)])
        if found:
            rows[method] = np.array(found)
    return Coverages(rows, len(nodes))


def _bands(data: Coverages) -> list[tuple[str, np.ndarray]]:
    """Colour and rows of what chance explains: of conformal intervals, and of the others."""
    wider = [(COLOURS[0], data.rows["conformal"])] if "conformal" in data.rows else []
    return [*wider, (GREY, data.rows["gaussian"])]


def _draw_coverage(axes: Axes, data: Coverages) -> None:
    for colour, rows in _bands(data):
        axes.fill_between(rows[:, 0], rows[:, 2], rows[:, 3], color=colour, alpha=0.2, linewidth=0)
    axes.plot([0, 100], [0, 100], color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
    for method, rows in data.rows.items():
        colour, marker = _LOOK[method]
        look: dict[str, Any] = {"markersize": 3.5, "linewidth": 1.1, "label": method}
        axes.plot(rows[:, 0], rows[:, 1], color=colour, marker=marker, **look)
    axes.set(xlim=(0, 101), ylim=(0, 101), xlabel="nominal coverage, %", ylabel="measured coverage, %")
    axes.set_aspect("equal")
    axes.legend(
        fontsize=7, frameon=False, loc="upper left", title=f"{data.nodes:,} test nodes", title_fontsize=7
    )
    axes.text(
        0.97, 0.03, "shaded: 95 % of cases\nby chance (blue: conformal)", ha="right",
        transform=axes.transAxes, fontsize=7, color=QUIET,
    )  # fmt: skip
    plain_axes(axes)


def _coverage_chart(data: Coverages) -> Chart:
    traces: list[dict[str, Any]] = []
    for colour, rows in _bands(data):
        edge = {"type": "scatter", "mode": "lines", "x": rows[:, 0].tolist(), "line": {"width": 0}}
        edge |= {"showlegend": False, "hoverinfo": "skip"}
        red, green, blue = bytes.fromhex(colour[1:])
        band = {"fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},0.2)"}
        traces += [edge | {"y": rounded(rows[:, 2], 2)}, edge | band | {"y": rounded(rows[:, 3], 2)}]
    dashed = {"line": {"dash": "dash", "width": 1, "color": GREY}, "hoverinfo": "skip", "showlegend": False}
    traces.append({"type": "scatter", "mode": "lines", "x": [0, 100], "y": [0, 100], **dashed})
    for method, rows in data.rows.items():
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": method,
                "x": rows[:, 0].tolist(),
                "y": rounded(rows[:, 1], 2),
                "hovertemplate": f"{method}<br>nominal %{{x:g}} %<br>measured %{{y:.1f}} %<extra></extra>",
                "line": {"color": _LOOK[method][0], "width": 2},
                "marker": {"color": _LOOK[method][0], "size": 7},
            }
        )
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    layout = line_layout("nominal coverage, %", "measured coverage, %", legend=legend)
    for axis in ("xaxis", "yaxis"):
        layout[axis]["range"] = [0, 101]
    look = {"height": 460, "ratio": 1.0, "square": True}
    return {"data": traces, "layout": layout, **look, "of": f"{data.nodes:,} test nodes"}


PREDICTED = Picture(
    "predicted",
    "Predicted and true numbers",
    "Each point is a test node; on the dashed line, predictions are right. Bars are intervals of some nodes.",
    section="errors",
    height=3.4,
    data=predicted_data,
    draw=_draw,
    chart=_chart,
    chart_settings={"most": 20_000},  # the page must stay small
    takes=("X", "y"),
)
COVERAGE = Picture(
    "coverage",
    "Coverage of intervals",
    "How many true numbers are within intervals, at each nominal coverage. On the dashed line, intervals "
    "hold as often as they claim. The shade is what chance explains: more for conformal intervals, as the "
    "nodes that calibrate them are a sample, too.",
    section="sure",
    height=3.4,
    data=coverage_data,
    draw=_draw_coverage,
    chart=_coverage_chart,
    takes=("X", "y"),
)
