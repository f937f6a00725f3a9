"""ω_h over training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.studies.reproduce.drawing.canvas import QUIET, colour, empty_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_hop_weights(panels: Mapping[str, dict[str, Any]], stem: Path) -> list[Path]:
    """Draw how ω_h moves from its start at 1 while it is learned, one panel per data set."""
    with empty_figure(0.5 + 3 * len(panels), 3) as figure:
        (axes,) = figure.subplots(1, len(panels), squeeze=False, sharey=True)
        for (dataset, values), axis in zip(panels.items(), axes, strict=True):
            axis.set_title(dataset, fontweight="bold")
            _hop_lines(axis, values)
        _room_below(axes[0])
        for (_, values), axis in zip(panels.items(), axes, strict=True):
            _name_lines(axis, values)
            _mark_kept(axis, values)
        axes[0].set_ylabel("weight of each hop")
        return write_figure(figure, stem)


def _hop_lines(axis: Axes, values: dict[str, Any]) -> None:
    mean, std = np.array(values["mean"]), np.array(values["std"])
    epochs = np.arange(1, len(mean) + 1)
    axis.axhline(1, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
    axis.annotate(
        "start",
        (1.12 * len(mean), 1),
        (0, 3),
        textcoords="offset points",
        ha="right",
        color=QUIET,
        fontsize=7.5,
    )
    for hop in range(mean.shape[1]):
        low, high = mean[:, hop] - std[:, hop], mean[:, hop] + std[:, hop]
        axis.fill_between(epochs, low, high, color=colour(hop), alpha=0.2, linewidth=0)
        axis.plot(epochs, mean[:, hop], color=colour(hop), linewidth=1.6)
    axis.set(xlim=(0, 1.12 * len(mean)), xlabel="epoch")  # the names of the lines stand at their right
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axis.set_axisbelow(True)


def _room_below(axis: Axes) -> None:
    """Let the scale begin far enough below the lines for the words at the bottom."""
    low, high = axis.get_ylim()
    axis.set_ylim(low - 0.17 * (high - low), high)


def _name_lines(axis: Axes, values: dict[str, Any]) -> None:
    ends = np.array(values["mean"])[-1]
    low, high = axis.get_ylim()
    for hop, height in enumerate(_spread(ends, 0.075 * (high - low))):
        axis.text(
            1.02 * len(values["mean"]),
            height,
            rf"$\omega_{{{hop}}}$",
            color=colour(hop),
            fontsize=11,
            va="center",
        )


def _spread(heights: np.ndarray, gap: float) -> np.ndarray:
    """Move heights apart as little as a gap between neighbours asks for, around their mean."""
    order = np.argsort(heights, kind="stable")
    moved = heights[order].astype(float)
    for _ in range(100):  # two that are too close go half of what is missing each, until none is
        missing = np.clip(gap - np.diff(moved), 0, None) / 2
        moved[:-1] -= missing
        moved[1:] += missing
    placed = np.empty_like(moved)
    placed[order] = moved
    return placed


def _mark_kept(axis: Axes, values: dict[str, Any]) -> None:
    kept = float(np.median(values["kept_epochs"]))
    right = kept > len(values["mean"]) / 2
    axis.axvline(kept, color=QUIET, linewidth=0.9, linestyle=":")
    axis.annotate(
        f"kept epoch,\nmedian {kept:g}",
        (kept, 0.035),
        (-4 if right else 4, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if right else "left",
        color=QUIET,
        fontsize=7.5,
    )
