"""Tables from text files: encoding, layout, every column as text, bad rows named."""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.machine import free_bytes, readable
from kernode.errors import FileError, InputError, bad_setting, warn
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.columns.values import numbers
from kernode.io.tables.table import Repair, Table, data_note, left_out_note, require_rows

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_WINDOWS = "cp1252"  # what spreadsheets write in Western Europe and America
_BLOCK = 2**22
_START = 2**16


@dataclass(frozen=True)
class TextFile:
    """The text of a file, in UTF-8."""

    path: Path
    content: bytes | bytearray
    notes: tuple[str, ...] = ()


def open_text(path: Path, encoding: str | None) -> TextFile:
    """Read a file, and decode it where it is not UTF-8.

    A mark at its start (BOM) counts before all else, then ``encoding``; else valid UTF-8 is UTF-8, and
    anything else Windows-1252, which is said.
    """
    raw = _unfolded(path)
    mark = next((mark for mark in _MARKS if raw.startswith(mark)), b"")
    if mark:
        encoding = _MARKS[mark]
    if encoding is None and b"\0" in raw[:_START]:
        raise InputError(
            f"{path.name} has NUL bytes: it is not text, or text in UTF-16 without a mark. "
            "Save it as CSV in UTF-8, or name the encoding utf-16-le.",
            "ambiguous",
            setting="encoding",
        )
    if (encoding is None or codecs.lookup(encoding).name == "utf-8") and _is_utf8(raw):
        return TextFile(path, raw[len(mark) :] if mark else raw)
    if encoding is not None:
        return TextFile(path, _decoded(path, raw, encoding))
    _refuse_damaged(path, raw)
    note = f"{path.name}: is not UTF-8, read as Windows-1252; name its encoding if that is wrong"
    return TextFile(path, _decoded(path, raw, _WINDOWS), (note,))


def require_room(path: Path, need: int, free: int) -> None:
    """Raise where a table takes more than half of the free memory: the rest is for the graph."""
    if need > free / 2:
        raise FileError(
            f"{path} takes {readable(need)} of memory or more, and {readable(free)} are free for it and its "
            "graph. Use a larger machine, or give fewer rows or columns.",
            "too-large",
            need=need,
            free=free,
            path=str(path),
        )


def _unfolded(path: Path) -> bytearray:
    """The content of a file, perhaps compressed; no more of it is read than there is memory for."""
    content, free = bytearray(), free_bytes()
    require_room(path, path.stat().st_size, free)
    with pa.input_stream(str(path)) as stream:
        while block := stream.read_buffer(_BLOCK).to_pybytes():  # read() loses memory where it fails
            content += block
            require_room(path, len(content), free)
    return content


def _is_utf8(content: bytearray) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(content), _BLOCK):
            decoder.decode(content[at : at + _BLOCK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def require_encoding(name: Any) -> None:
    """Raise unless Python knows an encoding of texts by this name."""
    try:
        b"id".decode(name)
    except UnicodeDecodeError:
        return  # it knows the encoding, in which two bytes are not text
    except (LookupError, TypeError, ValueError):
        known = "an encoding that Python knows, such as utf-8, cp1252 or shift_jis"
        raise bad_setting("encoding", known, name) from None


def _refuse_damaged(path: Path, raw: bytearray) -> None:
    """Raise where most of what is not ASCII is UTF-8: then a few bytes are broken, and the others mean it."""
    marked = raw.decode(errors="replace")
    broken = marked.count("\ufffd")
    ascii_only = len(marked.encode("ascii", errors="ignore"))
    good = len(marked) - ascii_only - broken
    if good > broken:
        line = 1 + marked.partition("\ufffd")[0].count("\n")
        raise InputError(
            f"{path.name}, line {line}: some bytes are not UTF-8, which the rest of the file is. "
            "Save it again in UTF-8, or name its encoding.",
            "ambiguous",
            setting="encoding",
        )


def _decoded(path: Path, raw: bytearray, encoding: str) -> bytes:
    try:
        return raw.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else len(raw)
        line = 1 + raw[:start].decode(encoding, errors="ignore").count("\n")
        what = "neither UTF-8 nor Windows-1252" if encoding == _WINDOWS else f"not {encoding}"
        raise InputError(
            f"{path.name}, line {line}: this is {what}. Name its encoding, such as cp1250 or shift_jis, or "
            "save the file in UTF-8.",
            "setting",
            setting="encoding",
        ) from None


def _look_for_stray_quotes(
    text: TextFile, layout: _Layout, columns: Any, rows: np.ndarray, bad: dict[int, str]
) -> None:
    """Raise or warn where a quotation mark took rows of the table into a cell; ``bad``: rows that do not fit.

    A mark that is never closed takes the rest of the file, two stray ones take what lies between.
    """
    name, n = text.path.name, columns.num_columns
    taken = {row: content.strip().count("\n") for row, content in bad.items()}
    last = len(columns) - 1
    for at in range(n):
        column = columns.column(at)
        for i in np.flatnonzero(pc.match_substring(column, "\n").fill_null(False).to_numpy()).tolist():
            first, *between, end = (line.count(layout.delimiter) for line in column[i].as_py().split("\n"))
            whole = sum(count == n - 1 for count in between)
            looks_like_rows = first == n - 1 - at and end == at and 2 * whole >= len(between) and n > 1
            if looks_like_rows or (i == last and text.content.count(b'"') % 2):
                taken[int(rows[i])] = len(between) + 1
    row = min((row for row, breaks in taken.items() if breaks), default=None)
    if row is None:
        return
    sentence = (
        f"{name}, row {row}: a quotation mark makes one row of {taken[row] + 1:,} lines. "
        "Remove the mark or close it: these rows are not read."
    )
    if text.content.count(b'"') % 2:
        raise InputError(sentence, "damaged-file", path=str(text.path))
    warn(sentence)


_DELIMITERS = (",", "\t", ";", "|")  # a header is split by whichever it has most of
_SAYS_DELIMITER = re.compile('"?sep=(.)"?')  # the first line that spreadsheets write for one another
_NUMBERED = re.compile("column [0-9]+")  # of a table without names


@dataclass(frozen=True)
class Reading:
    """What a user says about how a table is to be read; None where it is as it looks."""

    encoding: str | None = None
    header: bool | None = None
    named: Collection[str] = field(default=())  # columns that the user, or a model, knows by name
    id: str | None = None  # of these, the column of ids
    of_edges: bool = False


AS_IT_LOOKS = Reading()


@dataclass(frozen=True)
class _Layout:
    """How a text file is laid out, by its first lines."""

    comments: int  # lines before the header: those that begin with #, and a spreadsheet's sep=
    delimiter: str
    names: tuple[str, ...]
    headless: bool  # then the first line is data, and columns are numbered
    nameless: tuple[str, ...]  # of the names, those that stand for none: the index that pandas writes
    notes: tuple[str, ...]
    guessed: bool  # the header was not named by the user

    @property
    def first_row(self) -> int:
        """The number of the first row of data."""
        return self.comments + (1 if self.headless else 2)

    @classmethod
    def of(cls, text: TextFile, usual: str, reading: Reading) -> _Layout:
        """Look at a file; the usual delimiter is that of its extension."""
        said_delimiter, comments, first, second = _first_lines(text.content)
        delimiter = said_delimiter or max(_DELIMITERS, key=lambda mark: (first.count(mark), mark == usual))
        if not first.count(delimiter) and " " in first.strip() and not said_delimiter:
            delimiter = " "
        cells = [cell.strip() for cell in _cells(first, delimiter)]
        below = [cell.strip() for cell in _cells(second, delimiter)]
        where = f"{text.path.name}, row {comments + 1}"
        if not any(cells):
            raise InputError(f"{where}: there is no header. Name the columns in the first row.", "missing")
        headless, why = _is_headless(where, cells, below, reading, described=comments > bool(said_delimiter))
        if headless:
            notes: tuple[str, ...] = (data_note(text.path.name, comments + 1, why),)
        else:
            notes = (f"{text.path.name}: row {comments + 1} holds names, for {why}",) if why else ()
        given = ["" if headless else cell for cell in cells]
        missing = [not name or name.startswith("Unnamed: ") for name in given]
        names = [f"column {at + 1}" if lacks else given[at] for at, lacks in enumerate(missing)]
        repeated = next((name for name, count in Counter(names).items() if count > 1), None)
        if repeated is not None:
            raise InputError(
                f"{where}: two columns are called {repeated!r}. Rename one, or say that the row is data.",
                "duplicate",
                setting="header",
            )
        nameless = [] if headless else [names[at] for at, lacks in enumerate(missing) if lacks]
        said = reading.header is not None or set(reading.named) & set(cells)
        guessed = not (headless or said or nameless)
        return cls(comments, delimiter, tuple(names), headless, tuple(nameless), notes, guessed)


def _is_headless(
    where: str, cells: list[str], below: list[str], reading: Reading, *, described: bool
) -> tuple[bool, str]:
    """Whether the first row is data, and why; ``described``: comments above it, as SNAP writes them."""
    named = set(reading.named)
    if known := [cell for cell in cells if cell in named]:
        return False, f"it has {known[0]!r}, though it was to be data" if reading.header is False else ""
    if reading.header is True:
        return False, ""
    looks_like_names = not _are_numbers(cells)
    if reading.header is False:
        return True, "it is to be data"
    numbered = [name for name in sorted(filter(_NUMBERED.fullmatch, named)) if not _is_nameless(name, cells)]
    if numbered:
        return True, f"a column is to be called {numbered[0]!r}"
    if looks_like_names or named:
        return False, ""  # a missing column is refused later
    if not cells[0] and below and below[0]:
        return False, ""  # pandas leaves the name of its index empty
    written = [cell for cell in cells if cell]
    if reading.of_edges and written == ["0", "1"]:
        return True, "it is an edge (a header, if 0 and 1 are names)"
    if written == [str(at) for at in range(len(written))] and not described:
        raise InputError(
            f"{where}: {', '.join(written)} may be names of columns or data. Is the row a header?",
            "ambiguous",
            setting="header",
        )
    if below and not _are_numbers(below):
        raise InputError(
            f"{where}: numbers over a row that has others may be names of columns or data. "
            "Say whether the row is a header.",
            "ambiguous",
            setting="header",
        )
    return True, "it holds nothing but numbers"


def _is_nameless(numbered: str, cells: list[str]) -> bool:
    """Whether a column is called by number because its cell is empty among names."""
    at = int(numbered.removeprefix("column ")) - 1
    return at < len(cells) and not cells[at] and not _are_numbers(cells)


def read_text(path: Path, usual: str, reading: Reading) -> Table:
    """Every column as text: what it is, is decided when all of it has been seen."""
    text = open_text(path, reading.encoding)
    layout = _Layout.of(text, usual, reading)
    columns, bad = _parsed(text, layout)
    dropped = np.array(list(bad), np.int64)
    rows = np.arange(columns.num_rows + len(dropped)) + layout.first_row
    rows = np.delete(rows, dropped - layout.first_row)
    _look_for_stray_quotes(text, layout, columns, rows, bad)
    notes = [*text.notes, *layout.notes]
    repairs = Repair.of(path.name, f"did not have {len(layout.names)} values", "dropped", dropped)
    require_rows(columns.num_rows, repairs)
    nameless = [name for name in layout.nameless if name not in reading.named]
    notes += [left_out_note(path.name, name) for name in nameless]
    return _without_empty(
        Table(
            path.name,
            columns.drop_columns(nameless),
            rows,
            repairs,
            notes=tuple(notes),
            delimiter=layout.delimiter,
            names_by_looks=layout.comments + 1 if layout.guessed else None,
            index=columns.select(nameless[:1]) if nameless else None,
        )
    )


def _parsed(text: TextFile, layout: _Layout) -> tuple[Any, dict[int, str]]:
    """Columns of text, and the rows that have too few or too many values, by number."""
    from pyarrow import csv

    names = list(layout.names)
    bad: dict[int, str] = {}

    def skip(row: Any) -> str:
        bad[row.number or 0] = row.text
        return "skip"

    def read_csv(*, in_parallel: bool) -> Any:
        bad.clear()
        return csv.read_csv(
            pa.BufferReader(text.content),
            read_options=csv.ReadOptions(
                column_names=names, skip_rows=layout.first_row - 1, use_threads=in_parallel
            ),
            parse_options=csv.ParseOptions(
                delimiter=layout.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=skip,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    try:
        columns = read_csv(in_parallel=True)
        if bad:  # only one thread knows the rows' numbers
            columns = read_csv(in_parallel=False)
    except pa.ArrowInvalid as error:
        if "straddl" in str(error):  # a cell longer than a block: hardly one that is meant
            raise InputError(
                f"{text.path.name}: a cell is longer than 1 MB. Close its quotation mark.",
                "damaged-file",
                path=str(text.path),
            ) from error
        if "Empty CSV" not in str(error) and "Could not skip" not in str(error):
            raise
        columns = pa.table({name: pa.array([], pa.large_string()) for name in names})
    return columns, bad


def _without_empty(table: Table) -> Table:
    """Without rows that hold nothing at all: empty lines."""
    columns = table.columns.columns
    if any(column.null_count == 0 for column in columns):
        return table
    empty = np.logical_and.reduce([column.is_null().to_numpy() for column in columns])
    kept = np.flatnonzero(~empty)
    return table.take(kept)


def _first_lines(content: bytes | bytearray) -> tuple[str, int, str, str]:
    """What sep= says in a text's first line; how many lines it and comments (#) are; and the next two."""
    says, comments = None, 0
    found: list[str] = []
    for line in io.TextIOWrapper(pa.BufferReader(content), "utf-8"):
        line = line.removesuffix("\n")
        says = says or (_SAYS_DELIMITER.fullmatch(line) if not comments and not found else None)
        if not found and (line[:1] == "#" or (says is not None and not comments)):
            comments += 1
        else:
            found.append(line)
        if len(found) == 2:
            break
    first, second, *_ = [*found, "", ""]
    return says[1] if says else "", comments, first, second


def _cells(line: str, delimiter: str) -> list[str]:
    """The values of a line; none of an empty one."""
    import csv

    return next(csv.reader([line], delimiter=delimiter), [])


def _are_numbers(cells: list[str]) -> bool:
    """Whether cells are numbers or empty throughout, and at least one of them is a number."""
    written = [cell for cell in cells if cell]
    return bool(written) and not np.isnan(numbers(pa.array(written, pa.large_string()))[0]).any()
