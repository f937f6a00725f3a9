"""The confusion matrix: shares of every true class, with counts where there is room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernode.metrics.accuracy import class_figures
from kernode.viz.canvas import INK, QUIET, Axes, class_label, class_ticks, heat_trace, html_label, readable
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import Chart, Picture

_COUNTED = 10  # classes whose counts fit into their cells


@dataclass(frozen=True)
class Confusion:
    """Counts with the true class in the row; the last class may be all rarer ones."""

    class_names: tuple[str, ...]
    counts: np.ndarray
    accuracy: float
    of: str

    @property
    def shares(self) -> np.ndarray:
        """Percent of each true class; 0 where it has no node."""
        return 100 * self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)


def confusion_data(evaluation: EvaluationData, most: int = 12) -> Confusion:
    """Return the counts of the test nodes; beyond ``most`` classes the rarest share one row."""
    answers, of_all = evaluation.predictions, evaluation.class_names
    figures = class_figures([answers.truth], [answers.predicted], range(len(of_all)))
    names = tuple(of_all[one["class"]] for one in figures["classes"])  # of those that occur
    counts = np.array(figures["confusion"])
    if len(names) > most:
        frequency = counts.sum(axis=1) + counts.sum(axis=0)
        kept = np.sort(np.argsort(-frequency, kind="stable")[: most - 1])
        into = np.full(len(names), len(kept))
        into[kept] = np.arange(len(kept))
        merged = np.zeros((len(kept) + 1, len(kept) + 1), counts.dtype)
        np.add.at(merged, (into[:, None], into[None]), counts)
        others = len(names) - len(kept)
        names, counts = (*(names[i] for i in kept), f"{others} rarer classes"), merged
    return Confusion(names, counts, answers.accuracy, answers.of)


def _draw(axes: Axes, data: Confusion) -> None:
    names = [class_label(name, 22) for name in data.class_names]
    axes.imshow(data.shares, cmap="Blues", vmin=0, vmax=100, interpolation="none")
    places = range(len(names))
    axes.set_xticks(places, names, rotation=45, ha="right", rotation_mode="anchor", fontsize=6.5, color=INK)
    axes.set_yticks(places, names, fontsize=6.5, color=INK)
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_visible(False)
    if len(names) <= _COUNTED:
        for row in places:
            for column in places:
                dark = data.shares[row, column] > 55
                count = int(data.counts[row, column])
                shade = "white" if dark else INK if count else "#b5b5b5"
                axes.text(column, row, f"{count:,}", ha="center", va="center", fontsize=6, color=shade)
    axes.set_ylabel("true class", fontsize=8)
    axes.set_xlabel(f"predicted class\n{data.accuracy:.1f} % right;\n{data.of}", fontsize=8)
    axes.xaxis.label.set_color(QUIET)
    axes.yaxis.label.set_color(QUIET)


def _chart(data: Confusion) -> Chart:
    names = [html_label(readable(name), 26) for name in data.class_names]
    places = list(range(len(names)))
    trace = heat_trace(data.shares.round(1), 0, 100, "%", "%{text} nodes, %{z:.1f} % of their class")
    trace |= {"text": [[f"{count:,}" for count in row] for row in data.counts.tolist()], "xgap": 1, "ygap": 1}
    if len(names) <= 15:
        trace["texttemplate"] = "%{text}"
    x = {"title": {"text": "predicted class"}, "tickangle": -45, "constrain": "domain"}
    y = {"title": {"text": "true class", "standoff": 14}, "autorange": "reversed"}
    layout = {
        "xaxis": class_ticks(places, names, **x),
        "yaxis": class_ticks(places, names, **y),
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
    }
    look = {"height": 260 + 26 * len(names), "scale": "sequential"}
    return {"data": [trace], "layout": layout, **look, "of": data.of}


CONFUSION = Picture(
    "confusion",
    "Confusion matrix",
    "Rows are true classes, columns are predictions; the shade is the share of the true class, the number "
    "counts nodes.",
    section="classes",
    height=3.5,
    data=confusion_data,
    draw=_draw,
    chart=_chart,
    chart_settings={"most": 40},
    takes=("X", "y"),
)
