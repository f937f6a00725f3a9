"""The registry of pictures: each has its data, its two drawings and its caption.

A new picture is a :class:`Picture` with its name in capitals, and an entry in ``_MODULES``. ``kernode plot``,
``kernode report`` and ``kn.plots`` find it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernode.estimators.nodes import NodeKernelEstimator
    from kernode.graph import Graph
    from kernode.viz.evaluation import EvaluationData
    from kernode.viz.layout import Layout

_MODULES = {  # in the order of the report
    "embedding": "embedding", "confusion": "confusion", "reliability": "confidence", "coverage": "confidence",
    "gram": "gram", "hop-weights": "curves", "losses": "curves", "validation": "curves",
}  # fmt: skip
NAMES = tuple(_MODULES)
Chart = dict[str, Any]  # data, layout and height for plotly, and optionally of, scale, ratio and square
_WIDTH = 3.4  # inches: a column of a paper
_DPI = 300


@dataclass(frozen=True)
class Picture:
    """A picture of a model on a graph: data, a matplotlib drawing, a plotly chart and a caption.

    Call it to draw on matplotlib's axes: ``kn.plots.confusion(model, axes=axes)``.
    """

    name: str
    title: str
    caption: str  # how to read it
    section: str  # of the report
    height: float  # inches
    data: Callable[..., Any]  # EvaluationData → what is drawn; raises InputError if it does not apply
    draw: Callable[[Axes, Any], None]
    chart: Callable[[Any], Chart]
    chart_settings: Mapping[str, Any] = field(default_factory=dict)  # of data, for the chart
    takes: tuple[str, ...] = ()  # parameters of a call besides graph and axes

    def __call__(
        self,
        model: NodeKernelEstimator,
        X: Any = None,
        y: Any = None,
        *,
        layout: Layout | None = None,
        graph: Graph | None = None,
        axes: Axes | None = None,
    ) -> Axes:
        """Draw a fitted classifier on given axes, or on a new figure.

        - ``X``, ``y``: nodes and their classes. Without X: the model's test nodes, which ``kernode fit``
          stores. Without y: the graph's classes.
        - ``layout``: layout of the nodes, "tsne" (the default) or "pca".
        - ``graph``: another graph than the one that the model was trained on.
        """
        from kernode.estimators.nodes import NodeKernelEstimator
        from kernode.viz.canvas import our_style
        from kernode.viz.evaluation import EvaluationData

        if not isinstance(model, NodeKernelEstimator):
            raise InputError(
                "a picture is of a fitted NodeKernelClassifier, or of what load_model gave. Got "
                f"{type(model).__name__}.",
                "setting",
                setting="model",
            )
        for name, value in (("X", X), ("y", y), ("layout", layout)):
            if value is not None and name not in self.takes:
                raise InputError(f"{self.name} does not take {name}.", "no-effect", setting=name)
        data = self.data(EvaluationData.of(model._on(graph), X, y, layout=layout or "tsne"))
        with our_style():
            if axes is None:
                from matplotlib import pyplot

                _, axes = pyplot.subplots(figsize=(_WIDTH, self.height), layout="constrained")
            self.draw(axes, data)
        return axes


def find_picture(name: str) -> Picture:
    """Return a picture by its name."""
    if name not in NAMES:
        sentence = f"there is no picture {name!r}. Choose from {', '.join(NAMES)}."
        raise InputError(sentence, "unknown", what="picture", name=name)
    module = import_module(f"{__name__}.{_MODULES[name]}")
    picture: Picture = getattr(module, name.replace("-", "_").upper())
    return picture


def write_pictures(
    evaluation: EvaluationData, folder: Path, names: Iterable[str] = ()
) -> Iterator[tuple[str, list[Path] | str]]:
    """Write pictures as PNG and SVG: each name with its files, or with the reason why it does not apply.

    Pictures requested by name must apply.
    """
    from kernode.viz.canvas import empty_figure, write_figure

    requested = [find_picture(name) for name in dict.fromkeys(names)]
    for picture in requested or map(find_picture, NAMES):
        try:
            data = picture.data(evaluation)
        except InputError as error:
            if requested:
                raise InputError(f"{picture.name}: {error}", error.code, **error.fields) from error
            yield picture.name, str(error)
            continue
        with empty_figure(_WIDTH, picture.height) as figure:
            picture.draw(figure.subplots(), data)
            yield picture.name, write_figure(figure, folder / picture.name, _DPI, cut=True)
