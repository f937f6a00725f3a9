"""Training, epoch by epoch: hop weights, losses, validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.show.canvas import QUIET, colour
from kernode.show.plots.hop_lines import hop_lines, mark_kept, name_lines, room_below
from kernode.show.training_history import LOSSES, SCORES, SETTING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = {"loss": "-", "softmax_loss": (0, (5, 2)), "kernel_loss": (0, (1, 1.2)), "validation_loss": "-."}


def draw_hop_weights(axes: Axes, data: dict[str, Any]) -> None:
    """Draw ω_h from its start to its end."""
    hop_lines(axes, data)
    room_below(axes)
    name_lines(axes, data)
    mark_kept(axes, data)
    axes.set_ylabel("weight of each hop")


def draw_losses(axes: Axes, data: dict[str, Any]) -> None:
    """Draw what was minimised, and the same on validation nodes."""
    names = [name for name in LOSSES if name in data["curves"]]
    for number, name in enumerate(names):
        _curve(axes, data, name, colour(number), LOSSES[name], _STYLES[name])
    _finish(axes, data, "loss", 0.42)  # below the legend, and above where losses end
    axes.legend(
        loc="upper right", fontsize=7, handlelength=2.6, facecolor="white", framealpha=1, edgecolor="none"
    )


def draw_validation(axes: Axes, data: dict[str, Any]) -> None:
    """Draw what chose the epoch, or the setting."""
    names = [name for name in SCORES if name in data["curves"]]
    for number, name in enumerate(names):
        _curve(axes, data, name, colour(number), SCORES[name], ("-", "--")[number])
    _finish(axes, data, f"{SCORES[names[0]]}, %" if len(names) == 1 else "%")
    if len(names) > 1:
        axes.legend(loc="lower right", frameon=False, fontsize=7)


def _curve(axes: Axes, data: dict[str, Any], name: str, shade: str, label: str, style: Any) -> None:
    values = data["curves"][name]
    mean, std = np.array(values["mean"]), np.array(values["std"])
    epochs = np.arange(1, len(mean) + 1)
    if data["step"] == SETTING:  # they have no order that a line could follow
        axes.errorbar(epochs, mean, std, color=shade, fmt="o", markersize=3, elinewidth=0.9, label=label)
        return
    axes.fill_between(epochs, mean - std, mean + std, color=shade, alpha=0.18, linewidth=0)
    axes.plot(epochs, mean, color=shade, linewidth=1.4, linestyle=style, label=label)


def _finish(axes: Axes, data: dict[str, Any], what: str, height: float = 0.03) -> None:
    kept = float(np.median(data["kept_epochs"]))
    longest = max(len(curve["mean"]) for curve in data["curves"].values())
    axes.axvline(kept, color=QUIET, linewidth=0.9, linestyle=":")
    right = kept > longest / 2
    axes.annotate(
        f"kept {data['step']}, median {kept:g}",
        (kept, height),
        (-4 if right else 4, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if right else "left",
        color=QUIET,
        fontsize=7,
    )
    axes.set(
        xlabel="setting tried" if data["step"] == SETTING else data["step"],
        ylabel=what,
        xlim=(0, longest + 1),
    )
    axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]))  # the band of a spread may reach below
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
