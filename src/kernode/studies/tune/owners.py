"""Which process trains a trial: several may search in one file, and what a lost one left is given up."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

OWNER = "owner"


def this_process() -> dict[str, Any]:
    """What tells this process from all others."""
    return {"machine": platform.node(), "process": os.getpid(), "began": _beginning(os.getpid())}


def is_gone(owner: Any) -> bool:
    """Whether nobody trains for this owner any more, as this process before it begins a search.

    Of another machine's processes nothing is known: they are not gone.
    """
    if not isinstance(owner, dict) or "process" not in owner:
        return True  # of a version that did not say
    if owner.get("machine") != platform.node():
        return False
    process = owner["process"]
    return process == os.getpid() or not _lives(process) or _beginning(process) != owner.get("began")


def _lives(process: int) -> bool:
    if os.name == "nt":  # there a question would be a signal: one search at a time
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _beginning(process: int) -> str | None:
    """When a process began, where the system says so: numbers of processes are used again."""
    try:
        after_its_name = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2]
        return after_its_name.split()[19].decode()
    except (OSError, IndexError):
        return None
