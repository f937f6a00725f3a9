"""ω_h over training: what every picture of it shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.show.canvas import QUIET, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def hop_lines(axis: Axes, values: dict[str, Any]) -> None:
    """Draw ω_h over epochs, the mean of the runs within their spread, and where all began."""
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


def room_below(axis: Axes) -> None:
    """Let the scale begin far enough below the lines for the words at the bottom."""
    low, high = axis.get_ylim()
    axis.set_ylim(low - 0.17 * (high - low), high)


def name_lines(axis: Axes, values: dict[str, Any]) -> None:
    """Write ω_h at the end of each line."""
    ends = np.array(values["mean"])[-1]
    low, high = axis.get_ylim()
    hops = values.get("hops", range(len(ends)))  # some may have no term
    for place, (hop, height) in enumerate(zip(hops, spread(ends, 0.075 * (high - low)), strict=True)):
        axis.text(
            1.02 * len(values["mean"]),
            height,
            rf"$\omega_{{{hop}}}$",
            color=colour(place),
            fontsize=11,
            va="center",
        )


def spread(heights: np.ndarray, gap: float) -> np.ndarray:
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


def mark_kept(axis: Axes, values: dict[str, Any]) -> None:
    """Draw a line at the epoch that was kept."""
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
