"""The registry of pictures: each has its data, its two drawings and its caption.

A new picture is a :class:`Picture` with its name in capitals, and an entry in ``_MODULES``. ``kernode plot``,
``kernode report`` and ``kn.plots`` find it there. Models of classes and of numbers have pictures of their
own, some with the same name.
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
    from kernode.estimators.regressor import NodeKernelRegressor
    from kernode.graph import Graph
    from kernode.viz.evaluation import EvaluationData
    from kernode.viz.layout import Layout
    from kernode.viz.numbers import NumberEvaluation

_MODULES = {  # of models of classes and of numbers, in the order of the report
    "classes": {
        "embedding": "embedding", "confusion": "confusion", "reliability": "confidence",
        "coverage": "confidence", "gram": "gram", "hop-weights": "curves", "losses": "curves",
        "validation": "curves",
    },
    "numbers": {
        "embedding": "number_maps", "predicted": "predicted", "residuals": "number_maps",
        "coverage": "predicted",
    },
}  # fmt: skip
NAMES = tuple(dict.fromkeys(name for names in _MODULES.values() for name in names))
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
    data: Callable[..., Any]  # evaluation → what is drawn; raises InputError if it does not apply
    draw: Callable[[Axes, Any], None]
    chart: Callable[[Any], Chart]
    chart_settings: Mapping[str, Any] = field(default_factory=dict)  # of data, for the chart
    takes: tuple[str, ...] = ()  # parameters of a call besides graph and axes

    def __call__(
        self,
        model: NodeKernelEstimator | NodeKernelRegressor,
        X: Any = None,
        y: Any = None,
        *,
        layout: Layout | None = None,
        graph: Graph | None = None,
        axes: Axes | None = None,
    ) -> Axes:
        """Draw a fitted classifier or regressor on given axes, or on a new figure.

        - ``X``, ``y``: nodes and their classes or numbers. Without X: the model's test nodes, which
          ``kernode fit`` stores. Without y: those of the graph.
        - ``layout``: layout of the nodes, "tsne" (the default) or "pca".
        - ``graph``: another graph than the one that the model was trained on.
        """
        from kernode.estimators.nodes import NodeKernelEstimator
        from kernode.estimators.regressor import NodeKernelRegressor
        from kernode.viz.canvas import our_style
        from kernode.viz.numbers import about_of, evaluation_of

        if not isinstance(model, NodeKernelEstimator | NodeKernelRegressor):
            raise InputError(
                "a picture is of a fitted NodeKernelClassifier or NodeKernelRegressor, or of what load_model "
                f"gave. Got {type(model).__name__}.",
                "setting",
                setting="model",
            )
        on = model._on(graph)
        own = find_picture(self.name, about_of(on))
        for name, value in (("X", X), ("y", y), ("layout", layout)):
            if value is not None and name not in own.takes:
                raise InputError(f"{self.name} does not take {name}.", "no-effect", setting=name)
        data = own.data(evaluation_of(on, X, y, layout=layout or "tsne"))
        with our_style():
            if axes is None:
                from matplotlib import pyplot

                _, axes = pyplot.subplots(figsize=(_WIDTH, own.height), layout="constrained")
            own.draw(axes, data)
        return axes


def find_picture(name: str, about: str = "") -> Picture:
    """Return a picture by its name; ``about``: "classes" or "numbers", "" for either."""
    if name not in NAMES:
        sentence = f"there is no picture {name!r}. Choose from {', '.join(NAMES)}."
        raise InputError(sentence, "unknown", what="picture", name=name)
    modules = _MODULES[about or next(one for one, names in _MODULES.items() if name in names)]
    if name not in modules:
        sentence = f"there is no picture {name!r} of a model of {about}. Choose from {', '.join(modules)}."
        raise InputError(sentence, "unsupported", what="picture", name=name)
    module = import_module(f"{__name__}.{modules[name]}")
    picture: Picture = getattr(module, name.replace("-", "_").upper())
    return picture


def pictures_about(about: str) -> list[Picture]:
    """Return every picture of a model of classes or numbers, in the order of the report."""
    return [find_picture(name, about) for name in _MODULES[about]]


def write_pictures(
    evaluation: EvaluationData | NumberEvaluation, folder: Path, names: Iterable[str] = ()
) -> Iterator[tuple[str, list[Path] | str]]:
    """Write pictures as PNG and SVG: each name with its files, or with the reason why it does not apply.

    Pictures requested by name must apply.
    """
    from kernode.viz.canvas import empty_figure, write_figure

    requested = [find_picture(name, evaluation.about) for name in dict.fromkeys(names)]
    for picture in requested or pictures_about(evaluation.about):
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
