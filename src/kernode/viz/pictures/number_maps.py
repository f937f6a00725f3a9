"""All nodes in a plane in which similar nodes are near each other, coloured by number or by error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.viz.canvas import (
    INK,
    QUIET,
    Axes,
    class_label,
    html_label,
    plane_axes,
    plane_layout,
    rounded,
)
from kernode.viz.evaluation import PARTS, TEST
from kernode.viz.numbers import NumberEvaluation
from kernode.viz.pictures import Chart, Picture
from kernode.viz.pictures.embedding import BY_WEBGL, PLANES

_BEYOND = 0.02  # share of the nodes whose number is beyond either end of the colours
_PALE = "#d9d9d9"


@dataclass(frozen=True)
class NumberMap:
    """Coordinates of m nodes, the value that colours each, and the ends of the colours.

    A value is NaN where a node has none: it is drawn pale.
    """

    evaluation: NumberEvaluation
    nodes: np.ndarray
    points: np.ndarray  # m × 2
    values: np.ndarray
    ends: tuple[float, float]
    part: np.ndarray
    title: str
    residuals: bool

    @property
    def axis(self) -> str:
        """How nodes are laid out."""
        return f"{PLANES[self.evaluation.layout]} of $\\bar{{K}}$"


def number_map(evaluation: NumberEvaluation, most: int | None = None) -> NumberMap:
    """Return every node, or evenly spaced ones beyond ``most``: its known number, else its predicted one."""
    known = evaluation.known
    values = np.where(np.isfinite(known), known, evaluation.numbers)
    ends = tuple(np.quantile(values, (_BEYOND, 1 - _BEYOND)).tolist())
    return _map(evaluation, values, (ends[0], ends[1]), evaluation.target, most, residuals=False)


def residual_map(evaluation: NumberEvaluation, most: int | None = None) -> NumberMap:
    """Return the errors of test nodes; without test nodes, of known numbers by all others."""
    values = np.full(evaluation.graph.n_nodes, np.nan)
    if evaluation.parts.test is not None:
        nodes, errors, of = evaluation.test_nodes, evaluation.residuals, "test nodes"
    else:
        nodes, of = evaluation.model.train[0], "known nodes, each by all others"
        errors = evaluation.model.targets[0] - evaluation.on.left_out()[0]
    values[nodes] = errors
    end = float(np.quantile(np.abs(errors), 1 - _BEYOND)) or 1.0
    title = f"true − predicted {evaluation.target}, {of}"
    return _map(evaluation, values, (-end, end), title, most, residuals=True)


def _map(
    evaluation: NumberEvaluation, values: np.ndarray, ends: tuple[float, float], title: str, most: int | None,
    *, residuals: bool,
) -> NumberMap:  # fmt: skip
    n = evaluation.graph.n_nodes
    nodes = np.arange(n) if most is None or n <= most else np.linspace(0, n - 1, most).round().astype(int)
    part = evaluation.parts.of_nodes(n)[nodes]
    points = evaluation.points[nodes]
    return NumberMap(evaluation, nodes, points, values[nodes], ends, part, title, residuals)


def _draw(axes: Axes, data: NumberMap) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    # Without the brightest yellow, which is faint on white.
    viridis = ListedColormap(colormaps["viridis"](np.linspace(0, 0.93, 256)))
    colours: Any = "RdBu_r" if data.residuals else viridis
    scale = float(np.clip(3000 / max(len(data.nodes), 1), 0.15, 1))  # smaller marks for a large graph
    there, is_test = np.isfinite(data.values), (data.part == TEST) & (not data.residuals)
    look: dict[str, Any] = {"cmap": colours, "vmin": data.ends[0], "vmax": data.ends[1], "rasterized": True}
    x, y = data.points.T
    axes.scatter(x[~there], y[~there], c=_PALE, s=3 * scale, linewidths=0, rasterized=True)
    for here, edge in ((there & ~is_test, 0.2 * data.residuals), (there & is_test, 0.3)):
        shown = axes.scatter(
            x[here], y[here], c=data.values[here], s=(8 if edge else 5) * scale,
            linewidths=edge, edgecolors=INK if edge else "none", **look,
        )  # fmt: skip
    plane_axes(axes, data.points)
    axes.set_xlabel(data.axis, color=QUIET, fontsize=7.5)
    bar = axes.figure.colorbar(
        shown, ax=axes, orientation="horizontal", extend="both", aspect=40, pad=0.01, shrink=0.8
    )
    bar.set_label(class_label(data.title, 60), fontsize=7.5)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)


def _chart(data: NumberMap) -> Chart:
    texts = np.array(_hover(data), dtype=object)
    there, is_test = np.isfinite(data.values), (data.part == TEST) & (not data.residuals)
    kind = "scattergl" if len(data.nodes) > BY_WEBGL else "scatter"
    own = {"type": kind, "mode": "markers", "showlegend": False, "hovertemplate": "%{text}<extra></extra>"}

    def trace(here: np.ndarray, marker: dict[str, Any]) -> dict[str, Any]:
        x, y = (rounded(data.points[here, axis], 3) for axis in (0, 1))
        return own | {"x": x, "y": y, "text": texts[here].tolist(), "marker": marker}

    bar = {
        "orientation": "h", "thickness": 10, "len": 0.8, "y": -0.01, "yanchor": "top", "outlinewidth": 0,
        "title": {"text": html_label(data.title, 70), "side": "top"},
    }  # fmt: skip
    values = [float(f"{value:.5g}") for value in data.values[there]]
    marker = {
        "color": values, "cmin": data.ends[0], "cmax": data.ends[1], "colorbar": bar, "opacity": 0.9,
        "size": np.where(is_test[there] | data.residuals, 7, 4).tolist(),
        "line": {"width": np.where(is_test[there], 0.7, 0.3 * data.residuals).tolist()},
    }  # fmt: skip
    traces = [trace(there, marker)]
    if not there.all():
        traces.insert(0, trace(~there, {"color": "#a6a6a6", "size": 3, "opacity": 0.4}))
    layout = plane_layout(margin={"l": 4, "r": 4, "t": 8, "b": 60})
    scale = "diverging" if data.residuals else "values"
    return {"data": traces, "layout": layout, "height": 560, "ratio": 1.35, "scale": scale}


def _hover(data: NumberMap) -> list[str]:
    evaluation, lines = data.evaluation, []
    for i, (node, name) in enumerate(zip(data.nodes.tolist(), evaluation.names(data.nodes), strict=True)):
        known, number = evaluation.known[node], evaluation.numbers[node]
        said = [f"<b>{html_label(name)}</b>"]
        said += [f"known: {known:.4g}"] if np.isfinite(known) else []
        said.append(f"predicted: {number:.4g} ± {evaluation.deviations[node]:.2g}")
        if data.residuals and np.isfinite(data.values[i]):
            said.append(f"true − predicted: {data.values[i]:+.3g}".replace("-", "−"))
        lines.append("<br>".join([*said, PARTS[data.part[i]]]))
    return lines


EMBEDDING = Picture(
    "embedding",
    "Layout of all nodes",
    "Similar nodes are near each other: nearness counts, directions and distances do not. The colour is the "
    "known number, or else the predicted one; 2 % of the nodes are beyond either end of the scale. Outlined "
    "circles are test nodes.",
    section="nodes",
    height=4.6,
    data=number_map,
    draw=_draw,
    chart=_chart,
    chart_settings={"most": 20_000},  # the page must stay small
    takes=("layout",),
)
RESIDUALS = Picture(
    "residuals",
    "Errors on the layout",
    "The colour is the true minus the predicted number: red nodes were predicted too low, blue ones too "
    "high. A group of one colour is an error that similar nodes share.",
    section="errors",
    height=4.6,
    data=residual_map,
    draw=_draw,
    chart=_chart,
    chart_settings={"most": 20_000},
    takes=("X", "y", "layout"),
)
