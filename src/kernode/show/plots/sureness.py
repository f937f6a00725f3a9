"""How sure answers are: what was claimed beside what came true, and accuracy where only sure ones count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.metrics.accuracy import wilson
from kernode.show.canvas import COLOURS, INK, QUIET
from kernode.show.picture_data import Coverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)  # that are marked on the curve


def draw_reliability(axes: Axes, data: dict[str, Any]) -> None:
    """Draw each bin's accuracy at its mean confidence, with its 95 % interval, beside the diagonal."""
    claimed = np.array([one["confidence"] for one in data["bins"]])
    true = np.array([one["accuracy"] for one in data["bins"]])
    low, high = intervals(data["bins"])
    axes.plot([0, 100], [0, 100], color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
    around: dict[str, Any] = {
        "yerr": (true - low, high - true),
        "ecolor": COLOURS[0],
        "elinewidth": 0.9,
        "capsize": 0,
    }
    axes.errorbar(claimed, true, fmt="o", color=COLOURS[0], markersize=4, **around)
    least = max(0.0, 5 * np.floor((min(claimed.min(), low.min()) - 3) / 5))
    axes.set(xlim=(least, 101), ylim=(least, 101), xlabel="claimed probability, %", ylabel="came true, %")
    axes.set_aspect("equal")
    words = f"calibration error {data['error_mean']:.1f} %\n(chance alone: {data['by_chance']:.1f} %)"
    words += "" if data["calibrated_on"] else "\nnot calibrated"
    above: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "fontsize": 7}
    axes.text(0.03, 0.98, f"{words}\n{data['of']};\nbars: 95 % intervals", color=QUIET, **above)
    _plain(axes)


def intervals(bins: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """95 % intervals of the bins' accuracies: what so few nodes leave open."""
    found = np.array([wilson(one["accuracy"] / 100, one["nodes"]) for one in bins])
    return np.minimum(found[:, 0], _true(bins)), np.maximum(found[:, 1], _true(bins))


def _true(bins: list[dict[str, Any]]) -> np.ndarray:
    return np.array([one["accuracy"] for one in bins])


def draw_coverage(axes: Axes, data: Coverage) -> None:
    """Draw the accuracy of the surest answers over how many they are, and marks at round thresholds."""
    axes.plot(data.answered, data.accuracy, color=COLOURS[0], linewidth=1.5, drawstyle="steps-post")
    few = data.answered >= 5  # a handful of answers says little, and would set the scale
    shown = data.accuracy[few] if few.any() else data.accuracy
    least = max(0.0, float(np.floor(shown.min() - 3)))
    axes.set(xlim=(0, 101), ylim=(least, 100.8), xlabel="answered nodes, %", ylabel="of them right, %")
    for number, threshold in enumerate(THRESHOLDS):
        at = np.flatnonzero(data.threshold >= threshold)
        if len(at):
            x, y = data.answered[at[-1]], data.accuracy[at[-1]]
            axes.plot(x, y, "o", color=COLOURS[1], markersize=3.5, zorder=3)
            # Above and below in turn: where many answers are sure, marks are close to each other.
            below = number % 2 == 1 and x > 20
            side: dict[str, Any] = {"ha": "right", "va": "top"} if below else {"ha": "left", "va": "bottom"}
            by = (-2, -2) if below else (2, 2)
            text = f"≥ {100 * threshold:g} %"
            axes.annotate(text, (x, y), by, textcoords="offset points", fontsize=6.5, color=INK, **side)
    words = f"{data.of};\nmarks: least probability of an answer"
    axes.text(0.03, 0.04, words, transform=axes.transAxes, fontsize=7, color=QUIET, va="bottom")
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
