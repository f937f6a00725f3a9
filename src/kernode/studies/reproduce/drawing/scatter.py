"""t-SNE beside t-SNE, and under each the silhouettes that make "compact" a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.viz.canvas import (
    COLOURS,
    MARKERS,
    QUIET,
    colour,
    empty_figure,
    readable,
    signed,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_embeddings(panels: Mapping[str, dict[str, Any]], title: str, stem: Path) -> list[Path]:
    """Draw each system's t-SNE plane, and below it the silhouette of each class."""
    with empty_figure(0.4 + 3.1 * len(panels), 5.4) as figure:
        figure.suptitle(title, fontsize=11)
        axes = figure.subplots(2, len(panels), squeeze=False, gridspec_kw={"height_ratios": [3, 1]})
        for (system, values), above, below in zip(panels.items(), *axes, strict=True):
            above.set_title(system, fontweight="bold")
            _scatter(above, values)
            _bars(below, values)
        _share_scale(axes[1])
        axes[1, 0].set_ylabel("silhouette\nby class")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=_columns(labels, figure),
            frameon=False,
            markerscale=2.2,
            handletextpad=0.2,
        )
        return write_figure(figure, stem)


def _columns(labels: Sequence[str], figure: Figure) -> int:
    """As many columns of a legend as fit, at some 5 points a letter."""
    widest = 28 + 5 * max(len(label) for label in labels)
    return max(1, min(len(labels), int(72 * figure.get_figwidth() / widest)))


def _scatter(axis: Axes, values: dict[str, Any]) -> None:
    points, labels = np.array(values["points"]), np.array(values["labels"])
    for label, name in enumerate(values["class_names"]):
        axis.scatter(
            points[labels == label, 0],
            points[labels == label, 1],
            s=8,
            color=colour(label),
            marker=MARKERS[label // len(COLOURS) % len(MARKERS)],
            linewidths=0,
            alpha=0.8,
            label=readable(name),
            rasterized=True,  # a thousand circles would make the SVG large
        )
    # t-SNE's plane has no scale that could be compared: every panel is filled alike.
    low, high = points.min(axis=0), points.max(axis=0)
    reach = 0.53 * float((high - low).max())
    (x, y) = (low + high) / 2
    axis.set(xlim=(x - reach, x + reach), ylim=(y - reach, y + reach), aspect="equal", xticks=[], yticks=[])


def _bars(axis: Axes, values: dict[str, Any]) -> None:
    for label, height in enumerate(values["silhouette_by_class"]):
        if height is None:  # no node of this class
            continue
        axis.bar(label, height, width=0.78, color=colour(label))
        side = 1 if height >= 0 else -1
        axis.annotate(
            signed(height, 2),
            (label, height),
            (0, 2 * side),
            textcoords="offset points",
            ha="center",
            va="bottom" if side > 0 else "top",
            fontsize=7,
            color=QUIET,
        )
    axis.axhline(0, color=QUIET, linewidth=0.8)
    axis.set(xticks=[], xlim=(-0.6, len(values["class_names"]) - 0.4))
    axis.spines[["top", "right", "bottom"]].set_visible(False)
    overall, runs = values["silhouette"], len(values["silhouette"]["runs"])
    spread = f" ± {overall['std']:.3f} ({runs} runs)" if runs > 1 else ""
    axis.set_xlabel(f"all nodes {signed(overall['mean'], 3)}{spread}", fontsize=9)


def _share_scale(axes: Sequence[Axes]) -> None:
    """One scale for all systems, with room for the figures at the bars' ends."""
    low = min(axis.dataLim.y0 for axis in axes)
    high = max(axis.dataLim.y1 for axis in axes)
    room = 0.16 * (high - low)
    for axis in axes:
        axis.set_ylim(low - room * (low < 0), high + room)
        axis.tick_params(left=axis is axes[0], labelleft=axis is axes[0])
