"""K̄ in the order of classes: blocks on the diagonal are classes whose nodes are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernode.show.canvas import QUIET, signed
from kernode.show.class_colours import class_label
from kernode.show.picture_data import Gram
from kernode.show.plots.heat_map import class_axis, heat_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 0.04  # share of the nodes below which a class's name has no room


def draw_gram(axes: Axes, data: Gram) -> None:
    """Draw the matrix, its classes and what its colours mean."""
    shown = heat_map(axes, data.matrix)
    class_axis(axes, data.counts, [class_label(name) for name in data.names], _LEAST)
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
    beside = axes.inset_axes((1.03, 0.05, 0.045, 0.9))  # as high as the matrix, whatever the room is
    bar = axes.figure.colorbar(shown, cax=beside, ticks=[-1, -0.5, 0, 0.5, 1])
    bar.set_label(r"similarity $\bar{K}(u, v)$", fontsize=7.5)
    beside.tick_params(labelsize=7)
    bar.outline.set_visible(False)
