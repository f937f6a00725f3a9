"""Pictures of a fitted classifier or regressor on matplotlib's axes: ``kernode.plots``.

kn.plots.confusion(model)                     # the test nodes that the model knows of
kn.plots.confusion(model, nodes, classes)     # any others
kn.plots.embedding(model, axes=axes)          # among other pictures
kn.plots.predicted(regressor)                 # of numbers
"""

from __future__ import annotations

from kernode.viz.pictures import NAMES, Picture, find_picture

__all__ = [name.replace("-", "_") for name in NAMES]


def __getattr__(name: str) -> Picture:
    if name in __all__:
        return find_picture(name.replace("_", "-"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
