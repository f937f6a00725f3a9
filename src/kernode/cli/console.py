"""What commands share: where output goes, and progress while they compute."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from kernode.errors import InputError
from kernode.progress import Listener, heard_by

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, nothing else.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
DATA_HELP = "cora, citeseer, pubmed, an .npz graph, a table of edges, or synthetic:nodes=20000,degree=10,…"
Advance = Callable[[int, str], None]  # how far, and what to say beside the bar


def say(text: str) -> None:
    """Print a line on stdout."""
    Console(soft_wrap=True, highlight=False).print(text)


def print_json(values: dict[str, Any]) -> None:
    """Print one object on stdout."""
    sys.stdout.write(json.dumps(values, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def progress(title: str, *, quiet: bool) -> Iterator[Callable[[int], Advance]]:
    """Show progress on stderr: a bar on a terminal, now and then a line elsewhere.

    Gives a function that takes the number of steps, once it is known, and returns how to tell of one.
    What computations tell of themselves (:mod:`kernode.progress`) is shown in the same way.
    """
    console = Console(stderr=True)
    if quiet:
        yield lambda total: lambda done, note: None
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=console, transient=True) as bar:

            def start(name: str, total: int) -> Advance:
                task = bar.add_task(escape(name), total=total, note="")
                return lambda done, note: bar.update(task, completed=done, note=note)

            with heard_by(_each_by_name(start)):
                yield lambda total: start(title, total)
    else:
        with heard_by(_each_by_name(_lines)):
            yield lambda total: _lines(title, total)


def _each_by_name(start: Callable[[str, int], Advance]) -> Listener:
    """Begin anew for everything that is told of for the first time."""
    known: dict[str, Advance] = {}

    def listen(what: str, done: int, total: int) -> None:
        if what not in known:
            known[what] = start(what, total)
        known[what](done, "")

    return listen


def _lines(title: str, total: int, every: float = 5.0) -> Advance:
    last = time.monotonic()

    def advance(done: int, note: str) -> None:
        nonlocal last
        if time.monotonic() - last > every:
            last = time.monotonic()
            sys.stderr.write(f"{title} {done}/{total} {note}\n")

    return advance


def telling(advance: Advance, value: str, title: str) -> Callable[[int, dict[str, Any]], None]:
    """Training's progress, with the mean of one of its values beside the bar."""

    def tell(epoch: int, values: dict[str, Any]) -> None:
        advance(epoch, f"{title} {values[value].mean():.1f} %" if value in values else "")

    return tell


def data_name(data: str) -> str:
    """What a data argument is called in file names: a data set's name or a file's stem.

    >>> data_name("cora"), data_name("my/graph.npz"), data_name("synthetic:nodes=50,seed=1")
    ('cora', 'graph', 'synthetic-nodes=50-seed=1')
    """
    if data.startswith("synthetic:"):
        return re.sub(r"[^\w=]+", "-", data)  # a colon is no character of a file's name on Windows
    return Path(data).stem if Path(data).suffix else data


def check_writable(path: Path | None) -> None:
    """Say before a long computation what would go wrong after it."""
    if path is None:
        return
    if path.is_dir():
        raise InputError(f"{path} is a folder. Give the name of a file.")
    existing = next(parent for parent in path.absolute().parents if parent.exists())
    if not existing.is_dir():
        raise InputError(f"{path}: {existing.name} is not a folder. Give another place.")
    if not os.access(existing, os.W_OK):
        raise InputError(f"{path}: no file can be written in {existing}. Give another place.")


def peak_memory_mb(device: str) -> float | None:
    """Return the most memory the process (or, on a GPU, torch) has held so far, in MB."""
    if device == "cuda":
        import torch

        return round(torch.cuda.max_memory_allocated() / 1e6, 1)
    try:
        import resource
    except ImportError:  # Windows has no such count
        return None
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)
