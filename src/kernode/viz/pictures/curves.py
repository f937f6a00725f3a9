"""Losses and validation scores over epochs: the mean of the runs, and their spread."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.viz.canvas import QUIET, Axes, colour, line_layout, plain_axes, rounded
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import Chart, Picture

EPOCH, SETTING = "epoch", "setting tried"
_LOSSES = {
    "loss": "training loss",
    "softmax_loss": "its softmax part",
    "kernel_loss": "its kernel part",
    "validation_loss": "validation loss",
}
_SCORES = {"validation_accuracy": "validation accuracy", "validation_map": "validation mAP"}
_STYLES = dict(zip(_LOSSES.values(), ("-", (0, (5, 2)), (0, (1, 1.2)), "-."), strict=True))
_DASHES = ("solid", "dash", "dot", "dashdot")


def history(evaluation: EvaluationData, wanted: Mapping[str, str], what: str) -> dict[str, Any]:
    """Return curves of the model's history by their titles: mean and standard deviation of the runs (E each).

    ``step``: what E counts. KLED and label propagation try settings, which have no order, instead of epochs.
    """
    model = evaluation.model
    found = {title: model.history[name] for name, title in wanted.items() if len(model.history.get(name, ()))}
    if not found:
        sentence = f"{model.method.title} has none, or it was trained for no epoch"
        raise InputError(f"the model has no history of {what}: {sentence}.", "unsupported")
    return {
        "curves": {title: mean_and_std(values, 6) for title, values in found.items()},
        "kept_epochs": model.kept_epochs.tolist(),
        "step": EPOCH if model.method.has_kernel or "loss" in model.history else SETTING,
    }


def _losses(evaluation: EvaluationData) -> dict[str, Any]:
    data = history(evaluation, _LOSSES, "losses")
    parts = [title for title in data["curves"] if title.startswith("its ")]
    if len(parts) == 1 and "training loss" in data["curves"]:
        del data["curves"][parts[0]]  # a single part is the loss itself
    return data


def mean_and_std(values: np.ndarray, digits: int) -> dict[str, list[Any]]:
    """Return mean and standard deviation over the runs of values (E × r, or E × r × …)."""
    values = values.astype(np.float64)
    spread = values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.zeros_like(values[:, 0])
    return {"mean": values.mean(axis=1).round(digits).tolist(), "std": spread.round(digits).tolist()}


def _draw_losses(axes: Axes, data: dict[str, Any]) -> None:
    _draw(axes, data, _STYLES, "loss", 0.42)  # below the legend, and above where losses end
    look: dict[str, Any] = {"handlelength": 2.6, "facecolor": "white", "framealpha": 1, "edgecolor": "none"}
    axes.legend(loc="upper right", fontsize=7, **look)


def _draw_scores(axes: Axes, data: dict[str, Any]) -> None:
    titles = list(data["curves"])
    axis = f"{titles[0]}, %" if len(titles) == 1 else "%"
    _draw(axes, data, dict(zip(titles, ("-", "--"), strict=False)), axis, 0.03)
    if len(titles) > 1:
        axes.legend(loc="lower right", frameon=False, fontsize=7)


def _draw(axes: Axes, data: dict[str, Any], styles: Mapping[str, Any], axis: str, height: float) -> None:
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
    mark_kept(axes, data, longest, "kept {step}, median {kept:g}", height, 7)
    axes.set(xlabel=data["step"], ylabel=axis, xlim=(0, longest + 1))
    axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]))  # the band of a spread may reach below
    plain_axes(axes, "y")


def mark_kept(axes: Axes, data: dict[str, Any], longest: int, text: str, height: float, size: float) -> None:
    """Draw a line at the kept epoch with a text at its left if it is in the right half, else at its right."""
    kept = float(np.median(data["kept_epochs"]))
    right = kept > longest / 2
    axes.axvline(kept, color=QUIET, linewidth=0.9, linestyle=":")
    axes.annotate(
        text.format(kept=kept, step=data.get("step", EPOCH).partition(" ")[0]),
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
    step = data["step"].partition(" ")[0]
    for number, (name, values) in enumerate(data["curves"].items()):
        mean, std, shade = np.array(values["mean"]), np.array(values["std"]), colour(number)
        epochs = list(range(1, len(mean) + 1))
        line = {"color": shade, "width": 2, "dash": _DASHES[number % len(_DASHES)]}
        own: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": epochs, "legendgroup": name}
        named = {"name": name, "hovertemplate": f"{step} %{{x}}<br>{name} %{{y:.3f}}<extra></extra>"}
        if data["step"] == SETTING:
            points = {"mode": "markers", "marker": {"color": shade, "size": 7}}
            spread = {"type": "data", "array": rounded(std, 4), "width": 0}
            traces.append(own | points | named | {"y": rounded(mean, 4), "error_y": spread})
            continue
        if std.any():
            edge = own | {"line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
            red, green, blue = bytes.fromhex(shade[1:])
            band = {"fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},0.18)"}
            traces += [edge | {"y": rounded(mean - std, 4)}, edge | band | {"y": rounded(mean + std, 4)}]
        traces.append(own | named | {"y": rounded(mean, 4), "line": line})
    middle = float(np.median(data["kept_epochs"]))
    shape = {"type": "line", "x0": middle, "x1": middle, "yref": "paper", "y0": 0, "y1": 1}
    note = {"x": middle, "y": 0, "yref": "paper", "text": f"kept {step}: {middle:g}", "showarrow": False}
    layout = line_layout(
        data["step"],
        axis,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        shapes=[shape | {"line": {"dash": "dot", "width": 1.5}}],
        annotations=[note | {"xanchor": "right", "yanchor": "bottom"}],
    )
    return {"data": traces, "layout": layout, "height": 320}


LOSSES = Picture(
    "losses",
    "Losses",
    "What was minimised, and the same on validation nodes.",
    section="training",
    height=2.5,
    data=_losses,
    draw=_draw_losses,
    chart=partial(curves_chart, axis="loss"),
)
VALIDATION = Picture(
    "validation",
    "Validation",
    "The scores by which the epoch, or the setting, was chosen.",
    section="training",
    height=2.4,
    data=partial(history, wanted=_SCORES, what="scores on validation nodes"),
    draw=_draw_scores,
    chart=partial(curves_chart, axis="%"),
)
