"""ω_h over training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernode.viz.canvas import empty_figure, write_figure
from kernode.viz.pictures.hop_weights import hop_lines, mark_kept, name_lines, room_below


def draw_hop_weights(panels: Mapping[str, dict[str, Any]], stem: Path) -> list[Path]:
    """Draw how ω_h moves from its start at 1 while it is learned, one panel per data set."""
    with empty_figure(0.5 + 3 * len(panels), 3) as figure:
        (axes,) = figure.subplots(1, len(panels), squeeze=False, sharey=True)
        for (dataset, values), axis in zip(panels.items(), axes, strict=True):
            axis.set_title(dataset, fontweight="bold")
            hop_lines(axis, values)
        room_below(axes[0])
        for (_, values), axis in zip(panels.items(), axes, strict=True):
            name_lines(axis, values)
            mark_kept(axis, values)
        axes[0].set_ylabel("weight of each hop")
        return write_figure(figure, stem)
