"""A Gram matrix in the order of its classes, before and after training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.studies.reproduce.drawing.canvas import INK, QUIET, empty_figure, readable, signed, write_figure
from kernode.studies.reproduce.figure_data import unpack

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_gram(result: dict[str, Any], title: str, stem: Path) -> list[Path]:
    """Draw K̄ among nodes in the order of their classes, before and after training."""
    with empty_figure(8.4, 3.8, "compressed") as figure:
        figure.suptitle(title, fontsize=11)
        axes = figure.subplots(1, 2)
        for axis, moment in zip(axes, ("before", "after"), strict=True):
            values = result[moment]
            shown = _heat_map(axis, unpack(values["image"]))
            axis.set_title(f"{moment} training", fontweight="bold")
            within, between = (signed(values[pairs], 2) for pairs in ("within", "between"))
            axis.set_xlabel(f"mean within classes {within}, between {between}", fontsize=9)
            _class_axis(axis, result)
        axes[1].tick_params(labelleft=False)
        figure.colorbar(shown, ax=axes, shrink=0.93, pad=0.02, ticks=[-1, -0.5, 0, 0.5, 1]).set_label(
            r"similarity $\bar{K}(u, v)$"
        )
        return write_figure(figure, stem)


def _heat_map(axis: Axes, matrix: np.ndarray) -> Any:
    from matplotlib import colormaps

    few = colormaps["RdBu_r"].resampled(41)  # steps of 0.05: finer ones nobody sees, and files double
    return axis.imshow(matrix, cmap=few, vmin=-1.025, vmax=1.025, interpolation="none", extent=(0, 1, 1, 0))


def _class_axis(axis: Axes, result: dict[str, Any]) -> None:
    """Names at the middle of their blocks, short ticks at the blocks' ends."""
    counts = np.array(result["class_counts"])
    ends = counts.cumsum() / counts.sum()
    centres = ends - counts / counts.sum() / 2
    named = [label for label, count in enumerate(counts) if count]
    axis.set_yticks(centres[named], [readable(result["class_names"][label]) for label in named])
    axis.set_yticks(ends[named][:-1], minor=True)
    axis.set_xticks([])
    axis.tick_params(which="major", length=0, labelcolor=INK)
    axis.tick_params(which="minor", length=6, width=0.8, color=QUIET)
    axis.spines[:].set_visible(False)
