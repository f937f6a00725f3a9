"""Versions of kernode and of the libraries that its figures depend on."""

import platform
from importlib import metadata
from importlib.util import find_spec

__version__ = "0.2.0"


def versions() -> dict[str, str]:
    """Return the versions of kernode, Python and the libraries, PyTorch Geometric where it is installed."""
    others = {name: metadata.version(name) for name in ("torch", "numpy", "scipy", "scikit-learn")}
    if find_spec("torch_geometric"):
        others["torch_geometric"] = metadata.version("torch_geometric")
    return {"kernode": __version__, "python": platform.python_version(), **others}
