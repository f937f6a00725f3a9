"""Tables from text files: how each is laid out, every column as text, bad rows named."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernode.data.tables.columns.values import numbers
from kernode.data.tables.decoding import TextFile, open_text
from kernode.data.tables.quotes import refuse_open_quote, warn_of_dropped, warn_of_swallowed
from kernode.data.tables.repairs import Repair
from kernode.data.tables.table import Table, data_note, left_out_note, require_rows
from kernode.errors import InputError

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
        said_delimiter, comments, first, second = _first_lines(text.start)
        delimiter = said_delimiter or max(_DELIMITERS, key=lambda mark: (first.count(mark), mark == usual))
        if not first.count(delimiter) and " " in first.strip() and not said_delimiter:
            delimiter = " "
        cells = [cell.strip() for cell in _cells(first, delimiter)]
        below = [cell.strip() for cell in _cells(second, delimiter)]
        where = f"{text.path.name}, row {comments + 1}"
        if not any(cells):
            raise InputError(f"{where}: there is no header. Name the columns in the first row.")
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
                f"{where}: two columns are called {repeated!r}. Rename one of them, or pass header=False if "
                "the row is data."
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
        return False, f"it has {known[0]!r}, in spite of header=False" if reading.header is False else ""
    if reading.header is True:
        return False, ""
    looks_like_names = not _are_numbers(cells)
    if reading.header is False:
        over_numbers = looks_like_names and any(_is_number(cell) for cell in below)
        return True, "header=False says so" + (", though it looks like names" if over_numbers else "")
    numbered = [name for name in sorted(filter(_NUMBERED.fullmatch, named)) if not _is_nameless(name, cells)]
    if numbered:
        return True, f"a column is to be called {numbered[0]!r}"
    if looks_like_names or named:
        return False, ""  # a name that is asked for and not there is said later
    if not cells[0] and below and below[0]:
        return False, ""  # pandas leaves the name of its index empty
    written = [cell for cell in cells if cell]
    if reading.of_edges and written == ["0", "1"]:
        return True, "it is an edge; pass header=True if 0 and 1 are names"
    if written == [str(at) for at in range(len(written))] and not described:
        raise InputError(
            f"{where}: {', '.join(written)} may be names of columns or data. "
            "Pass header=True or header=False."
        )
    if below and not _are_numbers(below):
        raise InputError(
            f"{where}: numbers over a row that has others may be names of columns or data. "
            "Pass header=True or header=False."
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
        refuse_open_quote(text.path.name, _content_of(text), layout.delimiter)
    warn_of_swallowed(text.path.name, columns, rows, layout.delimiter)
    warn_of_dropped(text.path.name, bad)


def _content_of(text: TextFile) -> bytes:
    """All of a text file, in UTF-8."""
    import pyarrow as pa

    if text.content is not None:
        return text.content
    with pa.input_stream(str(text.path)) as stream:
        return bytes(stream.read())


def _parsed(text: TextFile, layout: _Layout, beyond: tuple[str, ...] = ()) -> tuple[Any, dict[int, str]]:
    """Columns of text, and the rows that have too few or too many values, by number.

    ``beyond``: names of columns after those that the layout names.
    """
    import pyarrow as pa
    from pyarrow import csv

    names = [*layout.names, *beyond]
    bad: dict[int, str] = {}

    def skip(row: Any) -> str:
        bad[row.number or 0] = row.text
        return "skip"

    def read_csv(*, in_parallel: bool) -> Any:
        bad.clear()
        return csv.read_csv(
            text.source,
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
            refuse_open_quote(text.path.name, _content_of(text), layout.delimiter)
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


def _first_lines(start: str) -> tuple[str, int, str, str]:
    """What sep= says in a text's first line; how many lines it and comments (#) are; and the next two."""
    lines = io.StringIO(start, newline=None).read().split("\n")
    says = _SAYS_DELIMITER.fullmatch(lines[0])
    above = bool(says)
    comments = next((at for at, line in enumerate(lines) if at >= above and line[:1] != "#"), len(lines))
    first, second, *_ = [*lines[comments:], "", ""]
    return says[1] if says else "", comments, first, second


def _cells(line: str, delimiter: str) -> list[str]:
    """The values of a line; none of an empty one."""
    import csv

    return next(csv.reader([line], delimiter=delimiter), [])


def _is_number(cell: str) -> bool:
    return _are_numbers([cell]) if cell else False


def _are_numbers(cells: list[str]) -> bool:
    """Whether cells are numbers or empty throughout, and at least one of them is a number."""
    import pyarrow as pa

    written = [cell for cell in cells if cell]
    return bool(written) and not np.isnan(numbers(pa.array(written, pa.large_string()))[0]).any()
