"""A Gram matrix in the order of its classes, before and after training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernode.studies.reproduce.figure_data import unpack
from kernode.viz.canvas import empty_figure, signed, write_figure
from kernode.viz.pictures.gram import class_axis, heat_map


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
