"""Tables from text files: encoding, layout, every column as text, bad rows named."""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.machine import free_bytes
from kernode.errors import FileError, InputError, warn
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
            f"{path.name} has NUL bytes: it is no text, or text in UTF-16 without a mark. "
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


def _unfolded(path: Path) -> bytearray:
    """What a file, perhaps compressed, holds; no more of it is read than there is memory for."""
    content, free = bytearray(), free_bytes()
    with pa.input_stream(str(path)) as stream:
        while block := stream.read_buffer(_BLOCK).to_pybytes():  # read() loses memory where it fails
            content += block
            if (
                free is not None and len(content) > free / 3
            ):  # the rest is for the table and what is made of it
                raise FileError(
                    f"{path} unfolds to more than the memory that is free. Use a larger machine, or give "
                    "less of it.",
                    "too-large",
                    free=free,
                )
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
        return  # it knows the encoding, in which two bytes are no text
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"{name!r} is no encoding that Python knows. Give one such as utf-8, cp1252 or shift_jis.",
            "setting",
            setting="encoding",
            value=name,
        ) from None


def _refuse_damaged(path: Path, raw: bytearray) -> None:
    """Raise where most of what is not ASCII is UTF-8: then a few bytes are broken, and the others mean it."""
    marked = raw.decode(errors="replace")
    broken = marked.count("\ufffd")
    ascii_only = len(marked.encode("ascii", errors="ignore"))
    good = len(marked) - ascii_only - broken
    if good > broken:
        row = _row(marked.partition("\ufffd")[0])
        raise InputError(
            f"{path.name}, row {row}: some bytes are not UTF-8, which the rest of the file is. "
            "Save it again in UTF-8, or name its encoding.",
            "ambiguous",
            setting="encoding",
        )


def _decoded(path: Path, raw: bytearray, encoding: str) -> bytes:
    try:
        return raw.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else len(raw)
        row = _row(raw[:start].decode(encoding, errors="ignore"))
        what = "neither UTF-8 nor Windows-1252" if encoding == _WINDOWS else f"not {encoding}"
        raise InputError(
            f"{path.name}, row {row}: this is {what}. Name its encoding, such as cp1250 or shift_jis, or "
            "save the file in UTF-8.",
            "setting",
            setting="encoding",
        ) from None


def _row(before: str) -> int:
    """The row that comes after a text, where line breaks between quotes are part of a value."""
    marks = np.frombuffer(before.encode("utf-32-le", errors="replace"), np.uint32)
    outside = np.cumsum(marks == ord('"')) % 2 == 0
    return 1 + int(np.count_nonzero((marks == ord("\n")) & outside))


_CURE = "Remove the mark or close it, or save the table again."


def refuse_open_quote(name: str, content: bytes | bytearray, delimiter: str) -> None:
    """Raise where a quotation mark is still open at the end of a text."""
    between = re.escape(delimiter.encode())
    # A mark means something only where a cell begins; two of them within stand for one.
    quoted = re.compile(rb"(?:^|(?<=[\n\r])|(?<=" + between + rb'))"(?:[^"]|"")*+("?)')
    newline = b"\n" if b"\n" in content else b"\r"
    within = 0  # line breaks that are part of a value
    for cell in quoted.finditer(content):
        if not cell[1]:
            row = 1 + content.count(newline, 0, cell.start()) - within
            raise InputError(f"{name}, row {row}: a quotation mark opens and is never closed. {_CURE}")
        within += cell[0].count(newline)


def warn_of_swallowed(name: str, columns: Any, rows: np.ndarray, delimiter: str) -> None:
    """Warn where a cell holds what looks like rows of its table: two stray marks and what lies between."""
    n = columns.num_columns
    found = [
        (int(rows[row]), lines - 1)
        for at in range(n)
        for row, value in _with_line_breaks(columns.column(at))
        if (lines := _looks_like_rows(value, at, n, delimiter))
    ]
    if found:
        row, breaks = min(found)
        more = f" (and {len(found) - 1:,} more such cells)" if len(found) > 1 else ""
        warn(
            f"{name}, row {row}: a cell between quotation marks holds {breaks:,} line break"
            f"{'s' * (breaks > 1)} and looks like rows of the table{more}. "
            "Remove the marks if they are stray: these rows are not read."
        )


def warn_of_dropped(name: str, dropped: dict[int, str]) -> None:
    """Warn where a row that has too few or too many values, given by number, goes over several lines."""
    for row, text in sorted(dropped.items()):
        lines = len(text.strip().splitlines())
        if lines > 1:
            warn(
                f"{name}, row {row}: a quotation mark makes one row of {lines:,} lines, which is dropped. "
                f"{_CURE}"
            )
            return


def _with_line_breaks(column: Any) -> Iterator[tuple[int, str]]:
    rows = np.flatnonzero(pc.match_substring(column, "\n").fill_null(False).to_numpy())
    return zip(rows.tolist(), column.take(rows).to_pylist(), strict=True)


def _looks_like_rows(value: str, at: int, n: int, delimiter: str) -> int:
    """How many lines a cell of column ``at`` of n has, if they end a row, are rows and begin one; else 0."""
    first, *between, last = (line.count(delimiter) for line in value.split("\n"))
    whole = sum(count == n - 1 for count in between)
    fits = first == n - 1 - at and last == at and 2 * whole >= len(between) and n > 1
    return len(between) + 2 if fits else 0


_DELIMITERS = (",", "\t", ";", "|")  # a header is split by whichever of these it has most of
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
    guessed: bool  # nobody said that the first line holds names
    trailing: bool = False  # rows end in a separator, which the header does not: in an empty cell too many

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
        trailing = len(cells) > 1 and len(below) == len(cells) + 1 and not below[-1]
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
        return cls(comments, delimiter, tuple(names), headless, tuple(nameless), notes, guessed, trailing)


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
        over_numbers = looks_like_names and any(_is_number(cell) for cell in below)
        return True, "it is to be data" + (", though it looks like names" if over_numbers else "")
    numbered = [name for name in sorted(filter(_NUMBERED.fullmatch, named)) if not _is_nameless(name, cells)]
    if numbered:
        return True, f"a column is to be called {numbered[0]!r}"
    if looks_like_names or named:
        return False, ""  # a name that is asked for and not there is said later
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
    columns, bad = _parsed(text, layout, ("",) if layout.trailing else ())
    if layout.trailing and columns[""].null_count < len(columns):  # a value without a name, in some rows
        layout = replace(layout, trailing=False)
        columns, bad = _parsed(text, layout)
    dropped = np.array(list(bad), np.int64)
    rows = np.arange(columns.num_rows + len(dropped)) + layout.first_row
    rows = np.delete(rows, dropped - layout.first_row)
    _look_for_stray_quotes(text, layout, columns, rows, bad)
    notes = [*text.notes, *layout.notes]
    if layout.trailing:
        columns = columns.drop_columns([""])
        notes.append(
            f"{path.name}: rows end in {layout.delimiter!r}, and the header does not; read without it"
        )
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
            written=True,
            notes=tuple(notes),
            delimiter=layout.delimiter,
            names_by_looks=layout.comments + 1 if layout.guessed else None,
            index=columns.select(nameless[:1]) if nameless else None,
        )
    )


def _look_for_stray_quotes(
    text: TextFile, layout: _Layout, columns: Any, rows: np.ndarray, bad: dict[int, str]
) -> None:
    """Raise or warn where a quotation mark took rows into a cell; ``bad``: rows that do not fit."""
    last = max([*rows[-1:].tolist(), *bad], default=0)
    if last in bad:
        ends_open = '"' in bad[last]
    else:
        ends_open = any("\n" in (column[-1].as_py() or "") for column in columns.columns if len(column))
    if ends_open:  # perhaps: the last cell may also hold a line break that is meant
        refuse_open_quote(text.path.name, text.content, layout.delimiter)
    warn_of_swallowed(text.path.name, columns, rows, layout.delimiter)
    warn_of_dropped(text.path.name, bad)


def _parsed(text: TextFile, layout: _Layout, beyond: tuple[str, ...] = ()) -> tuple[Any, dict[int, str]]:
    """Columns of text, and the rows that have too few or too many values, by number.

    ``beyond``: names of columns after those that the layout names.
    """
    from pyarrow import csv

    names = [*layout.names, *beyond]
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
            refuse_open_quote(text.path.name, text.content, layout.delimiter)
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


def _is_number(cell: str) -> bool:
    return _are_numbers([cell]) if cell else False


def _are_numbers(cells: list[str]) -> bool:
    """Whether cells are numbers or empty throughout, and at least one of them is a number."""
    written = [cell for cell in cells if cell]
    return bool(written) and not np.isnan(numbers(pa.array(written, pa.large_string()))[0]).any()
