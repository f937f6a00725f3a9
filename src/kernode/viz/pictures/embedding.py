"""All nodes in a plane in which similar nodes are near each other, coloured by class, marked by part."""

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
    readable,
    rounded,
)
from kernode.viz.evaluation import OTHER, PARTS, TEST, TRAIN, VALIDATION, EvaluationData
from kernode.viz.pictures import Chart, Picture

_PLANES = {"tsne": "t-SNE", "pca": "PCA"}
# By matplotlib and in its legend, and by plotly. Training nodes are small and pale, test nodes stand out.
_MARKS: dict[int, dict[str, Any]] = {
    TRAIN: {"marker": "o", "s": 4, "alpha": 0.6, "linewidths": 0},
    OTHER: {"marker": "o", "s": 4, "alpha": 0.6, "linewidths": 0},
    VALIDATION: {"marker": "^", "s": 10, "alpha": 0.9, "linewidths": 0},
    TEST: {"marker": "o", "s": 8, "alpha": 0.95, "linewidths": 0.3, "edgecolors": INK},
}
_IN_LEGEND = {TRAIN: 2.5, VALIDATION: 5, TEST: 5, OTHER: 3.5}
_LEGEND = {"frameon": False, "fontsize": 7, "handletextpad": 0.2, "columnspacing": 0.9, "labelspacing": 0.3}
_SYMBOLS = {TRAIN: "circle", VALIDATION: "triangle-up", TEST: "circle", OTHER: "diamond"}
_SIZES = {TRAIN: 4, VALIDATION: 7, TEST: 7, OTHER: 5}
_BY_WEBGL = 3000  # nodes from which WebGL draws
_MANY = 8000  # nodes from which marks of the chart are smaller


@dataclass(frozen=True)
class Embedding:
    """Coordinates of m nodes, the class that colours each, and its part."""

    evaluation: EvaluationData
    nodes: np.ndarray
    points: np.ndarray  # m × 2
    classes: np.ndarray  # known, or else predicted
    is_known: np.ndarray
    part: np.ndarray


def embedding_data(evaluation: EvaluationData, most: int | None = None) -> Embedding:
    """Return every node, or evenly spaced ones if there are more than ``most``."""
    n, points = evaluation.graph.n_nodes, evaluation.points
    nodes = np.arange(n) if most is None or n <= most else np.linspace(0, n - 1, most).round().astype(int)
    is_known = evaluation.known[nodes] >= 0
    predicted = evaluation.shown.calibrated(nodes).argmax(axis=1)
    classes = np.where(is_known, evaluation.known[nodes], predicted)
    part = evaluation.parts.of_nodes(n)[nodes]
    return Embedding(evaluation, nodes, points[nodes], classes, is_known, part)


def _draw(axes: Axes, data: Embedding) -> None:
    from matplotlib.lines import Line2D

    def add(colour: str, label: str, shape: str = "o", size: float = 5, **look: Any) -> None:
        look |= {"marker": shape, "color": colour, "label": label, "markersize": size}
        handles.append(Line2D([], [], linestyle="", **look))

    handles: list[Line2D] = []
    colours = np.empty(len(data.nodes), dtype=object)
    for name, colour, here in class_groups(data.classes, data.evaluation.class_names):
        colours[here] = colour
        add(colour, class_label(name))
    columns = 2 if max(len(str(handle.get_label())) for handle in handles) > 12 else 3
    scale = float(np.clip(3000 / max(len(data.nodes), 1), 0.15, 1))  # smaller marks for a large graph
    for part, look in _MARKS.items():
        here = data.part == part
        look = look | {"s": look["s"] * scale, "rasterized": True}  # thousands would make the SVG large
        x, y = data.points[here].T
        axes.scatter(x, y, c=colours[here], **look)
    for part in (TRAIN, VALIDATION, TEST, OTHER):
        here = data.part == part
        if here.any():
            edge = (
                {"markeredgewidth": 0.6, "markeredgecolor": INK} if part == TEST else {"markeredgewidth": 0}
            )
            name = f"{PARTS[part]} node"
            if part == OTHER:
                name = "other nodes" if data.is_known[here].any() else "class not known: as predicted"
            add(QUIET, name, _MARKS[part]["marker"], _IN_LEGEND[part], **edge)
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=columns, **_LEGEND)
    x, y = np.maximum(np.abs(data.points).max(axis=0), 0.5) + 0.05  # a plane may be flat
    axes.set(xlim=(-x, x), ylim=(-y, y), aspect="equal", xticks=[], yticks=[])
    plane, of = _PLANES[data.evaluation.plane], data.evaluation.shown_runs
    axes.set_xlabel(f"{plane} of $\\bar{{K}}$, {of}", color=QUIET, fontsize=7.5)


def _chart(data: Embedding) -> Chart:
    texts = np.array(_hover(data), dtype=object)
    shrink = 0.7 if len(data.nodes) > _MANY else 1
    kind = "scattergl" if len(data.nodes) > _BY_WEBGL else "scatter"
    traces: list[dict[str, Any]] = []
    for name, colour, here in class_groups(data.classes, data.evaluation.class_names):
        parts = data.part[here].tolist()
        name = readable(name)
        own = {"mode": "markers", "legendgroup": html_label(name), "name": html_label(name, 28)}
        # The legend would take the shape of the first node: it has its own trace.
        mark: dict[str, Any] = {"color": colour, "size": 9}
        traces.append(own | {"type": "scatter", "x": [None], "y": [None], "marker": mark})
        trace: dict[str, Any] = {
            "type": kind,
            "showlegend": False,
            "x": rounded(data.points[here, 0], 3),
            "y": rounded(data.points[here, 1], 3),
            "text": texts[here].tolist(),
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {
                "color": colour,
                "symbol": [_SYMBOLS[part] for part in parts],
                "size": [round(shrink * _SIZES[part], 1) for part in parts],
                "opacity": 0.85,
                "line": {"width": [0.7 if part == TEST else 0 for part in parts]},
            },
        }
        traces.append(own | trace)
    hidden = {"visible": False, "fixedrange": False}
    layout = {
        "xaxis": hidden,
        "yaxis": hidden | {"scaleanchor": "x"},
        "legend": {"orientation": "h", "y": -0.02, "yanchor": "top", "itemsizing": "constant"},
        "margin": {"l": 4, "r": 4, "t": 8, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
    }
    look = {"height": 560, "ratio": 1.35}
    return {"data": traces, "layout": layout, **look, "of": data.evaluation.shown_runs}


def _hover(data: Embedding) -> list[str]:
    evaluation, lines = data.evaluation, []
    names = [html_label(name) for name in evaluation.class_names]
    chances = evaluation.shown.calibrated(data.nodes)
    for i, node in enumerate(evaluation.names(data.nodes)):
        known = f"known: {names[data.classes[i]]}<br>" if data.is_known[i] else ""
        answer = f"answered: {names[chances[i].argmax()]} ({100 * chances[i].max():.0f} %)"
        lines.append(f"<b>{html_label(node)}</b><br>{known}{answer}<br>{PARTS[data.part[i]]}")
    return lines


EMBEDDING = Picture(
    "embedding",
    "The plane of all nodes",
    "Similar nodes are near each other: nearness counts, directions and distances do not. Small dots are "
    "training nodes, triangles validation nodes, outlined circles test nodes; diamonds are in no part. Point "
    "at a node for its name. A click on a class hides it, a double click shows it alone; draw a box to zoom "
    "in, double click to zoom out.",
    section="nodes",
    height=4.6,
    data=embedding_data,
    draw=_draw,
    chart=_chart,
    chart_settings={"most": 20_000},  # the page must stay small
    takes=("plane",),
)
