"""What commands share: where output goes, and progress while they compute."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from kernode.cli.streams import harmless, write_data
from kernode.compute.machine import peak_at
from kernode.errors import InputError, KernodeWarning
from kernode.progress import Listener, heard_by, note

if TYPE_CHECKING:
    from kernode.compute.place import Place


_LONGEST_NAME = 230  # bytes: 255, less what a file is called while it is written


class Warned:
    """What the user was warned of in a command: on stderr at once, or in its JSON object, each once."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.shown, self._others = True, set[type]()

    def begin(self) -> None:
        """Another command; whether to show anything is said when its options are known."""
        self.__init__()  # type: ignore[misc]

    def hear(self, message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        """Take the place of ``warnings.showwarning``; of other libraries one of a kind is enough."""
        if not issubclass(category, UserWarning):
            return
        if not issubclass(category, KernodeWarning):
            if category in self._others:
                return
            self._others.add(category)
        sentence = harmless(" ".join(str(message).split()))
        if sentence in self.sentences:
            return
        self.sentences.append(sentence)
        note("warning", sentence, logging.WARNING)
        if self.shown:
            sys.stderr.write(f"kernode: warning: {sentence}\n")


warned = Warned()
Advance = Callable[[float, str], None]  # how far, and what to say beside the bar


class Begin(Protocol):
    """How to begin to tell of something."""

    def __call__(self, total: float, name: str = "") -> Advance:
        """After so many steps it is done; ``name`` is what takes them."""


class _Console(Console):
    """rich's own lets characters through that terminals obey; names out of files may hold them."""

    def render_str(self, text: str, **look: Any) -> Text:
        return super().render_str(harmless(text), **look)


def say(text: str) -> None:
    """Print a line on stdout; what is not ours in it must be escaped, for it is markup."""
    _Console(soft_wrap=True, highlight=False, emoji=False).print(text)


def print_json(values: dict[str, Any]) -> None:
    """Print one object on stdout, in UTF-8 whatever the terminal has, with what there was to warn of."""
    said = [*values.get("warnings", []), *warned.sentences]
    write_data(json.dumps({**values, "warnings": said}, indent=2, ensure_ascii=False) + "\n")


def new_table(columns: Sequence[str], *, left: Collection[str] = (), **look: Any) -> Table:
    """An empty table; columns stand to the right, as numbers do, but for those on the ``left``."""
    table = Table(**look)
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", no_wrap=True)
    return table


def print_table(table: Table) -> None:
    """Print a table on stdout: as wide as the terminal, and in a file as wide as it needs to be."""
    console = _Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = 120
    console.print(table)


@contextmanager
def progress(title: str, *, quiet: bool, counted: bool = True) -> Iterator[Begin]:
    """Show progress on stderr: a bar on a terminal, now and then a line elsewhere.

    Gives a function that takes the number of steps, once it is known, and what takes them, where that is
    not the title itself; it returns how to tell of one.
    ``counted`` is whether these numbers say something to people. What computations tell of themselves
    (:mod:`kernode.progress`) is shown in the same way.
    """
    console = Console(stderr=True)
    if quiet:
        with heard_by(_noted()):
            yield lambda total, name="": lambda done, note: None
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            *([MofNCompleteColumn()] if counted else []),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
        )
        with Progress(*columns, console=console, transient=True) as bar:

            def start(name: str, total: float) -> Advance:
                task = bar.add_task(name, total=total, note="")
                return lambda done, note: bar.update(task, completed=done, note=note)

            with heard_by(_noted(_each_by_name(start))):
                yield lambda total, name="": start(_titled(title, name), total)
    else:
        with heard_by(_noted(_each_by_name(_lines))):
            lines = _lines if counted else _lines_with_time
            yield lambda total, name="": lines(_titled(title, name), total)


def _titled(title: str, name: str) -> str:
    return f"{title} · {name}" if name else title


def _each_by_name(start: Callable[[str, float], Advance]) -> Listener:
    """Begin anew for everything that is told of for the first time."""
    known: dict[tuple[str, int], Advance] = {}  # another graph has as many steps as it has nodes

    def listen(what: str, done: int, total: int) -> None:
        if (what, total) not in known:
            known[what, total] = start(what, total)
        known[what, total](done, "")

    return listen


def _noted(listener: Listener | None = None) -> Listener:
    """Whoever is told, and the log: of what takes long, now and then."""
    due: dict[tuple[str, int], Callable[[], bool]] = {}

    def listen(what: str, done: int, total: int) -> None:
        if listener is not None:
            listener(what, done, total)
        if due.setdefault((what, total), _now_and_then())():
            note("progress", f"{what}: {done:,} of {total:,}", what=what, done=done, total=total)

    return listen


def _lines(title: str, total: float) -> Advance:
    due = _now_and_then()

    def advance(done: float, note: str) -> None:
        if due():
            sys.stderr.write(f"{title} {done:g}/{total:g} {note}\n")

    return advance


def _lines_with_time(title: str, total: float) -> Advance:
    started, due = time.monotonic(), _now_and_then()

    def advance(done: float, note: str) -> None:
        if due():
            taken = time.monotonic() - started
            left = f", about {_duration(taken * (total - done) / done)} left" if done > 0 else ""
            sys.stderr.write(f"{title}: {note}{left}\n")

    return advance


def _now_and_then(every: float = 5.0) -> Callable[[], bool]:
    last = time.monotonic()

    def due() -> bool:
        nonlocal last
        if time.monotonic() - last <= every:
            return False
        last = time.monotonic()
        return True

    return due


def _duration(seconds: float) -> str:
    """A time as people say it.

    >>> _duration(42.4), _duration(250)
    ('42 s', '4 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def data_name(data: str) -> str:
    """What a data argument is called in file names: a data set's name or a file's stem.

    >>> data_name("Cora"), data_name("my/graph.npz"), data_name("synthetic:nodes=50,seed=1")
    ('cora', 'graph', 'synthetic-nodes=50-seed=1')
    """
    if data.startswith("synthetic:"):
        return re.sub(r"[^\w=]+", "-", data)  # a colon is no character of a file's name on Windows
    return Path(data).stem if Path(data).suffix else Path(data).name.lower()


def check_writable(path: Path | None) -> None:
    """Say before a long computation what would go wrong after it."""
    if path is None:
        return
    if len(os.fsencode(path.name)) > _LONGEST_NAME:
        raise InputError(f"{path.name[:40]}… is too long for the name of a file. Give a shorter one.")
    if path.is_dir():
        raise InputError(f"{path} is a folder. Give the name of a file.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no ordinary file. Give the name of one.")
    existing = next(parent for parent in path.absolute().parents if parent.exists())
    if not existing.is_dir():
        raise InputError(f"{path}: {existing.name} is not a folder. Give another place.")
    if not os.access(existing, os.W_OK):
        raise InputError(f"{path}: no file can be written in {existing}. Give another place.")


def check_apart(written: Iterable[Path | None], read: Iterable[str | Path | None]) -> None:
    """Refuse, before anything is computed, to write over what is read, or two results into one file."""
    there = [Path(one).resolve() for one in read if one is not None and Path(one).exists()]
    given = {one for one in there if one.is_file()}
    stores = {one for one in there if one.is_dir() and _is_store(one)}
    for path in written:
        if path is None:
            continue
        if path.resolve() in given:
            raise InputError(f"{path} is in use by this command and would be overwritten. Give another file.")
        if store := stores.intersection(path.resolve().parents):
            raise InputError(f"{path} would be a file of the store {store.pop()}. Give another place.")
        given.add(path.resolve())


def _is_store(folder: Path) -> bool:
    from kernode.io.store import is_store

    return is_store(str(folder))


def check_folder(path: Path) -> None:
    """The same for a folder that files will be written to."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file. Give the name of a folder.")
    existing = next(one for one in (path, *path.absolute().parents) if one.exists())
    if not existing.is_dir():
        raise InputError(f"{path}: {existing.name} is not a folder. Give another place.")
    if not os.access(existing, os.W_OK):
        what = (
            f"no file can be written in {path}"
            if existing == path
            else f"{path} cannot be made in {existing}"
        )
        raise InputError(f"{what}. Give another folder.")


def peak_memory_mb(place: Place) -> float | None:
    """The most memory the process (or, on a GPU, torch) has held so far, in MB."""
    peak = peak_at(place)
    return None if peak is None else round(peak / 1e6, 1)
