"""Who is taken for whom: the share of every true class, with counts where there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernode.show.canvas import INK, QUIET
from kernode.show.class_colours import class_label
from kernode.show.picture_data import Confusion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 12  # classes whose names have room in a column
_COUNTED = 10  # classes whose counts have room in their cells


def draw_confusion(axes: Axes, data: Confusion) -> None:
    """Draw the matrix: true classes in the rows, answers in the columns, shaded by the row's shares."""
    names = [class_label(name, 22) for name in data.names]
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
    axes.set_xlabel(f"answered class\n{data.accuracy:.1f} % right;\n{data.of}", fontsize=8)
    axes.xaxis.label.set_color(QUIET)
    axes.yaxis.label.set_color(QUIET)
