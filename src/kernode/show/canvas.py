"""What all figures share: style, colours, and a PNG and an SVG each, the same bytes every time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.errors import MissingExtraError
from kernode.storage import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which the colour-blind tell apart; yellow last, for it is faint on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#f0e442")
MARKERS = ("o", "^", "s", "D")  # the next one for every eight classes, when colours are used up
INK, QUIET, LINE = "#222222", "#666666", "#bbbbbb"
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine draws the same letters
    "mathtext.fontset": "dejavusans",
    "font.size": 8.5,
    "axes.titlesize": 10,
    "axes.labelsize": 8.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": LINE,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "svg.hashsalt": "kernode",  # else the ids in the file are random
}


@contextmanager
def our_style() -> Iterator[None]:
    """Letters, lines and colours as ours, whatever the user's own are, until it ends."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError("drawing needs matplotlib: pip install 'kernode[plots]'.") from None
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


@contextmanager
def empty_figure(width: float, height: float, layout: Any = "constrained") -> Iterator[Figure]:
    """An empty figure in our style; no window and no global state."""
    with our_style():
        from matplotlib.figure import Figure

        yield Figure(figsize=(width, height), layout=layout)


def write_figure(figure: Figure, stem: Path, dpi: int = 150, cut: bool = False) -> list[Path]:
    """Write stem.png and stem.svg, after both have been drawn; ``cut``: without empty room at the ends."""
    drawn = {}
    box = _without_room(figure) if cut else None
    # Version and date stay out of the files, so that they change only when the picture does.
    for kind, unwanted in (("png", "Software"), ("svg", "Date")):
        content = io.BytesIO()
        figure.savefig(content, format=kind, dpi=dpi, metadata={unwanted: None}, bbox_inches=box)
        drawn[stem.with_name(f"{stem.name}.{kind}")] = content.getvalue()
    for path, picture in drawn.items():
        write_whole(path, picture)
    return list(drawn)


def _without_room(figure: Figure) -> Any:
    """What is drawn, at least as wide as the figure: words that did not fit are in it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = figure.get_tightbbox(canvas.get_renderer())
    left, right = min(0.0, drawn.x0), max(figure.get_figwidth(), drawn.x1)
    return Bbox.from_extents(left, drawn.y0 - 0.04, right, drawn.y1 + 0.04)


def colour(label: int) -> str:
    """A class's colour."""
    return COLOURS[label % len(COLOURS)]


def readable(name: str) -> str:
    """A class's name for people."""
    return f"class {name}" if name.isdigit() else name.replace("_", " ")


def signed(value: float, digits: int) -> str:
    """A number with a true minus sign."""
    return f"{value:.{digits}f}".replace("-", "−")
