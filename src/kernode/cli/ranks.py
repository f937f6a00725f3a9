"""Commands under torchrun: each process reads a share of a store, and rank 0 prints and writes files."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

from kernode.errors import InputError, KernodeError

TAKE_SHARES = ("fit", "predict", "similar")  # commands that several processes run together


def processes() -> int:
    """Number of processes that torchrun started together; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", 1)) if "RANK" in os.environ else 1


def rank() -> int:
    """Rank of this process."""
    return int(os.environ.get("RANK", 0)) if processes() > 1 else 0


def has_joined() -> bool:
    """Return whether this process has met the others."""
    ranks = sys.modules.get("kernode.compute.ranks")  # not imported here: it takes torch
    return ranks is not None and ranks.has_joined()


def begin_rank() -> None:
    """Prepare one of several processes: end with a sentence on SIGTERM, print and write on rank 0 alone."""
    if processes() == 1:
        return
    signal.signal(signal.SIGTERM, _terminated)
    if rank():
        from kernode.storage import let_another_write

        let_another_write()
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (until the end)


def require_shares(command: str) -> None:
    """Refuse to run a command in several processes that would do the same."""
    if processes() > 1 and command not in TAKE_SHARES:
        commands = f"{', '.join(TAKE_SHARES[:-1])} and {TAKE_SHARES[-1]}"
        sentence = (
            f"kernode {command} is for one process: start it without torchrun, which is for {commands}."
        )
        raise InputError(sentence, "unsupported")


def _terminated(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it at once
    raise KernodeError(
        "the job was terminated, by a signal or because another of its processes ended. Start it again; with "
        "the same checkpoint it resumes.",
        "terminated",
    )
