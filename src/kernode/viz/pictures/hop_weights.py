"""Hop weights ω_h over training."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.tasks.classes.model import NodeModel
from kernode.viz.canvas import QUIET, Axes, colour, plain_axes
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import Chart, Picture, curves


def hop_weight_history(model: NodeModel) -> dict[str, Any]:
    """Return ω_h after every epoch, its mean and spread over the runs (E × (H+1)), and the kept epochs."""
    weights = model.history.get("hop_weights")
    if weights is None:
        raise InputError(
            "only a map that learns its hop weights, trained for at least one epoch, has a history of them. "
            f"Got {type(getattr(model.method, 'map', model.method)).__name__}.",
            "unsupported",
        )
    return curves.mean_and_std(weights, 4) | {"kept_epochs": model.kept_epochs.tolist()}


def hop_weight_data(evaluation: EvaluationData) -> dict[str, Any]:
    """Return ω_h over epochs (E × hops), for the hops that have a term."""
    values, final = hop_weight_history(evaluation.model), evaluation.model.hop_weights()
    assert final is not None  # what has a history has weights
    hops = np.flatnonzero(~np.isnan(final[0]))
    taken = {name: np.array(values[name])[:, hops].tolist() for name in ("mean", "std")}
    return values | taken | {"hops": hops.tolist()}


def _draw(axes: Axes, data: dict[str, Any]) -> None:
    hop_lines(axes, data)
    room_below(axes)
    name_lines(axes, data)
    mark_kept(axes, data)
    axes.set_ylabel("weight of each hop")


def hop_lines(axis: Axes, values: dict[str, Any]) -> None:
    """Draw ω_h over epochs, the mean of the runs within their spread, and the start at 1."""
    mean, std = np.array(values["mean"]), np.array(values["std"])
    epochs = np.arange(1, len(mean) + 1)
    axis.axhline(1, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
    at = (1.12 * len(mean), 1)
    axis.annotate("start", at, (0, 3), textcoords="offset points", ha="right", color=QUIET, fontsize=7.5)
    for hop in range(mean.shape[1]):
        low, high = mean[:, hop] - std[:, hop], mean[:, hop] + std[:, hop]
        axis.fill_between(epochs, low, high, color=colour(hop), alpha=0.2, linewidth=0)
        axis.plot(epochs, mean[:, hop], color=colour(hop), linewidth=1.6)
    axis.set(xlim=(0, 1.12 * len(mean)), xlabel="epoch")  # names of the lines are at their right
    plain_axes(axis, "y")


def room_below(axis: Axes) -> None:
    """Extend the scale below the lines, for the text at the bottom."""
    low, high = axis.get_ylim()
    axis.set_ylim(low - 0.17 * (high - low), high)


def name_lines(axis: Axes, values: dict[str, Any]) -> None:
    """Write ω_h at the end of each line."""
    ends = np.array(values["mean"])[-1]
    low, high = axis.get_ylim()
    hops = values.get("hops", range(len(ends)))  # some may have no term
    for place, (hop, height) in enumerate(zip(hops, spread(ends, 0.075 * (high - low)), strict=True)):
        x, text = 1.02 * len(values["mean"]), rf"$\omega_{{{hop}}}$"
        axis.text(x, height, text, color=colour(place), fontsize=11, va="center")


def spread(heights: np.ndarray, gap: float) -> np.ndarray:
    """Move heights apart until neighbours have a gap, as little as possible and around their mean."""
    order = np.argsort(heights, kind="stable")
    moved = heights[order].astype(float)
    for _ in range(100):  # two that are too close move half of the missing gap each, until none is
        missing = np.clip(gap - np.diff(moved), 0, None) / 2
        moved[:-1] -= missing
        moved[1:] += missing
    placed = np.empty_like(moved)
    placed[order] = moved
    return placed


def mark_kept(axis: Axes, values: dict[str, Any]) -> None:
    """Draw a line at the kept epoch."""
    curves.mark_kept(axis, values, len(values["mean"]), "kept epoch,\nmedian {kept:g}", 0.035, 7.5)


def _chart(data: dict[str, Any]) -> Chart:
    mean, std = np.array(data["mean"]), np.array(data["std"])
    named = {
        f"ω{hop}": {"mean": mean[:, place].tolist(), "std": std[:, place].tolist()}
        for place, hop in enumerate(data["hops"])
    }
    about = {"curves": named, "kept_epochs": data["kept_epochs"], "step": curves.EPOCH}
    return curves.curves_chart(about, "weight of each hop")


HOP_WEIGHTS = Picture(
    "hop-weights",
    "Hop weights",
    "How much the node itself (ω0) and nodes 1, 2, … hops away count, from their start at 1; with "
    "powers='plain', walks of 1, 2, … steps.",
    section="training",
    height=2.7,
    data=hop_weight_data,
    draw=_draw,
    chart=_chart,
)
