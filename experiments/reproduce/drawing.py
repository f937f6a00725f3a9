"""Every figure, drawn from stored results: t-SNE with silhouettes, hop weights, Gram matrices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.reproduce.figures import unpack
from experiments.reproduce.overview import draw_overview
from experiments.reproduce.tables import Table
from kernode.search.results import Results
from kernode.viz.canvas import (
    COLOURS,
    MARKERS,
    QUIET,
    colour,
    empty_figure,
    plain_axes,
    readable,
    signed,
    write_figure,
)
from kernode.viz.pictures.gram import class_axis, heat_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed"}
SYSTEMS = {"gcn": "GCN", "gat": "GAT", "k3": "K3"}


def draw_all(table: Table, results: Results, folder: Path) -> Iterator[Path]:
    """Draw the overview, and each figure whose cells are stored, as PNG and SVG."""
    yield from draw_overview(folder / "overview")
    stored = _stored(table, results)
    by_data: dict[str, dict[str, Any]] = {}
    for (figure, system, dataset), values in stored.items():
        if figure == "embedding":
            by_data.setdefault(dataset, {})[SYSTEMS.get(system, system)] = values
    for dataset, panels in by_data.items():
        title = f"{TITLES[dataset]}: t-SNE of the test nodes (run 0)"
        yield from draw_embeddings(panels, title, folder / f"tsne-{dataset}")
    weights = {TITLES[d]: values for (figure, _, d), values in stored.items() if figure == "hop-weights"}
    if weights:
        yield from draw_hop_weights(weights, folder / "hop-weights")
    for (figure, _, dataset), values in stored.items():
        if figure == "gram":
            title = f"K̄ among {TITLES[dataset]}'s test nodes, ordered by class"
            yield from draw_gram(values, title, folder / f"gram-{dataset}")


def _stored(table: Table, results: Results) -> dict[tuple[str, str, str], Any]:
    """Values by figure, system and data set."""
    found = {}
    for cell in table.cells():
        record = results.find(cell)
        if record is not None:
            figure = cell.settings["kind"]
            found[figure, cell.row.removeprefix(f"{figure}-"), cell.dataset] = record["figure"]
    return found


def draw_embeddings(panels: Mapping[str, dict[str, Any]], title: str, stem: Path) -> list[Path]:
    """Draw each system's t-SNE plane, and below it the silhouette of each class."""
    with empty_figure(0.4 + 3.1 * len(panels), 5.4) as figure:
        figure.suptitle(title, fontsize=11)
        axes = figure.subplots(2, len(panels), squeeze=False, gridspec_kw={"height_ratios": [3, 1]})
        for (system, values), above, below in zip(panels.items(), *axes, strict=True):
            above.set_title(system, fontweight="bold")
            _scatter(above, values)
            _bars(below, values)
        _share_scale(axes[1])
        axes[1, 0].set_ylabel("silhouette\nby class")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=_columns(labels, figure),
            frameon=False,
            markerscale=2.2,
            handletextpad=0.2,
        )
        return write_figure(figure, stem)


def _columns(labels: Sequence[str], figure: Figure) -> int:
    """As many columns of a legend as fit, at some 5 points a letter."""
    widest = 28 + 5 * max(len(label) for label in labels)
    return max(1, min(len(labels), int(72 * figure.get_figwidth() / widest)))


def _scatter(axis: Axes, values: dict[str, Any]) -> None:
    points, labels = np.array(values["points"]), np.array(values["labels"])
    for label, name in enumerate(values["class_names"]):
        axis.scatter(
            points[labels == label, 0],
            points[labels == label, 1],
            s=8,
            color=colour(label),
            marker=MARKERS[label // len(COLOURS) % len(MARKERS)],
            linewidths=0,
            alpha=0.8,
            label=readable(name),
            rasterized=True,  # a thousand circles would make the SVG large
        )
    # t-SNE's plane has no scale that could be compared: every panel is filled in the same way.
    low, high = points.min(axis=0), points.max(axis=0)
    reach = 0.53 * float((high - low).max())
    (x, y) = (low + high) / 2
    axis.set(xlim=(x - reach, x + reach), ylim=(y - reach, y + reach), aspect="equal", xticks=[], yticks=[])


def _bars(axis: Axes, values: dict[str, Any]) -> None:
    for label, height in enumerate(values["silhouette_by_class"]):
        if height is None:  # no node of this class
            continue
        axis.bar(label, height, width=0.78, color=colour(label))
        side = 1 if height >= 0 else -1
        axis.annotate(
            signed(height, 2),
            (label, height),
            (0, 2 * side),
            textcoords="offset points",
            ha="center",
            va="bottom" if side > 0 else "top",
            fontsize=7,
            color=QUIET,
        )
    axis.axhline(0, color=QUIET, linewidth=0.8)
    axis.set(xticks=[], xlim=(-0.6, len(values["class_names"]) - 0.4))
    axis.spines[["top", "right", "bottom"]].set_visible(False)
    overall, runs = values["silhouette"], len(values["silhouette"]["runs"])
    spread = f" ± {overall['std']:.3f} ({runs} runs)" if runs > 1 else ""
    axis.set_xlabel(f"all nodes {signed(overall['mean'], 3)}{spread}", fontsize=9)


def _share_scale(axes: Sequence[Axes]) -> None:
    """One scale for all systems, with room for the figures at the bars' ends."""
    low = min(axis.dataLim.y0 for axis in axes)
    high = max(axis.dataLim.y1 for axis in axes)
    room = 0.16 * (high - low)
    for axis in axes:
        axis.set_ylim(low - room * (low < 0), high + room)
        axis.tick_params(left=axis is axes[0], labelleft=axis is axes[0])


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


def _room_below(axis: Axes) -> None:
    """Extend the scale below the lines, for the text at the bottom."""
    low, high = axis.get_ylim()
    axis.set_ylim(low - 0.17 * (high - low), high)


def _name_lines(axis: Axes, values: dict[str, Any]) -> None:
    """Write ω_h at the end of each line."""
    ends = np.array(values["mean"])[-1]
    low, high = axis.get_ylim()
    for hop, height in enumerate(spread(ends, 0.075 * (high - low))):
        x, text = 1.02 * len(values["mean"]), rf"$\omega_{{{hop}}}$"
        axis.text(x, height, text, color=colour(hop), fontsize=11, va="center")


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


def _mark_kept(axis: Axes, values: dict[str, Any]) -> None:
    """Draw a line at the kept epoch, with a text on the side that has more room."""
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


def draw_gram(result: dict[str, Any], title: str, stem: Path) -> list[Path]:
    """Draw K̄ among nodes in the order of their classes, before and after training."""
    with empty_figure(8.4, 3.8, "compressed") as figure:
        figure.suptitle(title, fontsize=11)
        axes = figure.subplots(1, 2)
        for axis, moment in zip(axes, ("before", "after"), strict=True):
            values = result[moment]
            shown = heat_map(axis, unpack(values["image"]))
            axis.set_title(f"{moment} training", fontweight="bold")
            within, between = (signed(values[pairs], 2) for pairs in ("within", "between"))
            axis.set_xlabel(f"mean within classes {within}, between {between}", fontsize=9)
            class_axis(axis, result["class_counts"], result["class_names"])
        axes[1].tick_params(labelleft=False)
        figure.colorbar(shown, ax=axes, shrink=0.93, pad=0.02, ticks=[-1, -0.5, 0, 0.5, 1]).set_label(
            r"similarity $\bar{K}(u, v)$"
        )
        return write_figure(figure, stem)
