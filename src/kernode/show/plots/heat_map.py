"""A Gram matrix in the order of its classes: what every picture of one shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.show.canvas import INK, QUIET, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def heat_map(axis: Axes, matrix: np.ndarray) -> Any:
    """Draw a matrix over [−1, 1]."""
    from matplotlib import colormaps

    few = colormaps["RdBu_r"].resampled(41)  # steps of 0.05: finer ones nobody sees, and files double
    return axis.imshow(matrix, cmap=few, vmin=-1.025, vmax=1.025, interpolation="none", extent=(0, 1, 1, 0))


def class_axis(
    axis: Axes, counts: Sequence[int] | np.ndarray, names: Sequence[str], least: float = 0.0
) -> None:
    """Names at the middle of their blocks, short ticks at the blocks' ends.

    ``least``: the share of the nodes below which a class has no name, where names would lie on each other.
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
