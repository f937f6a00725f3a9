"""Losses, validation scores and hop weights ω_h over epochs: the mean of the replicas, and their spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.metrics.scoring import figure_name
from kernode.viz.canvas import QUIET, Axes, colour, line_layout, plain_axes, rounded
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import Chart, Picture

_LOSSES = {
    "loss": "training loss",
    "softmax_loss": "its softmax part",
    "kernel_loss": "its kernel part",
    "validation_loss": "validation loss",
}
_STYLES = (("-", "solid"), ("--", "dash"), (":", "dot"), ("-.", "dashdot"))  # of matplotlib and plotly


@dataclass(frozen=True)
class Curves:
    """Values of every run over epochs (E × r), by title, and the median of the kept epochs."""

    values: dict[str, np.ndarray]
    kept: float
    axis: str

    def lines(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Title, mean and standard deviation over the replicas (E each)."""
        return [
            (title, runs.mean(axis=1), runs.std(axis=1, ddof=1) if runs.shape[1] > 1 else 0 * runs[:, 0])
            for title, runs in self.values.items()
        ]


def _history(evaluation: EvaluationData, wanted: Mapping[str, str], axis: str) -> Curves:
    model = evaluation.model
    found = {title: model.history[name] for name, title in wanted.items() if len(model.history.get(name, ()))}
    if not found or not (model.method.has_kernel or "loss" in model.history):
        sentence = f"{model.method.title} has none, or was not trained by epochs"
        raise InputError(f"there is no history of {', '.join(wanted.values())}: {sentence}.", "unsupported")
    parts = [title for title in found if title.startswith("its ")]
    if len(parts) == 1:
        del found[parts[0]]  # a single part is the loss itself
    values = {title: np.asarray(runs, dtype=np.float64) for title, runs in found.items()}
    return Curves(values, float(np.median(model.kept_epochs)), axis)


def _scores(evaluation: EvaluationData) -> Curves:
    figures = dict.fromkeys(("accuracy", "map", evaluation.model.training.select_by))
    return _history(
        evaluation, {f"validation_{one}": f"validation {figure_name(one)}" for one in figures}, "%"
    )


def _hop_weights(evaluation: EvaluationData) -> Curves:
    """Return ω_h over epochs, for the hops that have a term."""
    model = evaluation.model
    weights, final = model.history.get("hop_weights"), model.hop_weights()
    if weights is None or final is None:
        raise InputError(
            "only a map that learns its hop weights, trained for at least one epoch, has a history of them. "
            f"Got {type(getattr(model.method, 'map', model.method)).__name__}.",
            "unsupported",
        )
    hops = np.flatnonzero(~np.isnan(final[0])).tolist()
    values = {f"ω{hop}": weights[:, :, hop].astype(np.float64) for hop in hops}
    return Curves(values, float(np.median(model.kept_epochs)), "weight of each hop")


def _draw(axes: Axes, data: Curves) -> None:
    for number, (title, mean, std) in enumerate(data.lines()):
        epochs, shade = np.arange(1, len(mean) + 1), colour(number)
        style = _STYLES[number % len(_STYLES)][0]
        axes.fill_between(epochs, mean - std, mean + std, color=shade, alpha=0.18, linewidth=0)
        axes.plot(epochs, mean, color=shade, linewidth=1.4, linestyle=style, label=title)
    axes.axvline(data.kept, color=QUIET, linewidth=0.9, linestyle=":")
    axes.set(xlabel=f"epoch (vertical line: kept, median {data.kept:g})", ylabel=data.axis)
    axes.legend(fontsize=7, handlelength=2.6, framealpha=0.8, edgecolor="none")
    plain_axes(axes, "y")


def _chart(data: Curves) -> Chart:
    traces: list[dict[str, Any]] = []
    for number, (title, mean, std) in enumerate(data.lines()):
        shade, epochs = colour(number), list(range(1, len(mean) + 1))
        own: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": epochs, "legendgroup": title}
        if std.any():
            edge = own | {"line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
            red, green, blue = bytes.fromhex(shade[1:])
            band = {"fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},0.18)"}
            traces += [edge | {"y": rounded(mean - std, 4)}, edge | band | {"y": rounded(mean + std, 4)}]
        line = {"color": shade, "width": 2, "dash": _STYLES[number % len(_STYLES)][1]}
        hover = f"epoch %{{x}}<br>{title} %{{y:.3f}}<extra></extra>"
        traces.append(own | {"name": title, "hovertemplate": hover, "y": rounded(mean, 4), "line": line})
    shape = {"type": "line", "x0": data.kept, "x1": data.kept, "yref": "paper", "y0": 0, "y1": 1}
    layout = line_layout(
        f"epoch (vertical line: kept, median {data.kept:g})",
        data.axis,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        shapes=[shape | {"line": {"dash": "dot", "width": 1.5}}],
    )
    return {"data": traces, "layout": layout, "height": 320}


_curves = partial(Picture, section="training", height=2.5, draw=_draw, chart=_chart)
HOP_WEIGHTS = _curves(
    "hop-weights",
    "Hop weights",
    "How much the node itself (ω0) and nodes 1, 2, … hops away count, from their start at 1; with "
    "powers='plain', walks of 1, 2, … steps.",
    data=_hop_weights,
)
LOSSES = _curves(
    "losses",
    "Losses",
    "What was minimised, and the same on validation nodes.",
    data=partial(_history, wanted=_LOSSES, axis="loss"),
)
VALIDATION = _curves(
    "validation",
    "Validation",
    "The scores by which the epoch was chosen.",
    data=_scores,
)
