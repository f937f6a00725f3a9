"""What commands print: text and tables for people, data as UTF-8, warnings, and progress."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from kernode.errors import FileError, KernodeWarning
from kernode.progress import log_event, progress_listener

# Control characters but for line breaks and tabulators, C1's among them.
_CONTROL = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10}, "\ufffd")


_TITLE = re.compile(r" {4,}|\s*\S+(?: \S+)* {2,}|\s*")


def harmless(text: str) -> str:
    r"""Remove control characters, which a terminal would obey: names in data may hold them.

    >>> harmless("ann\x1b[2J")
    'ann�[2J'
    """
    return text.translate(_CONTROL)


def write_stdout(text: str = "") -> None:
    """Write text and what is still buffered.

    A stdout that takes no more is closed: else the interpreter would report it again at exit. Where its
    reader has gone, as `head` does, the exit status is that of SIGPIPE.
    """
    try:
        print(text, end="", flush=True)  # noqa: T201
    except OSError as error:
        with suppress(OSError):
            sys.stdout.close()
        if isinstance(error, BrokenPipeError):
            raise SystemExit(141) from None
        raise FileError(f"stdout: {error.strerror}.", "no-room", path="stdout") from None


def write_data(text: str) -> None:
    """Write data to stdout: UTF-8 whatever the terminal has, and on a terminal without control characters."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # not a notebook's
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    write_stdout(harmless(text) if sys.stdout.isatty() else text)


class Warned:
    """The warnings of a command: on stderr at once, and in its JSON object, each once."""

    def clear(self) -> None:
        """Forget the warnings of the command before."""
        self.sentences: list[str] = []
        self.shown, self._others = True, set[type]()

    def showwarning(self, message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        """Replace ``warnings.showwarning``; of another library's categories the first warning is enough."""
        sentence = harmless(" ".join(str(message).split()))
        if not issubclass(category, UserWarning) or category in self._others or sentence in self.sentences:
            return
        if not issubclass(category, KernodeWarning):
            self._others.add(category)
        log_event("warning", sentence, logging.WARNING)
        self.add(sentence, self.shown)

    def add(self, sentence: str, shown: bool = True) -> None:
        """Add a sentence, shown on stderr or only in JSON."""
        self.sentences.append(sentence)
        if shown:
            sys.stderr.write(f"kernode: warning: {sentence}\n")


warned = Warned()
warned.clear()


class _Console(Console):
    """A console that prints no control characters."""

    def render_str(self, text: str, **look: Any) -> Text:
        return super().render_str(harmless(text), **look)

    def write(self, content: str | Text | Table) -> None:
        with self.capture() as text:
            self.print(content)
        write_stdout("\n".join(line.rstrip(" ") for line in text.get().split("\n")))


def say(text: str) -> None:
    """Print rich's markup on stdout; escape what is not ours in it.

    A terminal wraps it between words, and continues a line below its value: after the title or indentation.
    """
    console = _Console(highlight=False, emoji=False)
    console.soft_wrap = True
    lines = console.render_str(text).split("\n", allow_blank=True) if console.is_terminal else [text]
    for line in lines:
        title = _TITLE.match(str(line))
        if isinstance(line, Text) and title and title.end() < console.width // 2 < line.cell_len:
            head, value = line.divide([title.end()])
            margin = Text("\n" + " " * title.end())
            line = head + margin.join(value.wrap(console, console.width - title.end()))
        console.write(line)


def print_json(values: dict[str, Any]) -> None:
    """Print one object on stdout, with all warnings."""
    sentences = [*values.get("warnings", []), *warned.sentences]
    write_data(json.dumps({**values, "warnings": sentences}, indent=2, ensure_ascii=False) + "\n")


def new_table(columns: Sequence[str], *, left: Collection[str] = (), **look: Any) -> Table:
    """Make an empty table: right-justified figures, and in ``left`` texts, which wrap if need be."""
    table = Table(**{"box": None, "pad_edge": False, "title_justify": "left", **look})
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", no_wrap=column not in left)
    return table


def print_table(table: Table) -> None:
    """Print a table on stdout: as wide as the terminal, elsewhere 120 columns."""
    console = _Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = 120
    console.write(table)


Advance = Callable[[float, str], None]  # steps done, and a text to show with them
Begin = Callable[..., Advance]  # (total, name=""): the task of so many steps, by the title and this name


@contextmanager
def progress(title: str, *, quiet: bool, counted: bool = True, seconds: float = 5.0) -> Iterator[Begin]:
    """Show progress on stderr: bars on a terminal, elsewhere and in the log a line every few seconds.

    Computations inside that call :func:`~kernode.progress.report_progress` are shown, too.
    ``counted``: whether the number of steps means something to people.
    """
    console = Console(stderr=True)
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *([MofNCompleteColumn()] if counted else []),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )

    steps: list[TaskID] = []

    @cache
    def begin(total: float, name: str = "", step: bool = False) -> Advance:
        for over in steps:  # one step at a time, and none below a training
            bars.update(over, visible=False)
        name = f"{title} · {name}" if name else title
        task, last = bars.add_task(name, total=total, text=""), time.monotonic()
        steps[:] = [task] if step else []

        def advance(done: float, text: str) -> None:
            nonlocal last
            bars.update(task, completed=done, text=text)
            if time.monotonic() - last < seconds:
                return
            last = time.monotonic()
            log_event("progress", f"{name}: {done:,g} of {total:,g}", what=name, done=done, total=total)
            if bars.disable and not quiet:
                steps = f"{done:g}/{total:g}" if counted else f"{100 * done / total:.0f} %"
                sys.stderr.write(f"{name} {steps} {text}\n")

        return advance

    # the same step of another graph has another total
    with bars, progress_listener(lambda what, done, total: begin(total, what, step=True)(done, "")):
        yield begin
