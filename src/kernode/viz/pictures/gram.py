"""The Gram matrix K̄ in the order of classes: blocks on the diagonal are classes of similar nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.graph import positions
from kernode.viz.canvas import (
    INK,
    QUIET,
    Axes,
    class_label,
    class_ticks,
    heat_trace,
    html_label,
    readable,
    rounded,
    signed,
)
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import Chart, Picture

_NODES = 2000  # of more, evenly spaced ones: a picture has fewer pixels
_LEAST = 0.04  # share of the nodes below which there is no room for a class name


@dataclass(frozen=True)
class Gram:
    """K̄ among some nodes in the order of their classes: block means, and means over all pairs."""

    matrix: np.ndarray
    class_names: tuple[str, ...]
    counts: np.ndarray  # nodes of each class
    within: float | None  # None: no two nodes have the same class
    between: float | None
    of: str


def gram_data(evaluation: EvaluationData, pixels: int = 250) -> Gram:
    """Return K̄ of test nodes or, if there are none, of other nodes with a known class."""
    shown = evaluation.shown
    if not shown.model.method.has_kernel:
        raise InputError(f"{shown.model.method.title} has no kernel that could be drawn.", "unsupported")
    nodes, which = _compared_nodes(evaluation)
    labels = evaluation.known[nodes]
    order = labels.argsort(kind="stable")
    which = f"{len(nodes):,} {which}"
    if len(order) > _NODES:
        order = order[np.linspace(0, len(order) - 1, _NODES).round().astype(int)]
        which = f"{_NODES:,} of the {which}"
    nodes, labels = nodes[order], labels[order]
    full = np.concatenate(list(shown.kernel.directions.blocks(positions(nodes)))).astype(np.float64)
    same, others = labels[:, None] == labels, ~np.eye(len(nodes), dtype=bool)
    means = [float(full[pairs].mean()) if pairs.any() else None for pairs in (same & others, ~same)]
    return Gram(
        block_means(full, pixels),
        evaluation.class_names,
        np.bincount(labels, minlength=len(evaluation.class_names)),
        means[0],
        means[1],
        f"{which}, {evaluation.shown_runs}",
    )


def _compared_nodes(evaluation: EvaluationData) -> tuple[np.ndarray, str]:
    """Nodes to compare and a name for them: no training nodes, if there are others."""
    if evaluation.parts.test is not None:
        return evaluation.parts.test[0], "test nodes"
    known = evaluation.known >= 0
    unseen = np.flatnonzero(known & ~evaluation.parts.is_training(len(known)))
    if len(unseen) >= 2 and evaluation.on.has_training_nodes:
        return unseen, "nodes that did not train"
    if known.sum() < 2:
        raise InputError("the graph has fewer than two labelled nodes, so K̄ has no order.", "too-few")
    return np.flatnonzero(known), "nodes of known class, training nodes among them"


def block_means(matrix: np.ndarray, pixels: int) -> np.ndarray:
    """Return means of at most pixels × pixels blocks of a square matrix, of almost equal size."""
    m = len(matrix)
    edges = np.linspace(0, m, min(pixels, m) + 1).round().astype(int)
    sums = np.add.reduceat(np.add.reduceat(matrix, edges[:-1], axis=0), edges[:-1], axis=1)
    return sums / np.outer(np.diff(edges), np.diff(edges))


def heat_map(axis: Axes, matrix: np.ndarray) -> Any:
    """Draw a matrix over [−1, 1]."""
    from matplotlib import colormaps

    few = colormaps["RdBu_r"].resampled(41)  # steps of 0.05: finer ones are invisible, and files double
    return axis.imshow(matrix, cmap=few, vmin=-1.025, vmax=1.025, interpolation="none", extent=(0, 1, 1, 0))


def class_axis(
    axis: Axes, counts: Sequence[int] | np.ndarray, names: Sequence[str], least: float = 0.0
) -> None:
    """Write class names at the middle of their blocks, with short ticks at the ends of the blocks.

    ``least``: the share of the nodes below which a class has no name, because names would overlap.
    """
    counts = np.array(counts)
    shares = counts / counts.sum()
    ends = counts.cumsum() / counts.sum()
    centres = ends - shares / 2
    there = [label for label, count in enumerate(counts) if count]
    named = [label for label in there if shares[label] >= least]
    axis.set_yticks(centres[named], [readable(names[label]) for label in named])
    axis.set_yticks(ends[there][:-1], minor=True)
    axis.set_xticks([])
    axis.tick_params(which="major", length=0, labelcolor=INK)
    axis.tick_params(which="minor", length=6, width=0.8, color=QUIET)
    axis.spines[:].set_visible(False)


def _draw(axes: Axes, data: Gram) -> None:
    shown = heat_map(axes, data.matrix)
    class_axis(axes, data.counts, [class_label(name) for name in data.class_names], _LEAST)
    axes.tick_params(which="major", labelsize=7)
    hidden = int(((data.counts > 0) & (data.counts < _LEAST * data.counts.sum())).sum())
    means = [
        f"{where} classes {signed(mean, 2)}"
        for where, mean in (("within", data.within), ("between", data.between))
        if mean is not None
    ]
    lines = [data.of, f"mean {', '.join(means)}"] if means else [data.of]
    lines += [f"{hidden} small class{'es' * (hidden > 1)} without a name"] if hidden else []
    axes.set_xlabel("\n".join(lines), fontsize=7, color=QUIET)
    beside = axes.inset_axes((1.03, 0.05, 0.045, 0.9))  # as high as the matrix
    bar = axes.figure.colorbar(shown, cax=beside, ticks=[-1, -0.5, 0, 0.5, 1])
    bar.set_label(r"similarity $\bar{K}(u, v)$", fontsize=7.5)
    beside.tick_params(labelsize=7)
    bar.outline.set_visible(False)


def _chart(data: Gram) -> Chart:
    m, side = data.counts.sum(), len(data.matrix)
    ends = data.counts.cumsum() / m * side
    centres = ends - data.counts / m * side / 2 - 0.5
    named = np.flatnonzero(data.counts >= 0.03 * m)
    names = [html_label(readable(data.class_names[c]), 24) for c in named]
    square = {"autorange": "reversed", "scaleanchor": "x", "constrain": "domain"}
    trace = heat_trace(data.matrix.round(2), -1, 1, "K̄", "similarity %{z:.2f}")
    layout = {
        "xaxis": {"visible": False, "constrain": "domain"},
        "yaxis": class_ticks(rounded(centres[named], 2), names, **square),
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
    }
    look = {"height": 460, "scale": "diverging", "ratio": 0.8, "square": True}
    return {"data": [trace], "layout": layout, **look, "of": data.of}


GRAM = Picture(
    "gram",
    "Similarity in the order of classes",
    "Each pixel is the similarity K̄ of two nodes, in the order of their classes. Red blocks on the diagonal "
    "are classes of similar nodes.",
    section="kernel",
    height=2.7,
    data=gram_data,
    draw=_draw,
    chart=_chart,
    chart_settings={"pixels": 180},
    takes=("X",),
)
