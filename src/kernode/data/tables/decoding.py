"""The bytes of a text file as text: by its mark, as UTF-8, or else as Windows-1252; no character replaced."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.machine import free_bytes
from kernode.errors import FileError, InputError

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_WINDOWS = "cp1252"  # what spreadsheets write in Western Europe and America
_BLOCK = 2**24
_START = 2**16
_SPECIAL, _WORD = re.compile(r"[^\x00-\x7f]"), re.compile(r"\w*")
_SHOWN = 20  # characters of a word on either side of the first that is not ASCII


@dataclass(frozen=True)
class TextFile:
    """A text file that can be read as UTF-8."""

    path: Path
    start: str  # its first lines
    content: bytes | None = None  # in UTF-8 where the file itself is not
    notes: tuple[str, ...] = ()

    @property
    def source(self) -> Any:
        """What pyarrow reads."""
        import pyarrow as pa

        return self.path if self.content is None else pa.BufferReader(self.content)


def open_text(path: Path, encoding: str | None) -> TextFile:
    """Look at all of a file, and decode it where it is not UTF-8.

    A mark at its start (BOM) counts before all else, then ``encoding``; else valid UTF-8 is UTF-8, and
    anything else Windows-1252, which is said.
    """
    with _unfolding(path) as stream:
        start = _first_lines(stream)
    mark = next((mark for mark in _MARKS if start.startswith(mark)), b"")
    if mark:
        encoding = _MARKS[mark]
    if encoding is None and b"\0" in start:
        raise InputError(
            f"{path.name} has NUL bytes: it is no text, or text in UTF-16 without a mark. "
            'Save it as CSV in UTF-8, or pass encoding="utf-16-le".'
        )
    if (encoding is None or codecs.lookup(encoding).name == "utf-8") and _is_utf8(path):
        return TextFile(path, start.decode(errors="ignore").removeprefix("\ufeff"))
    raw = _content(path)
    if encoding is None:
        _refuse_damaged(path, raw)
    text = _decoded(path, raw, encoding or _WINDOWS, given=encoding is not None).removeprefix("\ufeff")
    note = () if encoding else (_said(path, text),)
    content = text.encode()
    return TextFile(path, _first_lines(io.BytesIO(content)).decode(errors="ignore"), content, note)


def _first_lines(stream: Any) -> bytes:
    """The start of a file: at least two whole lines beside comments (#), however long they are."""
    start: bytes = stream.read(_START)
    while sum(not line.startswith(b"#") for line in start.splitlines()[:-1]) < 2:
        more = stream.read(len(start))
        if not more:
            break
        start += more
    return start


def require_encoding(name: Any) -> None:
    """Raise unless Python knows an encoding of texts by this name."""
    try:
        b"id".decode(name)
    except UnicodeDecodeError:
        return  # it knows the encoding, in which two bytes are no text
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"encoding={name!r} is no encoding that Python knows. Give one such as utf-8, cp1252, cp1250 or "
            "shift_jis."
        ) from None


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with _unfolding(path) as stream:
            while block := stream.read(_BLOCK):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _content(path: Path) -> bytes:
    content = bytearray()
    with _unfolding(path) as stream:
        while block := stream.read(_BLOCK):
            content += block
    return bytes(content)


@dataclass
class _Unfolded:
    """What a file, perhaps compressed, holds; no more of it is read than there is memory for."""

    path: Path
    stream: Any
    left: int | None

    def read(self, count: int) -> bytes:
        block: bytes = self.stream.read_buffer(count).to_pybytes()  # read() loses memory where it fails
        if self.left is not None:
            self.left -= len(block)
            if self.left < 0:
                raise FileError(
                    f"{self.path} unfolds to more than the memory that is free. Use a larger machine, or "
                    "give less of it."
                )
        return block


@contextmanager
def _unfolding(path: Path) -> Iterator[_Unfolded]:
    import pyarrow as pa

    with pa.input_stream(str(path)) as stream:
        yield _Unfolded(path, stream, free_bytes())


def _refuse_damaged(path: Path, raw: bytes) -> None:
    """Raise where most of what is not ASCII is UTF-8: then a few bytes are broken, and the others mean it."""
    marked = raw.decode(errors="replace")
    broken = marked.count("\ufffd")
    ascii_only = len(marked.encode("ascii", errors="ignore"))
    good = len(marked) - ascii_only - broken
    if good > broken:
        row = _row(marked.partition("\ufffd")[0])
        raise InputError(
            f"{path.name}, row {row}: some bytes are not UTF-8, which the rest of the file is. "
            "Save it again in UTF-8, or pass encoding=."
        )


def _decoded(path: Path, raw: bytes, encoding: str, *, given: bool) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else len(raw)
        row = _row(raw[:start].decode(encoding, errors="ignore"))
        if given:
            sentence = f"this is not {encoding}. Pass another encoding=, or save the file in UTF-8."
        else:
            sentence = "this is neither UTF-8 nor Windows-1252. Pass encoding=, such as cp1250 or shift_jis."
        raise InputError(f"{path.name}, row {row}: {sentence}") from None


def _row(before: str) -> int:
    """The row that comes after a text, where line breaks between quotes are part of a value."""
    marks = np.frombuffer(before.encode("utf-32-le", errors="replace"), np.uint32)
    outside = np.cumsum(marks == ord('"')) % 2 == 0
    return 1 + int(np.count_nonzero((marks == ord("\n")) & outside))


def _said(path: Path, text: str) -> str:
    """A note with the first word that has a character of Windows-1252."""
    found = _SPECIAL.search(text)
    assert found is not None  # else it were UTF-8
    before = re.search(r"\w*$", text[max(found.start() - _SHOWN, 0) : found.start()])
    after = _WORD.match(text, found.end(), found.end() + _SHOWN)
    assert before is not None
    assert after is not None
    word = f"{before[0]}{found[0]}{after[0]}"
    more = ", …" if _SPECIAL.search(text, after.end()) else ""
    return f"{path.name}: is not UTF-8, read as Windows-1252 ({word}{more}); pass encoding= if that is wrong"
