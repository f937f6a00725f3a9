"""Where what can be fetched or computed again is kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Folder of what can be fetched or computed again: ``KERNODE_CACHE``, or the user's cache folder."""
    if own := os.environ.get("KERNODE_CACHE"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "kernode"
    if os.name == "nt" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "kernode"
    return Path.home() / ".cache" / "kernode"
