"""All nodes in a plane in which similar nodes are near each other, coloured by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.viz.canvas import (
    INK,
    QUIET,
    Axes,
    class_groups,
    class_label,
    html_label,
    plane_axes,
    plane_layout,
    readable,
    rounded,
)
from kernode.viz.evaluation import PARTS, TEST, EvaluationData
from kernode.viz.pictures import Chart, Picture

PLANES = {"tsne": "t-SNE", "pca": "PCA"}
_LEGEND = {"frameon": False, "fontsize": 7, "handletextpad": 0.2, "columnspacing": 0.9, "labelspacing": 0.3}
BY_WEBGL = 3000  # nodes from which WebGL draws


@dataclass(frozen=True)
class Embedding:
    """Coordinates of m nodes, the class that colours each, and its part."""

    evaluation: EvaluationData
    nodes: np.ndarray
    points: np.ndarray  # m × 2
    chances: np.ndarray  # m × c
    classes: np.ndarray  # known, or else predicted
    is_known: np.ndarray
    part: np.ndarray


def embedding_data(evaluation: EvaluationData, most: int | None = None) -> Embedding:
    """Return every node, or evenly spaced ones if there are more than ``most``."""
    n, points = evaluation.graph.n_nodes, evaluation.points
    nodes = np.arange(n) if most is None or n <= most else np.linspace(0, n - 1, most).round().astype(int)
    known, chances = evaluation.known[nodes], evaluation.shown.calibrated(nodes)
    classes = np.where(known >= 0, known, chances.argmax(axis=1))
    part = evaluation.parts.of_nodes(n)[nodes]
    return Embedding(evaluation, nodes, points[nodes], chances, classes, known >= 0, part)


def _draw(axes: Axes, data: Embedding) -> None:
    from matplotlib.lines import Line2D

    groups = class_groups(data.classes, data.evaluation.class_names)
    look: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 5}
    handles = [Line2D([], [], color=colour, label=class_label(name), **look) for name, colour, _ in groups]
    scale = float(np.clip(3000 / max(len(data.nodes), 1), 0.15, 1))  # smaller marks for a large graph
    for is_test in (False, True):
        for _, colour, here in groups:
            x, y = data.points[here & ((data.part == TEST) == is_test)].T
            edge: dict[str, Any] = {"edgecolors": INK, "linewidths": 0.3} if is_test else {"linewidths": 0}
            size = (8 if is_test else 4) * scale
            # As pixels: thousands of marks would make the SVG large.
            axes.scatter(x, y, c=colour, s=size, alpha=0.95 if is_test else 0.6, rasterized=True, **edge)
    if (data.part == TEST).any():
        edge = {"markeredgewidth": 0.6, "markeredgecolor": INK}
        handles.append(Line2D([], [], color=QUIET, label="test node", **look, **edge))
    columns = 2 if max(len(str(handle.get_label())) for handle in handles) > 12 else 3
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=columns, **_LEGEND)
    plane_axes(axes, data.points)
    layout, of = PLANES[data.evaluation.layout], data.evaluation.shown_runs
    axes.set_xlabel(f"{layout} of $\\bar{{K}}$, {of}", color=QUIET, fontsize=7.5)


def _chart(data: Embedding) -> Chart:
    texts = np.array(_hover(data), dtype=object)
    kind = "scattergl" if len(data.nodes) > BY_WEBGL else "scatter"
    traces: list[dict[str, Any]] = []
    for name, colour, here in class_groups(data.classes, data.evaluation.class_names):
        name = html_label(readable(name), 28)
        own = {"mode": "markers", "legendgroup": name, "name": name}
        # The legend would take the size of the first node: it has its own trace.
        mark = {"color": colour, "size": 9}
        traces.append(own | {"type": "scatter", "x": [None], "y": [None], "marker": mark})
        is_test = data.part[here] == TEST
        trace: dict[str, Any] = {
            "type": kind,
            "showlegend": False,
            "x": rounded(data.points[here, 0], 3),
            "y": rounded(data.points[here, 1], 3),
            "text": texts[here].tolist(),
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {
                "color": colour,
                "size": np.where(is_test, 7, 4).tolist(),
                "opacity": 0.85,
                "line": {"width": np.where(is_test, 0.7, 0).tolist()},
            },
        }
        traces.append(own | trace)
    legend = {"orientation": "h", "y": -0.02, "yanchor": "top", "itemsizing": "constant"}
    layout = plane_layout(legend=legend)
    return {"data": traces, "layout": layout, "height": 560, "ratio": 1.35, "of": data.evaluation.shown_runs}


def _hover(data: Embedding) -> list[str]:
    names, lines = [html_label(name) for name in data.evaluation.class_names], []
    for i, node in enumerate(data.evaluation.names(data.nodes)):
        chances = data.chances[i]
        known = f"known: {names[data.classes[i]]}<br>" if data.is_known[i] else ""
        predicted = f"predicted: {names[chances.argmax()]} ({100 * chances.max():.0f} %)"
        lines.append(f"<b>{html_label(node)}</b><br>{known}{predicted}<br>{PARTS[data.part[i]]}")
    return lines


EMBEDDING = Picture(
    "embedding",
    "Layout of all nodes",
    "Similar nodes are near each other: nearness counts, directions and distances do not. Outlined circles "
    "are test nodes. Point at a node for its name. A click on a class hides it, a double click shows it "
    "alone; draw a box to zoom in, double click to zoom out.",
    section="nodes",
    height=4.6,
    data=embedding_data,
    draw=_draw,
    chart=_chart,
    chart_settings={"most": 20_000},  # the page must stay small
    takes=("layout",),
)
