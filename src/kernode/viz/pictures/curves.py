"""Curves over epochs, the mean of the runs and their spread: shared by hop weights, losses and validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.tasks.classes.model import NodeModel
from kernode.viz.canvas import COLOURS, QUIET, Axes, colour, line_layout, plain_axes, rounded
from kernode.viz.pictures import Chart

EPOCH, SETTING = "epoch", "setting"
_DASHES = ("solid", "dash", "dot", "dashdot")


def history(model: NodeModel, wanted: Mapping[str, str], what: str) -> dict[str, Any]:
    """Return curves of the model's history by their titles: mean and standard deviation of the runs (E each).

    ``step``: what E counts. KLED and label propagation try settings, which have no order, instead of epochs.
    """
    curves = {
        title: mean_and_std(model.history[name], 6)
        for name, title in wanted.items()
        if len(model.history.get(name, ()))
    }
    if not curves:
        raise InputError(
            f"the model has no history of {what}: {model.method.title} has none, or it was trained for no "
            "epoch.",
            "unsupported",
        )
    return {
        "curves": curves,
        "kept_epochs": model.kept_epochs.tolist(),
        "step": EPOCH if model.method.has_kernel or "loss" in model.history else SETTING,
    }


def mean_and_std(values: np.ndarray, digits: int) -> dict[str, list[Any]]:
    """Return mean and standard deviation over the runs of values (E × r, or E × r × …)."""
    values = values.astype(np.float64)
    spread = values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.zeros_like(values[:, 0])
    return {"mean": values.mean(axis=1).round(digits).tolist(), "std": spread.round(digits).tolist()}


def draw_curves(
    axes: Axes, data: dict[str, Any], styles: Mapping[str, Any], axis: str, height: float
) -> None:
    """Draw the curves within their spread, and a line at the kept epoch with its label at ``height``."""
    for number, (title, values) in enumerate(data["curves"].items()):
        mean, std = np.array(values["mean"]), np.array(values["std"])
        epochs, shade = np.arange(1, len(mean) + 1), colour(number)
        if data["step"] == SETTING:  # no order that a line could follow
            axes.errorbar(epochs, mean, std, color=shade, fmt="o", markersize=3, elinewidth=0.9, label=title)
            continue
        axes.fill_between(epochs, mean - std, mean + std, color=shade, alpha=0.18, linewidth=0)
        axes.plot(epochs, mean, color=shade, linewidth=1.4, linestyle=styles[title], label=title)
    longest = max(len(curve["mean"]) for curve in data["curves"].values())
    kept = float(np.median(data["kept_epochs"]))
    mark_kept(axes, kept, kept > longest / 2, f"kept {data['step']}, median {kept:g}", height, 7)
    axes.set(
        xlabel="setting tried" if data["step"] == SETTING else data["step"],
        ylabel=axis,
        xlim=(0, longest + 1),
    )
    axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]))  # the band of a spread may reach below
    plain_axes(axes, "y")


def mark_kept(axes: Axes, kept: float, right: bool, text: str, height: float, size: float) -> None:
    """Draw a line at the kept epoch with a text at its left if it is in the right half, else at its right."""
    axes.axvline(kept, color=QUIET, linewidth=0.9, linestyle=":")
    axes.annotate(
        text,
        (kept, height),
        (-4 if right else 4, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if right else "left",
        color=QUIET,
        fontsize=size,
    )


def curves_chart(data: dict[str, Any], axis: str) -> Chart:
    """Return the curves within their spread, with a line at the kept epoch; settings tried are points."""
    traces: list[dict[str, Any]] = []
    step = data["step"]
    for number, (name, values) in enumerate(data["curves"].items()):
        mean, std = np.array(values["mean"]), np.array(values["std"])
        epochs = list(range(1, len(mean) + 1))
        line = {"color": COLOURS[number % len(COLOURS)], "width": 2, "dash": _DASHES[number % len(_DASHES)]}
        own: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": epochs, "legendgroup": name}
        named = {"name": name, "hovertemplate": f"{step} %{{x}}<br>{name} %{{y:.3f}}<extra></extra>"}
        if step == SETTING:
            points = {"mode": "markers", "marker": {"color": line["color"], "size": 7}}
            spread = {"type": "data", "array": rounded(std, 4), "width": 0}
            traces.append(own | points | named | {"y": rounded(mean, 4), "error_y": spread})
            continue
        if std.any():
            edge = own | {"line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
            band = {"fill": "tonexty", "fillcolor": _pale(str(line["color"]))}
            traces += [edge | {"y": rounded(mean - std, 4)}, edge | band | {"y": rounded(mean + std, 4)}]
        traces.append(own | named | {"y": rounded(mean, 4), "line": line})
    middle = float(np.median(data["kept_epochs"]))
    shape = {"type": "line", "x0": middle, "x1": middle, "yref": "paper", "y0": 0, "y1": 1}
    note = {"x": middle, "y": 0, "yref": "paper", "text": f"kept {step}: {middle:g}", "showarrow": False}
    layout = line_layout(
        "setting tried" if step == SETTING else step,
        axis,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        shapes=[shape | {"line": {"dash": "dot", "width": 1.5}}],
        annotations=[note | {"xanchor": "right", "yanchor": "bottom"}],
    )
    return {"data": traces, "layout": layout, "height": 320}


def _pale(shade: str) -> str:
    red, green, blue = (int(shade[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
