"""The plane of all nodes: alike nodes are near each other, coloured by class, marked by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.show.canvas import INK, QUIET
from kernode.show.class_colours import GREY, ClassColours, class_label
from kernode.show.node_parts import OTHER, PARTS, TEST, TRAIN, VALIDATION
from kernode.show.picture_data import Embedding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLANES = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PCA"}
# Shape, size, opacity and edge of a part's marks; what taught is small and pale, what was tested stands out.
_MARKS: dict[int, dict[str, Any]] = {
    TRAIN: {"marker": "o", "s": 4, "alpha": 0.6, "linewidths": 0},
    OTHER: {"marker": "o", "s": 4, "alpha": 0.6, "linewidths": 0},
    VALIDATION: {"marker": "^", "s": 10, "alpha": 0.9, "linewidths": 0},
    TEST: {"marker": "o", "s": 8, "alpha": 0.95, "linewidths": 0.3, "edgecolors": INK},
}
_LEGEND = {"frameon": False, "fontsize": 7, "handletextpad": 0.2, "columnspacing": 0.9, "labelspacing": 0.3}


def draw_embedding(axes: Axes, data: Embedding, names: tuple[str, ...]) -> None:
    """Draw the nodes of a plane, and what colours and shapes mean below."""
    colours = ClassColours.of(data.classes)
    of_class = np.array([colours.colour(number) for number in range(len(names))])
    # Of a large graph marks are smaller, or the plane would be one blot.
    scale = float(np.clip(3000 / max(len(data.nodes), 1), 0.15, 1))
    for part, look in _MARKS.items():
        here = data.part == part
        axes.scatter(
            data.points[here, 0],
            data.points[here, 1],
            c=of_class[data.classes[here]],
            rasterized=True,  # thousands of marks would make the SVG large
            **(look | {"s": look["s"] * scale}),
        )
    reach = np.maximum(np.abs(data.points).max(axis=0), 0.5) + 0.05  # a plane may be flat
    axes.set(xlim=(-reach[0], reach[0]), ylim=(-reach[1], reach[1]), aspect="equal", xticks=[], yticks=[])
    axes.set_xlabel(f"{PLANES[data.plane]} of $\\bar{{K}}$, {data.of}", color=QUIET, fontsize=7.5)
    _legends(axes, data, colours, names)


def _legends(axes: Axes, data: Embedding, colours: ClassColours, names: tuple[str, ...]) -> None:
    from matplotlib.lines import Line2D

    def mark(colour: str, label: str, shape: str = "o", size: float = 5, **look: Any) -> Line2D:
        return Line2D([], [], linestyle="", marker=shape, color=colour, label=label, markersize=size, **look)

    of_classes = [mark(colours.colour(c), class_label(names[c])) for c in colours.coloured]
    if colours.others:
        of_classes.append(mark(GREY, colours.of_others))
    of_parts = []
    for part in (TRAIN, VALIDATION, TEST, OTHER):
        if (data.part == part).any():
            look = _MARKS[part]
            edge = (
                {"markeredgecolor": INK, "markeredgewidth": 0.6} if part == TEST else {"markeredgewidth": 0}
            )
            of_parts.append(
                mark(QUIET, _said(part, data), look["marker"], {TRAIN: 2.5, OTHER: 3.5}.get(part, 5), **edge)
            )
    columns = 2 if max(len(handle.get_label()) for handle in of_classes) > 12 else 3  # type: ignore[arg-type]
    handles = [*of_classes, *of_parts]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=columns, **_LEGEND)


def _said(part: int, data: Embedding) -> str:
    """A part's name, with what its colours are where no class is known."""
    unknown = not data.is_known[data.part == part].any()
    if part == OTHER:
        return "class not known: as predicted" if unknown else "other nodes"
    return f"{PARTS[part]} node"
