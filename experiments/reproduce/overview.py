"""The framework in one picture (the paper's Fig. 1, drawn anew)."""

from __future__ import annotations

from itertools import chain, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.viz.canvas import (
    COLOURS,
    INK,
    LINE,
    QUIET,
    colour,
    empty_figure,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Point = tuple[float, float]
TEAL, PAPER, TINT = "#00735c", "#fafafa", "#eaf2f8"
# The little graph: where its nodes lie, their classes (−1: not known), their names and what is joined.
NODES: tuple[Point, ...] = (
    (7.2, 44.4), (3.7, 40.9), (7.9, 40), (4.6, 36.5), (11.6, 42.7), (15.3, 44.9), (12.7, 38.3), (16.4, 40.2),
)  # fmt: skip
CLASSES = (0, 0, -1, 2, -1, 1, -1, 1)
NAMES = ("u", "", "v", "", "", "", "", "")
EDGES = ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (4, 5), (2, 6), (4, 7), (5, 7), (6, 7))
# Neighbours of the node in the middle of the rings, and which of the near ones leads to each far one.
NEAR: tuple[Point, ...] = ((-4.2, 1.2), (1.2, 2.6), (3.6, -1.6))
FAR: tuple[Point, ...] = ((-8.8, 2), (-6, -3.6), (3.4, 5.1), (9, -2), (2, -5.2))
LEADING = (0, 0, 1, 2, 2)


def draw_overview(stem: Path) -> list[Path]:
    """Draw the framework (Fig. 1 of the paper, anew): graph, feature map, kernel, losses and classifiers."""
    with empty_figure(9, 4.9, None) as figure:
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set(xlim=(0, 100), ylim=(0, 54.4), aspect="equal")  # a unit is 0.09 inches, 6.5 points
        axis.axis("off")
        _draw_graph(axis)
        _card(axis, (22, 27), 42.5, 26, r"Feature map $g_\theta$", TINT)
        _draw_mlp(axis)
        _draw_hops(axis, 52, 40)
        _draw_kernel(axis)
        _draw_signal(axis)
        _draw_classifiers(axis)
        return write_figure(figure, stem)


def _card(axis: Axes, corner: Point, width: float, height: float, title: str, face: str = PAPER) -> None:
    from matplotlib.patches import FancyBboxPatch

    look: dict[str, Any] = {"facecolor": face, "edgecolor": LINE, "linewidth": 0.8, "zorder": 0}
    shape = "round,pad=0,rounding_size=1"
    axis.add_patch(FancyBboxPatch(corner, width, height, boxstyle=shape, **look))
    top = corner[1] + height - 2.4
    _words(axis, corner[0] + width / 2, top, title, va="baseline", fontsize=9.5, fontweight="bold")


def _words(axis: Axes, x: float, y: float, text: str, **changes: Any) -> None:
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8.3, "linespacing": 1.3, "zorder": 4}
    axis.text(x, y, text, **(look | changes))


def _line(
    axis: Axes, start: Point, end: Point, color: str = LINE, width: float = 1, style: Any = "-"
) -> None:
    axis.plot(*zip(start, end, strict=True), color=color, linewidth=width, linestyle=style, zorder=1)


def _arrow(axis: Axes, start: Point, end: Point, **changes: Any) -> None:
    head = "-|>,head_width=0.22,head_length=0.4"
    look = {"arrowstyle": head, "color": QUIET, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", end, start, arrowprops=look | changes)


def _node(axis: Axes, at: Point, label: int, text: str = "", radius: float = 1.15) -> None:
    from matplotlib.patches import Circle

    face, ink = ("#dddddd", INK) if label < 0 else (colour(label), "white")
    axis.add_patch(Circle(at, radius, facecolor=face, edgecolor="white", linewidth=0.9, zorder=3))
    _words(axis, *at, text, color=ink, fontweight="bold", fontsize=8)


def _cells(axis: Axes, x: float, y: float, values: Any, size: float) -> None:
    """A vector as a row of cells, blue where it is negative and red where it is positive."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    look: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.7, "zorder": 3}
    for i, value in enumerate(values):
        face = colormaps["RdBu_r"](0.5 + value / 2)
        axis.add_patch(Rectangle((x + i * size, y), size, size, facecolor=face, **look))


def _draw_graph(axis: Axes) -> None:
    _card(axis, (1, 27), 18, 26, "Graph $G$")
    for one, other in EDGES:
        _line(axis, NODES[one], NODES[other])
    for at, label, name in zip(NODES, CLASSES, NAMES, strict=True):
        _node(axis, at, label, name)
    _words(axis, 10, 31, "features $x_v$ on all nodes,\nclasses on some", color=QUIET)
    _arrow(axis, (19.3, 40), (21.7, 40))


def _draw_mlp(axis: Axes) -> None:
    _words(axis, 31, 48, "one MLP, on every node")
    layers = [[(x, y) for y in np.linspace(36, 44, count)] for x, count in ((26.5, 4), (31, 3), (35.5, 4))]
    for left, right in pairwise(layers):
        for start, end in product(left, right):
            _line(axis, start, end, width=0.6)
    for at in chain(*layers):
        _node(axis, at, 6, radius=0.7)
    _words(axis, 31, 31, r"$\mathrm{MLP}(X)$", fontsize=10)
    _arrow(axis, (37, 40), (40, 40))


def _draw_hops(axis: Axes, x: float, y: float) -> None:
    """A node within its rings: what is one hop away has one weight, what is two hops away another."""
    from matplotlib.patches import Ellipse

    _words(axis, x, 48, "neighbours at exactly $h$ hops")
    for hop, width, height in ((2, 22, 12.6), (1, 11.5, 7)):
        look: dict[str, Any] = {"facecolor": "white", "edgecolor": colour(hop), "linewidth": 1.2}
        axis.add_patch(Ellipse((x, y), width, height, zorder=0.5, **look))
    near = [(x + dx, y + dy) for dx, dy in NEAR]
    far = [(x + dx, y + dy) for dx, dy in FAR]
    for at in near:
        _line(axis, (x, y), at)
    for at, leading in zip(far, LEADING, strict=True):
        _line(axis, near[leading], at)
    for at in (*near, *far):
        _node(axis, at, -1, radius=0.75)
    _node(axis, (x, y), 0, "u")
    for hop, dx, dy in ((0, 2.5, 0.5), (1, -2.4, -1.9), (2, 7.2, 2.6)):
        _words(axis, x + dx, y + dy, rf"$\omega_{hop}$", color=colour(hop), fontsize=10)
    _words(axis, x, 31, r"$(\sum_h\, \omega_h\, \bar{A}^h \odot M^{(h)})\, \mathrm{MLP}(X)$", fontsize=10)
    _arrow(axis, (64.8, 40), (67.2, 40))


def _draw_kernel(axis: Axes) -> None:
    _card(axis, (67.5, 27), 31.5, 26, "Kernel")
    for node, y, values in (
        ("u", 43.1, (0.7, -0.3, 0.5, -0.6, 0.2)),
        ("v", 36.9, (0.6, -0.4, 0.3, -0.7, 0.4)),
    ):
        _words(axis, 71, y, f"$g({node})$", fontsize=9)
        _cells(axis, 73.5, y - 0.7, values, 1.4)
        _arrow(axis, (80.9, y), (82.6, 40 + 0.58 * (y - 40)))
    _node(axis, (85, 40), 0, radius=2.7)
    _words(axis, 85, 40, r"$k_{\mathrm{base}}$", color="white", fontsize=9.5)
    _arrow(axis, (87.9, 40), (89.7, 40))
    similarity = 0.95 * np.kron(np.eye(3), np.ones((2, 2))) - 0.12  # three classes of two nodes
    similarity[2:4, 4:] = similarity[4:, 2:4] = -0.45
    for i, row in enumerate(similarity):
        _cells(axis, 90.1, 42.6 - 1.3 * i, row, 1.3)
    _words(axis, 94, 45.6, "$K(u, v)$", fontsize=9)
    _words(axis, 83.2, 31, "a dot product or RBF: p.s.d. for every $g$", color=QUIET)


def _draw_signal(axis: Axes) -> None:
    _card(axis, (1, 1.4), 51, 20.6, "Learning signal $s_G$")
    _arrow(axis, (10, 26.7), (10, 22.3))
    _words(axis, 10.8, 24.6, "classes", ha="left", color=QUIET)
    _arrow(axis, (43, 22.3), (43, 26.7), color=TEAL, linestyle=(0, (3, 2)))
    _words(axis, 42.2, 24.6, r"trains $\theta$: the MLP and $\omega_h$", ha="right", color=TEAL)
    anchor, same, other = (10.6, 10.0), (17.8, 14.4), (17.8, 5.6)
    _line(axis, anchor, same, TEAL, 1.8)
    _line(axis, anchor, other, COLOURS[1], 1.4, (0, (2, 2)))
    for at, label, name in ((anchor, 0, "a"), (same, 0, "p"), (other, 1, "n")):
        _node(axis, at, label, name, 1.4)
    _words(axis, 8.6, 10, "anchor", ha="right")
    _words(axis, 19.9, 14.4, "same class\n$s_G = +1$", ha="left")
    _words(axis, 19.9, 5.6, "other class\n$s_G = -1$", ha="left")
    _words(axis, 40, 15.2, r"$K(a, p)$ must exceed $K(a, n)$ by $\alpha$")
    _words(axis, 40, 11.2, r"$\mathcal{L}_K = \sum\, [K(a, n) - K(a, p) + \alpha]_+$", fontsize=9.5)
    _words(axis, 40, 6.8, "alone, or with the softmax loss:")
    _words(axis, 40, 4.2, r"$\mathcal{L}_{K+Y} = \mathcal{L}_Y + \lambda\, \mathcal{L}_K$", fontsize=9)


def _draw_classifiers(axis: Axes) -> None:
    _card(axis, (55, 1.4), 44, 20.6, "Classifiers")
    for x, given in ((71, "$g(v)$"), (88, r"$K(v, \cdot)$")):
        _arrow(axis, (x, 26.7), (x, 22.3))
        _words(axis, x + 0.8, 24.6, given, ha="left", color=QUIET)
    for label, height in enumerate((6.4, 1.6, 2.6)):
        axis.bar(63 + 3 * label, height, 2.2, 8.8, color=colour(label))
    _line(axis, (61.3, 8.8), (70.7, 8.8), QUIET, 0.8)
    _words(axis, 66, 5.2, "softmax $\\mathcal{C}_Y$\nof $g(v)$")
    _draw_centroids(axis, 88, 12)
    _words(axis, 87.5, 5.2, "nearest centroid $\\mathcal{C}_K$:\nclass most alike on average")


def _draw_centroids(axis: Axes, x: float, y: float) -> None:
    for label, (dx, dy) in enumerate(((-5, 2.4), (5.5, 2.6), (4.5, -2.2))):
        for turn in np.arange(5) * 2 * np.pi / 5 + label:
            _node(axis, (x + dx + 1.9 * np.cos(turn), y + dy + 1.5 * np.sin(turn)), label, radius=0.5)
        axis.plot(x + dx, y + dy, marker="+", color=INK, markersize=6, markeredgewidth=1.3, zorder=4)
    _line(axis, (x - 5, y + 2.4), (x - 1, y - 0.6), COLOURS[0], 1.5)
    _node(axis, (x - 1, y - 0.6), -1, "v")
