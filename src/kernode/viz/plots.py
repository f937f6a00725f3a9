"""Pictures of a fitted classifier on matplotlib's axes: ``kernode.plots``.

kn.plots.confusion(model)                     # the test nodes that the model knows of
kn.plots.confusion(model, nodes, classes)     # any others
kn.plots.embedding(model, axes=axes)          # among other pictures
"""

from __future__ import annotations

from typing import Any

from kernode.viz.pictures import NAMES, module_of

_FUNCTIONS = {name.replace("-", "_"): name for name in NAMES}
__all__ = list(_FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(module_of(_FUNCTIONS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
