"""Every picture by its name: drawn on axes for Python, written to files for the command.

kn.plots.confusion(model)                     # the test nodes that the model knows of
kn.plots.confusion(model, nodes, classes)     # any others
kn.plots.embedding(model, axes=axes)          # among other pictures
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.node_classification.asked import Asked
from kernode.show.canvas import empty_figure, our_style, write_figure
from kernode.show.evidence import Evidence
from kernode.show.layout import Plane
from kernode.show.picture_data import (
    confusion_data,
    coverage_data,
    embedding_data,
    gram_data,
    hop_weight_data,
    reliability_data,
)
from kernode.show.plots.confusion import MOST, draw_confusion
from kernode.show.plots.embedding import draw_embedding
from kernode.show.plots.gram import draw_gram
from kernode.show.plots.sureness import draw_coverage, draw_reliability
from kernode.show.plots.training import draw_hop_weights, draw_losses, draw_validation
from kernode.show.training_history import LOSSES, SCORES, course

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 3.4  # inches: a column of a paper
_DPI = 300
Draw = Callable[["Axes"], None]


@dataclass(frozen=True)
class Picture:
    """A picture: what is gathered before anything is drawn, how, and how high it is."""

    gathered: Callable[[Evidence, Plane], Draw]  # raises a sentence where it does not apply
    height: float


def _embedding(evidence: Evidence, plane: Plane) -> Draw:
    data = embedding_data(evidence, plane)
    return lambda axes: draw_embedding(axes, data, evidence.names)


def _gram(evidence: Evidence, plane: Plane) -> Draw:
    data = gram_data(evidence)
    return lambda axes: draw_gram(axes, data)


def _hop_weights(evidence: Evidence, plane: Plane) -> Draw:
    data = hop_weight_data(evidence)
    return lambda axes: draw_hop_weights(axes, data)


def _losses(evidence: Evidence, plane: Plane) -> Draw:
    data = course(evidence.model, LOSSES, "losses")
    return lambda axes: draw_losses(axes, data)


def _validation(evidence: Evidence, plane: Plane) -> Draw:
    data = course(evidence.model, SCORES, "scores on validation nodes")
    return lambda axes: draw_validation(axes, data)


def _confusion(evidence: Evidence, plane: Plane) -> Draw:
    data = confusion_data(evidence, MOST)
    return lambda axes: draw_confusion(axes, data)


def _reliability(evidence: Evidence, plane: Plane) -> Draw:
    data = reliability_data(evidence)
    return lambda axes: draw_reliability(axes, data)


def _coverage(evidence: Evidence, plane: Plane) -> Draw:
    data = coverage_data(evidence)
    return lambda axes: draw_coverage(axes, data)


PICTURES = {
    "embedding": Picture(_embedding, 4.6),
    "gram": Picture(_gram, 2.7),
    "hop-weights": Picture(_hop_weights, 2.7),
    "losses": Picture(_losses, 2.5),
    "validation": Picture(_validation, 2.4),
    "confusion": Picture(_confusion, 3.5),
    "reliability": Picture(_reliability, 3.3),
    "coverage": Picture(_coverage, 2.6),
}


def write_pictures(
    evidence: Evidence, folder: Path, names: Iterable[str] = (), plane: Plane = "tsne"
) -> Iterator[tuple[str, list[Path] | str]]:
    """Write pictures as PNG and SVG: each name with its files, or with the reason why it does not apply.

    Those that are asked for by name must apply.
    """
    asked = list(dict.fromkeys(names))
    for name in asked:
        if name not in PICTURES:
            raise InputError(f"there is no picture {name!r}. Choose of {', '.join(PICTURES)}.")
    for name in asked or PICTURES:
        picture = PICTURES[name]
        try:
            draw = picture.gathered(evidence, plane)
        except InputError as error:
            if asked:
                raise InputError(f"{name}: {error}") from error
            yield name, str(error)
            continue
        with empty_figure(WIDTH, picture.height) as figure:
            draw(figure.subplots())
            yield name, write_figure(figure, folder / name, _DPI, cut=True)


def _drawn(name: str, evidence: Evidence, axes: Axes | None, plane: Plane = "tsne") -> Axes:
    """A picture on some axes, or on axes of its own."""
    picture = PICTURES[name]
    draw = picture.gathered(evidence, plane)
    with our_style():
        if axes is None:
            from matplotlib import pyplot

            _, axes = pyplot.subplots(figsize=(WIDTH, picture.height), layout="constrained")
        draw(axes)
    return axes


def _evidence(model: Asked, X: Any, y: Any, graph: Graph | None) -> Evidence:
    if not isinstance(model, Asked):
        raise InputError(
            "a picture is of a fitted NodeKernelClassifier, or of what load_model gave. Got "
            f"{type(model).__name__}."
        )
    return Evidence.of(model._on(graph), X, y)


def embedding(
    model: Asked, *, plane: Plane = "tsne", graph: Graph | None = None, axes: Axes | None = None
) -> Axes:
    """Draw every node in a plane in which alike nodes are near each other.

    Colours are classes, known or predicted where they are not; the most frequent ones have a colour, the rest
    is grey. Shapes tell training, validation and test nodes. ``plane``: "tsne", "umap" or "pca".
    """
    return _drawn("embedding", _evidence(model, None, None, graph), axes, plane)


def gram(model: Asked, X: Any = None, *, graph: Graph | None = None, axes: Axes | None = None) -> Axes:
    """Draw K̄ in the order of classes, among nodes X, else test nodes or others whose class is known."""
    return _drawn("gram", _evidence(model, X, None, graph), axes)


def hop_weights(model: Asked, *, graph: Graph | None = None, axes: Axes | None = None) -> Axes:
    """Draw ω_h over epochs, the mean of the runs and their spread."""
    return _drawn("hop-weights", _evidence(model, None, None, graph), axes)


def losses(model: Asked, *, graph: Graph | None = None, axes: Axes | None = None) -> Axes:
    """Draw what was minimised over epochs, and the same on validation nodes."""
    return _drawn("losses", _evidence(model, None, None, graph), axes)


def validation(model: Asked, *, graph: Graph | None = None, axes: Axes | None = None) -> Axes:
    """Draw what chose the epoch: accuracy, and where it was asked for mAP, on validation nodes."""
    return _drawn("validation", _evidence(model, None, None, graph), axes)


def confusion(
    model: Asked, X: Any = None, y: Any = None, *, graph: Graph | None = None, axes: Axes | None = None
) -> Axes:
    """Draw which classes nodes X are taken for that have classes y.

    Without X: the test nodes that the model knows of, from ``kernode fit``. Without y: the graph's classes.
    """
    return _drawn("confusion", _evidence(model, X, y, graph), axes)


def reliability(
    model: Asked, X: Any = None, y: Any = None, *, graph: Graph | None = None, axes: Axes | None = None
) -> Axes:
    """Draw how often answers came true beside the probability that was claimed; X and y as for confusion."""
    return _drawn("reliability", _evidence(model, X, y, graph), axes)


def coverage(
    model: Asked, X: Any = None, y: Any = None, *, graph: Graph | None = None, axes: Axes | None = None
) -> Axes:
    """Draw accuracy over the share of nodes that are answered, the surest first; X and y as for confusion."""
    return _drawn("coverage", _evidence(model, X, y, graph), axes)
