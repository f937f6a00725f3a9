"""What all pictures share: style, class colours, names, and writing PNG and SVG with reproducible bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kernode.errors import MissingExtraError
from kernode.storage import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure
else:
    Axes = Figure = Any  # matplotlib is imported where something is drawn

# Okabe and Ito's palette for colour-blind readers; yellow last, because it is faint on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#f0e442")
MARKERS = ("o", "^", "s", "D")  # the next one for every eight classes, when colours are used up
INK, QUIET, LINE, GREY = "#222222", "#666666", "#bbbbbb", "#a6a6a6"
_LONGEST = 24  # characters of a class name in a picture
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
    """Draw in this style, whatever the user's own rcParams are."""
    try:
        import matplotlib as mpl
    except ImportError:
        sentence = "drawing needs matplotlib: pip install 'kernode[plots]'."
        raise MissingExtraError(sentence, "extra", package="matplotlib", extra="plots") from None
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


@contextmanager
def empty_figure(width: float, height: float, layout: Any = "constrained") -> Iterator[Figure]:
    """Give an empty figure in our style, without a window or global state."""
    with our_style():
        from matplotlib.figure import Figure

        yield Figure(figsize=(width, height), layout=layout)


def write_figure(figure: Figure, stem: Path, dpi: int = 150, cut: bool = False) -> list[Path]:
    """Write stem.png and stem.svg after both have been drawn; ``cut``: crop empty space above and below."""
    from matplotlib.transforms import Bbox

    drawn, box = {}, None
    if cut:
        figure.set_dpi(dpi)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # a second layout would move what is cut
        x0, y0, x1, y1 = figure.get_tightbbox().extents
        box = Bbox.from_extents(min(0, x0), y0 - 0.04, max(figure.get_figwidth(), x1), y1 + 0.04)
    # Version and date stay out of the files, so that they change only when the picture does.
    for kind, unwanted in (("png", "Software"), ("svg", "Date")):
        content = io.BytesIO()
        figure.savefig(content, format=kind, dpi=dpi, metadata={unwanted: None}, bbox_inches=box)
        drawn[stem.with_name(f"{stem.name}.{kind}")] = content.getvalue()
    for path, picture in drawn.items():
        write_whole(path, picture)
    return list(drawn)


def colour(label: int) -> str:
    """Return the colour of a class."""
    return COLOURS[label % len(COLOURS)]


def class_groups(classes: np.ndarray, names: Sequence[str]) -> list[tuple[str, str, np.ndarray]]:
    """Name, colour and mask of the classes of some nodes (m): all in their order, or the most frequent ones.

    Rarer ones are grey, and one group.

    >>> class_groups(np.array([0, 1, 1]), ["ann", "bob"])[1]
    ('bob', '#d55e00', array([False,  True,  True]))
    """
    counts = np.bincount(classes)
    coloured = np.flatnonzero(counts)
    if rarer := max(0, len(coloured) - len(COLOURS)):
        coloured = coloured[np.argsort(-counts[coloured], kind="stable")][: len(COLOURS)]
    groups = [(names[c], COLOURS[i], classes == c) for i, c in enumerate(coloured.tolist())]
    if rarer:
        groups.append((f"{rarer} rarer class{'es' * (rarer > 1)}", GREY, ~np.isin(classes, coloured)))
    return groups


def readable(name: str) -> str:
    """Return a class name for people."""
    return f"class {name}" if name.isdigit() else name.replace("_", " ")


def shortened(name: str, longest: int = _LONGEST) -> str:
    """Cut a long name.

    >>> shortened("probabilistic methods", 12)
    'probabilist…'
    """
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def class_label(name: str, longest: int = _LONGEST) -> str:
    """Return a class name for matplotlib, where a bare $ would begin a formula."""
    return shortened(readable(name), longest).replace("$", r"\$")


def html_label(name: Any, longest: int = 40) -> str:
    """Return a name for plotly, which reads text as HTML."""
    return escape(shortened(str(name), longest), quote=False)


def rounded(values: np.ndarray, digits: int) -> list[float]:
    """Return values as a list, for a chart."""
    return np.asarray(values, dtype=np.float64).round(digits).tolist()


def signed(value: float, digits: int, plus: str = "") -> str:
    """Format a number with a true minus sign; ``plus``: before positive ones."""
    return f"{value:{plus}.{digits}f}".replace("-", "−")


def plain_axes(axes: Axes, grid: Literal["both", "x", "y"] = "both") -> None:
    """Hide the upper and right spines, and draw a pale grid below the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)


def plane_axes(axes: Axes, points: np.ndarray) -> None:
    """Show points in a plane (m × 2) without ticks, at the same scale in both directions."""
    x, y = np.maximum(np.abs(points).max(axis=0), 0.5) + 0.05  # a plane may be flat
    axes.set(xlim=(-x, x), ylim=(-y, y), aspect="equal", xticks=[], yticks=[])


def plane_layout(**more: Any) -> dict[str, Any]:
    """Return the layout of a plotly chart of points in a plane."""
    hidden = {"visible": False, "fixedrange": False}
    margin = {"l": 4, "r": 4, "t": 8, "b": 8}
    look = {"margin": margin, "hovermode": "closest", "dragmode": "zoom"}
    return {"xaxis": hidden, "yaxis": hidden | {"scaleanchor": "x"}} | look | more


def line_layout(x: str, y: str, **more: Any) -> dict[str, Any]:
    """Return the layout of a plotly chart with titled axes."""
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}}
    return axes | {"margin": {"l": 56, "r": 12, "t": 8, "b": 44}} | more


def heat_trace(z: np.ndarray, low: float, high: float, title: str, hover: str) -> dict[str, Any]:
    """Return a heat map for a plotly chart."""
    bar = {"title": {"text": title}, "thickness": 12, "len": 0.9}
    look = {"colorbar": bar, "hovertemplate": f"{hover}<extra></extra>"}
    return {"type": "heatmap", "z": z.tolist(), "zmin": low, "zmax": high, **look}


def class_ticks(places: Sequence[float], names: list[str], **more: Any) -> dict[str, Any]:
    """Return an axis of classes for a plotly chart."""
    ticks: dict[str, Any] = {"tickvals": places, "ticktext": names, "automargin": True}
    return ticks | {"showgrid": False, "zeroline": False} | more
