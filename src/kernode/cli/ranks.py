"""Commands under torchrun: each process reads a share of a store, and the first speaks and writes for all."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from kernode.errors import InputError, KernodeError

if TYPE_CHECKING:
    from kernode.graph import Graph


def rank() -> int:
    """Of this process, among those that began together; the first is 0."""
    return int(os.environ.get("RANK", 0)) if several() else 0


def processes() -> int:
    """How many torchrun has begun together; without it, this one."""
    return int(os.environ.get("WORLD_SIZE", 1)) if "RANK" in os.environ else 1


def several() -> bool:
    """Whether there are more than one."""
    return processes() > 1


def began_again() -> bool:
    """Whether torchrun has begun these processes anew, after one of them had ended (--max-restarts)."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) > 0


def has_joined() -> bool:
    """Whether this process has met the others."""
    ranks = sys.modules.get("kernode.compute.ranks")  # which torch comes with: it is not loaded to ask this
    return ranks is not None and ranks.has_joined()


TAKE_SHARES = ("fit", "predict", "similar")  # commands that several processes can run as one


def take_place(words: list[str]) -> None:
    """Be one of several: hear when the job is ended, and be silent unless this is the first.

    ``words``: of the command line, of which the first is the command.
    """
    if not several():
        return
    signal.signal(signal.SIGTERM, _ended)
    if rank():
        from kernode.storage import let_another_write

        let_another_write()
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (until the end)
    if words and not words[0].startswith("-") and words[0] not in TAKE_SHARES:  # --help is for anybody
        raise InputError(
            f"kernode {words[0]} is for one process: start it without torchrun, which is for "
            f"{', '.join(TAKE_SHARES[:-1])} and {TAKE_SHARES[-1]}."
        )


def await_the_end(seconds: float = 5.0) -> None:
    """Wait to be ended by torchrun, as it does when the first process has said what is wrong."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    time.sleep(seconds)


def _ended(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # whoever sends another means it
    raise KernodeError(
        "the job was ended, by somebody or because another of its processes had. Start it again; with the "
        "same --checkpoint and --resume it goes on from there."
    )


def loaded(data: str) -> Graph:
    """A graph by its name or file; of several processes each gets its share of a store."""
    from kernode.io import load_graph

    if not several():
        return load_graph(data)
    from kernode.compute.ranks import join
    from kernode.io.store import Store, is_store
    from kernode.io.store.store import read_share

    if not is_store(data):
        raise InputError(
            f"{data} is no store, which several processes could share. Make one: kernode data shard {data} "
            f"--parts {processes()} -o FOLDER, and give the folder."
        )
    return read_share(Store.open(data), join())
