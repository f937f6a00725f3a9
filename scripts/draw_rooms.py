"""Draw docs/images/rooms.svg and .png from the layers in pyproject.toml: `python scripts/draw_rooms.py`.

The picture shows what the layer check enforces: a package imports only from packages below it.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from matplotlib.patches import FancyBboxPatch

from kernode.viz.canvas import COLOURS, INK, LINE, QUIET, empty_figure, write_figure

ROOT = Path(__file__).parents[1]
# What is in each room, in a few words, and what of the paper.
ROOMS = {
    "cli": ("kernode fit, predict, links, …", ""),
    "search": ("tune, compare, cost", ""),
    "viz": ("pictures, the report, the explorer", ""),
    "estimators": ("NodeKernelClassifier, LinkPredictor, …; load_model", ""),
    "explain": ("neighbours, hops, features, pairs: exact parts; what if", ""),
    "tasks": ("classes of nodes, links: task · method · model · variants", "Table 2, Eqs. 14-15"),
    "models": ("Task, Model, choice among candidates, files", ""),
    "training": ("settings, the loop, stopping, callbacks, checkpoints", ""),
    "losses": ("hinge, squared, logistic, softmax, joint, links; triplets", "Eqs. 3-4, 8-10"),
    "kernels": ("linear, RBF, …; node kernel, graph kernel, GP", "K = k_base(g, g), Eq. 1"),
    "maps": ("HopMLP, Diffusion, GCN, GAT, …; layers they share", "g, Eqs. 5-7, 13"),
    "hops": ("Ā, exact hops, the hop operator and its cost", "Ā^h ⊙ M^(h)"),
    "io": ("data sets, files, tables, splits", ""),
    "graph": ("Graph, neighbourhoods, growth", ""),
    "metrics": ("accuracy, ranking, retrieval", ""),
    "compute": ("places, sparse products, draws, Adam, GPU", ""),
    "storage": ("whole files", ""),
    "config": ("parts as JSON", ""),
    "progress": ("messages", ""),
    "descriptions": ("variants in words", ""),
    "errors": ("code, fields, one sentence", ""),
    "version": ("", ""),
}
PAPER = ("hops", "maps", "kernels", "losses", "tasks")


def layers() -> list[list[str]]:
    """Rooms by layer, the highest first, as the layer check has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    return [[room.strip().removeprefix("kernode.") for room in row.split("|")] for row in settings["layers"]]


def draw(stem: Path) -> list[Path]:
    """One row for each layer."""
    rows = layers()
    with empty_figure(9.0, 0.56 * len(rows) + 0.5, layout=None) as figure:
        axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 10 * len(rows) + 5)
        axes.axis("off")
        for depth, row in enumerate(rows):
            bottom = 10 * (len(rows) - depth - 1) + 1
            # Packages of the lowest layer are small next to compute.
            shares = [3.0 if room == "compute" else 1.0 for room in row]
            left, unit = 1.0, (98 - 1.2 * (len(row) - 1)) / sum(shares)
            for room, share in zip(row, shares, strict=True):
                _room(axes, room, left, bottom, unit * share)
                left += unit * share + 1.2
        axes.text(
            1, 10 * len(rows) + 2.2, "a package imports only from packages below it", color=QUIET, fontsize=8
        )
        axes.text(99, 10 * len(rows) + 2.2, "blue: the paper", color=COLOURS[0], fontsize=8, ha="right")
        return write_figure(figure, stem)


def _room(axes: object, room: str, left: float, bottom: float, width: float) -> None:
    words, paper = ROOMS[room]
    edge = COLOURS[0] if room in PAPER else LINE
    face = "#eef5fa" if room in PAPER else "#f7f7f7"
    box = FancyBboxPatch(
        (left, bottom), width, 8, boxstyle="round,pad=0,rounding_size=0.8", edgecolor=edge, facecolor=face
    )
    axes.add_patch(box)  # type: ignore[attr-defined]
    title = room if width > 14 else room.replace("_", "_\n")
    axes.text(  # type: ignore[attr-defined]
        left + 1, bottom + 5.6, title, color=INK, fontsize=8.5, fontweight="bold", va="center"
    )
    axes.text(left + 1, bottom + 2.2, words, color=QUIET, fontsize=6.8, va="center")  # type: ignore[attr-defined]
    axes.text(  # type: ignore[attr-defined]
        left + width - 1, bottom + 5.6, paper, color=COLOURS[0], fontsize=7, va="center", ha="right"
    )


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images" / "rooms")
