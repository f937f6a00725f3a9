"""The version of kernode, and of everything else that has a say in its figures."""

import platform
from importlib import metadata

__version__ = "0.2.0"


def versions() -> dict[str, str]:
    """Of kernode, Python and the libraries that compute."""
    others = {name: metadata.version(name) for name in ("torch", "numpy", "scipy", "scikit-learn")}
    return {"kernode": __version__, "python": platform.python_version(), **others}
