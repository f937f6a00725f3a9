"""Draw docs/images/scaling.svg and .png from results/bench-scale-*.json: `python scripts/plot_scaling.py`.

Two arguments, a folder of results and one for the pictures, draw something else somewhere else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

ROOT = Path(__file__).parents[1]
COLOURS = {"n1": "#0072b2", "k3": "#d55e00", "pyg-gcn": "#444444", "pyg-gcn-csr": "#999999"}
COSTS = {"ms_per_step": "milliseconds a training step", "peak_mb": "peak memory, MB"}


def draw(measured: list[dict[str, Any]]) -> plt.Figure:
    """One row of pictures for each device: time on the left, memory on the right."""
    figure, axes = plt.subplots(
        len(measured), 2, figsize=(10, 0.6 + 4 * len(measured)), squeeze=False, layout="constrained"
    )
    for row, values in zip(axes, measured, strict=True):
        machine = values["machine"]
        where = machine["gpu"] or f"CPU, threads: {machine['threads']}"
        for axis, cost in zip(row, COSTS, strict=True):
            _lines(axis, values, cost)
            axis.set_title(where, fontsize=10)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels) // 2, frameon=False)
    return figure


def _lines(axis: Axes, values: dict[str, Any], cost: str) -> None:
    rows = values["rows"]
    widths = [row["hidden"] for row in rows if row["system"] == "n1"]
    for system, hidden in dict.fromkeys((row["system"], row["hidden"]) for row in rows):
        own = [r for r in rows if (r["system"], r["hidden"]) == (system, hidden) and r[cost] is not None]
        axis.plot(
            [row["entries"] for row in own],
            [row[cost] for row in own],
            color=COLOURS[system],
            linestyle="-" if hidden in widths else "--",
            marker="o" if system in ("n1", "k3") else "s",
            markersize=4,
            label=f"{system}, hidden {hidden}",
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("adjacency entries")
    axis.set_ylabel(COSTS[cost])
    axis.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Draw what is measured."""
    given = [Path(argument) for argument in sys.argv[1:]]
    results, images = given if given else (ROOT / "results", ROOT / "docs" / "images")
    paths = [results / f"bench-scale-{device}.json" for device in ("cpu", "cuda")]
    measured = [json.loads(path.read_text()) for path in paths if path.exists()]
    if not measured:
        sys.exit(
            f"{results} holds no bench-scale-*.json: python -m experiments bench scale --results {results}."
        )
    images.mkdir(parents=True, exist_ok=True)
    mpl.rcParams["svg.hashsalt"] = "scaling"  # the same figures give the same file
    figure = draw(measured)
    figure.savefig(images / "scaling.svg", metadata={"Date": None})
    figure.savefig(images / "scaling.png", dpi=120, metadata={"Software": None})
    print(f"{images}/scaling.svg, {images}/scaling.png")


if __name__ == "__main__":
    main()
