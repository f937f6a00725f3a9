"""Standard output that is whole: all bytes of data, readable text on any terminal, or a sentence why not."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from kernode.errors import FileError

if TYPE_CHECKING:
    from typing_extensions import Buffer

# For terminals and pipes that have no such characters; any other becomes a question mark.
_READABLE = {
    "ω": "w", "λ": "lambda", "α": "alpha", "θ": "theta", "ℓ": "l", "Ā": "A", "̄": "", "√": "sqrt", "±": "+/-",
    "×": "x", "−": "-", "≥": ">=", "→": "->", "·": "-", "–": "-", "…": "...", "’": "'",
}  # fmt: skip

# Control characters but for the line break and the tabulator, C1's among them.
_OBEYED = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10}, "\ufffd")


def harmless(text: str) -> str:
    r"""A text without what a terminal would obey: a name in somebody's file may hold such characters.

    >>> harmless("ann\x1b[2J")
    'ann�[2J'
    """
    return text.translate(_OBEYED)


def _readable(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    unknown = error.object[error.start : error.end]
    return "".join(_READABLE.get(one, "?") for one in unknown), error.end


codecs.register_error("kernode-readable", _readable)


class _Raw(io.RawIOBase):
    """What lies under stdout; when it fails, it says that it was stdout, and takes no more."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self.raw, self.error = raw, None

    error: OSError | None

    def write(self, content: Buffer) -> int | None:
        """As much as goes in; after a failure everything vanishes, for nobody can be given it."""
        if self.error is not None:
            return memoryview(content).nbytes
        try:
            return self.raw.write(content)
        except OSError as error:
            self.error = OSError(error.errno, error.strerror, "stdout")
            raise self.error from None

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The file's number."""
        return self.raw.fileno()

    def isatty(self) -> bool:
        """Whether people look at it."""
        return self.raw.isatty()


@contextmanager
def whole_output() -> Iterator[None]:
    """While this lasts, what is printed comes out whole, or an error is raised before it ends.

    Python's own stdout loses what a pipe did not take at once where it is unbuffered, and notices only at
    exit, when nobody can be told, what a full disk did not take.
    """
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="kernode-readable")
    raw = _raw_of(sys.stdout)
    if raw is None:  # a notebook's, a test's, or none
        yield
        return
    own = sys.stdout = _whole(raw, before[0])
    try:
        yield
    finally:
        with suppress(OSError):  # it is kept, and raised below
            own.flush()
        own.detach()
        sys.stdout, sys.stderr = before  # typer wraps both where a pipe broke
        if raw.error is not None:  # whatever became of it on its way
            raise raw.error


def _raw_of(stream: TextIO | None) -> _Raw | None:
    below = getattr(stream, "buffer", None)
    raw = below if isinstance(below, io.RawIOBase) else getattr(below, "raw", None)
    return _Raw(raw) if isinstance(stream, io.TextIOWrapper) and isinstance(raw, io.RawIOBase) else None


def _whole(raw: _Raw, stream: TextIO) -> io.TextIOWrapper:
    stream.flush()
    at_once = stream.line_buffering or getattr(stream, "write_through", False)
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, stream.encoding, stream.errors, line_buffering=bool(at_once))


def write_data(text: str) -> None:
    """Data on stdout: UTF-8 whatever the terminal has, every byte, and lines that end as they are.

    On a terminal nobody reads bytes, and names in them must not command it.
    """
    if sys.stdout is None:
        raise FileError("stdout is closed, and data is to be written to it. Give a file instead.")
    if sys.stdout.isatty():
        text = harmless(text)
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a notebook's, which takes any text
        sys.stdout.write(text)
        return
    # Half of a character, as in a file's name of another encoding, is written as JSON has it.
    view = memoryview(text.encode("utf-8", "backslashreplace"))
    while view:
        view = view[buffer.write(view) :]
    buffer.flush()
