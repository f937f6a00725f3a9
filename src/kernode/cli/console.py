"""What commands print: text and tables for people, data as UTF-8, warnings, and progress."""

from __future__ import annotations

import codecs
import io
import json
import logging
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from kernode.errors import FileError, KernodeError, KernodeWarning
from kernode.progress import heard_by, note

# For terminals and pipes that lack such characters; any other becomes a question mark.
_READABLE = {
    "ω": "w", "λ": "lambda", "α": "alpha", "θ": "theta", "ℓ": "l", "Ā": "A", "̄": "", "√": "sqrt", "±": "+/-",
    "×": "x", "−": "-", "≥": ">=", "→": "->", "·": "-", "–": "-", "…": "...", "’": "'",
}  # fmt: skip
# Control characters but for line breaks and tabulators, C1's among them.
_CONTROL = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10}, "\ufffd")


def harmless(text: str) -> str:
    r"""Remove control characters, which a terminal would obey: names in data may hold them.

    >>> harmless("ann\x1b[2J")
    'ann�[2J'
    """
    return text.translate(_CONTROL)


def _readable(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_READABLE.get(one, "?") for one in error.object[error.start : error.end]), error.end


codecs.register_error("kernode-readable", _readable)


class ReaderGone(KernodeError):  # noqa: N818 (not an error)
    """The program that reads stdout has closed it (exit status 141, as after SIGPIPE)."""

    exit_status = 141
    code = "reader-gone"


class _Raw(io.RawIOBase):
    """Raw stdout: a failure becomes an error of ours, and what follows is dropped."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw, self._failed = raw, False

    def write(self, content: Any) -> int | None:
        if self._failed:
            return memoryview(content).nbytes
        try:
            return self._raw.write(content)
        except OSError as error:
            self._failed = True
            if isinstance(error, BrokenPipeError):
                raise ReaderGone("the reader has closed stdout.") from None
            raise FileError(f"stdout: {error.strerror}.", "no-room", path="stdout") from None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()


@contextmanager
def guarded_stdout() -> Iterator[None]:
    """Write all of stdout before this ends, or raise: :class:`ReaderGone`, or a FileError.

    Python's own stdout loses what a pipe did not take at once where it is unbuffered, and notices only at
    exit what a full disk did not take.
    """
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="kernode-readable")
    before = sys.stdout
    below = getattr(before, "buffer", None)
    raw = below if isinstance(below, io.RawIOBase) else getattr(below, "raw", None)
    if not isinstance(before, io.TextIOWrapper) or not isinstance(raw, io.RawIOBase):
        yield  # a notebook's stdout, a test's, or none
        return
    before.flush()
    own = sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Raw(raw)), before.encoding, "kernode-readable",
        line_buffering=before.line_buffering or before.write_through,
    )  # fmt: skip
    try:
        yield
    finally:
        sys.stdout = before
        own.detach()  # flushes


def write_data(text: str) -> None:
    """Write data to stdout: UTF-8 whatever the terminal has, and on a terminal without control characters."""
    if sys.stdout is None:
        raise FileError("stdout is closed, and data is to be written to it. Give a file instead.", "no-file")
    if sys.stdout.isatty():
        text = harmless(text)
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a notebook's, which takes any text
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    buffer.write(text.encode("utf-8", "backslashreplace"))
    buffer.flush()


class Warned:
    """The warnings of a command: on stderr at once, and in its JSON object, each once."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget the warnings of the command before."""
        self.sentences: list[str] = []
        self.shown, self._others = True, set[type]()

    def hear(self, message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        """Replace ``warnings.showwarning``; of another library's categories the first warning is enough."""
        sentence = harmless(" ".join(str(message).split()))
        if not issubclass(category, UserWarning) or category in self._others or sentence in self.sentences:
            return
        if not issubclass(category, KernodeWarning):
            self._others.add(category)
        note("warning", sentence, logging.WARNING)
        self.add(sentence, self.shown)

    def add(self, sentence: str, shown: bool = True) -> None:
        """Add a sentence, shown on stderr or only in JSON."""
        self.sentences.append(sentence)
        if shown:
            sys.stderr.write(f"kernode: warning: {sentence}\n")


warned = Warned()


class _Console(Console):
    """A console that prints no control characters."""

    def render_str(self, text: str, **look: Any) -> Text:
        return super().render_str(harmless(text), **look)


def say(text: str) -> None:
    """Print a line of rich's markup on stdout; escape what is not ours in it."""
    _Console(soft_wrap=True, highlight=False, emoji=False).print(text)


def print_json(values: dict[str, Any]) -> None:
    """Print one object on stdout, with all warnings."""
    sentences = [*values.get("warnings", []), *warned.sentences]
    write_data(json.dumps({**values, "warnings": sentences}, indent=2, ensure_ascii=False) + "\n")


def new_table(columns: Sequence[str], *, left: Collection[str] = (), **look: Any) -> Table:
    """Make an empty table; columns are right-justified, as numbers are, but for those in ``left``."""
    table = Table(**look)
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", no_wrap=True)
    return table


def print_table(table: Table) -> None:
    """Print a table on stdout: as wide as the terminal, elsewhere 120 columns."""
    console = _Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = 120
    console.print(table)


Advance = Callable[[float, str], None]  # steps done, and a text to show with them
Begin = Callable[..., Advance]  # (total, name=""): begin a task of so many steps, by the title and this name


@contextmanager
def progress(title: str, *, quiet: bool, counted: bool = True, seconds: float = 5.0) -> Iterator[Begin]:
    """Show progress on stderr: bars on a terminal, elsewhere a line every few seconds.

    What computations report by :func:`kernode.progress.tell` is shown, too, and logged. ``counted``: whether
    the number of steps means something to people.
    """
    console = Console(stderr=True)
    bar = _bars(console, counted) if console.is_terminal and not quiet else None

    def start(name: str, total: float) -> Advance:
        if quiet:
            return lambda done, text: None
        if bar is not None:
            task = bar.add_task(name, total=total, text="")
            return lambda done, text: bar.update(task, completed=done, text=text)
        due = _every(seconds)

        def advance(done: float, text: str) -> None:
            if due():
                steps = f"{done:g}/{total:g}" if counted else f"{100 * done / total:.0f} %"
                sys.stderr.write(f"{name} {steps} {text}\n")

        return advance

    tasks: dict[tuple[str, int], tuple[Advance, Callable[[], bool]]] = {}

    def listen(what: str, done: int, total: int) -> None:
        if (what, total) not in tasks:  # the same step of another graph has another total
            tasks[what, total] = start(what, total), _every(seconds)
        advance, due = tasks[what, total]
        advance(done, "")
        if due():
            note("progress", f"{what}: {done:,} of {total:,}", what=what, done=done, total=total)

    with bar or nullcontext(), heard_by(listen):
        yield lambda total, name="": start(f"{title} · {name}" if name else title, total)


def _bars(console: Console, counted: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *([MofNCompleteColumn()] if counted else []),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        console=console,
        transient=True,
    )


def _every(seconds: float) -> Callable[[], bool]:
    last = time.monotonic()

    def due() -> bool:
        nonlocal last
        if time.monotonic() - last < seconds:
            return False
        last = time.monotonic()
        return True

    return due
