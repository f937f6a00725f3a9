"""Where fetched graphs are kept on this machine."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Folder of fetched graphs: ``KERNODE_CACHE``, or ``kernode`` in the user's cache folder."""
    if own := os.environ.get("KERNODE_CACHE"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "kernode"
    if os.name == "nt" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "kernode"
    return Path.home() / ".cache" / "kernode"


def cached_file(name: str) -> Path:
    """Path of a fetched graph, whether it is there or not.

    >>> cached_file("citeseer").name
    'citeseer.npz'
    """
    return cache_folder() / f"{name}.npz"
