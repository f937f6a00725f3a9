"""Tables from text files: encoding, layout, every column as text, bad rows named."""

from __future__ import annotations

import codecs
import csv
import io
import re
import tempfile
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from kernode.errors import InputError, bad_setting
from kernode.io.tables.table import (
    IDS,
    NUMBERS,
    START,
    Reading,
    Repair,
    Table,
    open_bytes,
    require_rows,
    sql_text,
    start_of,
    unique_names,
)

_DELIMITERS = (",", "\t", ";", "|")  # a header is split by whichever it has most of
_SAYS_DELIMITER = re.compile('"?sep=(.)"?')  # the first line that spreadsheets write for one another
_NUMBERED = re.compile("column [0-9]+")  # of a table without names
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_WINDOWS = "cp1252"  # what spreadsheets write in Western Europe and America


def _layout(con: Any, name: str, start: str, usual: str, reading: Reading) -> Table:
    """A table without its rows, by the start of its file; the usual delimiter is that of its extension.

    DuckDB's sniffer is not used: it takes a first edge for names, and quotes for text where its sample has
    none.
    """
    lines = start.split("\n")
    says = _SAYS_DELIMITER.fullmatch(lines[0].strip())
    before = 1 if says else 0
    while before < len(lines) and lines[before][:1] == "#":
        before += 1
    first, second = ([*lines[before:], "", ""])[:2]
    delimiter = says[1] if says else max(_DELIMITERS, key=lambda mark: (first.count(mark), mark == usual))
    if not first.count(delimiter) and " " in first.strip() and not says:
        delimiter = " "
    cells, below = (_cells(line, delimiter) for line in (first, second))
    row = f"row {before + 1}"
    if not any(cells):
        sentence = f"{name}, {row}: there is no header. Name the columns in the first row."
        raise InputError(sentence, "missing")
    headless, why = _is_headless(f"{name}, {row}", cells, below, reading, described=before > bool(says))
    notes = [f"{row} holds names, for {why}"] if why else []
    if headless:
        notes = [f"{row} is data, for {why}; columns are called column 1, column 2, …"]
    given = ["" if headless or cell.startswith("Unnamed: ") else cell for cell in cells]
    names = [cell or f"column {at + 1}" for at, cell in enumerate(given)]
    unique_names(f"{name}, {row}", names, setting="header")
    nameless = [] if headless else [one for one, cell in zip(names, given, strict=True) if not cell]
    said = reading.header is not None or set(reading.named) & set(cells)
    return Table(
        con, name, f"t{next(NUMBERS)}", dict.fromkeys(names, "VARCHAR"), delimiter=delimiter,
        first_row=before + (1 if headless else 2), hidden=frozenset(nameless) - set(reading.named),
        names_by_looks=None if headless or said or nameless else before + 1,
    ).noted(*notes)  # fmt: skip


def _cells(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line.strip("\r")], delimiter=delimiter), [])]


def _are_numbers(cells: list[str]) -> bool:
    """Whether cells are numbers or empty throughout, and at least one of them is a number."""
    written = [cell for cell in cells if cell]
    return bool(written) and all(_NUMBER.fullmatch(cell) for cell in written)


def _is_headless(
    where: str, cells: list[str], below: list[str], reading: Reading, *, described: bool
) -> tuple[bool, str]:
    """Whether the first row is data, and why; ``described``: comments above it, as SNAP writes them."""
    named, numbers = set(reading.named), _are_numbers(cells)
    if known := [cell for cell in cells if cell in named]:
        return False, f"it has {known[0]!r}, though it was to be data" if reading.header is False else ""
    if reading.header is not None:
        return not reading.header, reading.why
    empty = {f"column {at + 1}" for at, cell in enumerate(cells) if not cell and not numbers}
    if numbered := sorted(one for one in named - empty if _NUMBERED.fullmatch(one)):
        return True, f"a column is to be called {numbered[0]!r}"
    if not numbers or named:
        return False, ""  # a missing column is refused later
    if not cells[0] and below and below[0]:
        return False, ""  # pandas leaves the name of its index empty
    written = [cell for cell in cells if cell]
    if reading.of_edges and written == ["0", "1"]:
        return True, "it is an edge (a header, if 0 and 1 are names)"
    counted = written == [str(at) for at in range(len(written))] and not described
    if counted or (below and not _are_numbers(below)):
        sentence = f"{where}: {', '.join(written[:5])} may be names of columns or data. Is the row a header?"
        raise InputError(sentence, "ambiguous", setting="header")
    return True, "it holds nothing but numbers"


def open_text(con: Any, path: Path, usual: str, reading: Reading) -> Table:
    """Every column as text: what it holds is decided when all of it has been seen."""
    start = start_of(path)
    encoding = next((name for mark, name in _MARKS.items() if start.startswith(mark)), reading.encoding)
    if encoding is None and b"\0" in start:
        what = f"{path.name} has NUL bytes: it is not text, or UTF-16 without a mark"
        raise _doubtful(f"{what}. Save it as CSV in UTF-8, or name the encoding utf-16-le.")
    if encoding is not None and codecs.lookup(encoding).name != "utf-8":
        return _decoded(con, path, encoding, usual, reading)
    with suppress(UnicodeDecodeError):
        table = _parsed(con, path, path, start.decode(), usual, reading)
        if table is not None:
            return table
    if encoding is not None:
        raise _not_in(path, encoding)
    note = _require_western(path)
    return _decoded(con, path, _WINDOWS, usual, reading).noted(note)


def _parsed(con: Any, path: Path, file: Path, start: str, usual: str, reading: Reading) -> Table | None:
    """The table in a file of UTF-8; None where some of its bytes are not."""
    table = _layout(con, path.name, start.removeprefix("\ufeff"), usual, reading)
    view, names, before = table.view, list(table.types), table.first_row - 1
    columns = "{" + ", ".join(f"'c{at}': 'VARCHAR'" for at in range(len(names))) + "}"
    con.execute(
        f"CREATE TABLE {view} AS SELECT * FROM read_csv({sql_text(str(file))}, auto_detect = false, "
        f"delim = {sql_text(str(table.delimiter))}, quote = '\"', escape = '\"', header = false, "
        f"skip = {before}, columns = {columns}, max_line_size = 16777216, store_rejects = true, "
        f"rejects_limit = 0, rejects_table = '{view}_rejects', rejects_scan = '{view}_scan')"
    )
    found = f"SELECT line, error_type, csv_line FROM {view}_rejects ORDER BY line"
    rejects = con.execute(found).fetchall()
    if any(kind == "INVALID ENCODING" for _, kind, _ in rejects):
        return None
    for line, kind, content in rejects:
        if kind in ("UNQUOTED VALUE", "LINE SIZE OVER MAXIMUM"):
            lines = content.strip().count("\n") + 1
            what = f"makes one row of {lines:,} lines" if lines > 1 else "stands within a value"
            sentence = f"{path.name}, row {line}: a quotation mark {what}. Close it, double it or remove it."
            raise InputError(sentence, "damaged-file", path=str(path))
    rows = len(table)
    is_regular = not rejects and _count_lines(file) == rows + before
    if not is_regular:
        other = _other_rows(file, str(table.delimiter), before, len(names))
        dropped = [row for row, is_empty in other.items() if not is_empty]
        repairs = Repair.of(path.name, f"did not have {len(names)} values", "dropped", dropped)
        table = replace(table, rejected=tuple(other), repairs=repairs)
    has_ids = reading.of_edges or any(name.lower() in IDS or name == reading.id for name in names)
    if names[0] in table.hidden and not has_ids:
        numbers = table.one("coalesce(bool_and(TRY_CAST(c0 AS DOUBLE) IS NOT NULL), true)")[0]
        table = table if numbers else replace(table, hidden=table.hidden - {names[0]})  # text there are ids
    require_rows(table, rows)
    if not is_regular:
        long = " OR ".join(f"contains({table.sql(name)}, chr(10))" for name in names)
        count, row = table.one(f"count(*), min({table.row})", f"WHERE {long}")
        if count:
            table = table.noted(
                f"{count:,} row{'s' * (count > 1)} of several lines (row {table.numbers(row)})"
            )
    return table.noted(*(f"left out {name}, which has no name" for name in names if name in table.hidden))


def _count_lines(file: Path) -> int:
    """Number of lines, also empty ones, which DuckDB skips and people count."""
    lines, last = 0, b"\n"
    with open_bytes(file) as opened:
        while block := opened.read(START):
            lines, last = lines + block.count(b"\n"), block
    return lines + (not last.endswith(b"\n"))


def _other_rows(file: Path, delimiter: str, skip: int, width: int) -> dict[int, bool]:
    """Numbers of the rows that DuckDB did not take, and whether they are empty."""
    with open_bytes(file) as opened:
        lines = io.TextIOWrapper(opened, "utf-8-sig", "replace", newline="")
        rows = enumerate(csv.reader(islice(lines, skip, None), delimiter=delimiter), skip + 1)
        return {at: not any(map(str.strip, cells)) for at, cells in rows if len(cells) != width}


def _decoded(con: Any, path: Path, encoding: str, usual: str, reading: Reading) -> Table:
    """The table of a text file in another encoding, by way of a temporary file in UTF-8."""
    with tempfile.TemporaryDirectory(prefix="kernode-") as folder:
        plain = Path(folder) / "table.txt"
        try:
            with open_bytes(path) as file, plain.open("w", encoding="utf-8", newline="") as written:
                reader = codecs.getreader(encoding)(file)
                while block := reader.read(START):
                    written.write(block.removeprefix("\ufeff") if not written.tell() else block)
        except UnicodeError:
            raise _not_in(path, encoding) from None
        with plain.open(encoding="utf-8", newline="") as file:
            table = _parsed(con, path, plain, file.read(START), usual, reading)
        assert table is not None
        return table


def _not_in(path: Path, encoding: str) -> InputError:
    sentence = f"{path.name} is not {encoding}. Name its encoding, such as cp1250, or save it in UTF-8."
    return InputError(sentence, "setting", setting="encoding")


def _doubtful(sentence: str) -> InputError:
    return InputError(sentence, "ambiguous", setting="encoding")


def _require_western(path: Path) -> str:
    """Return a note on a text that is not UTF-8 and may be Windows-1252, as spreadsheets save; else raise."""
    with open_bytes(path) as file:
        raw = b"".join(line for line in file.read(2**24).splitlines(keepends=True) if not line.isascii())
    marked = raw.decode(errors="replace")
    broken = marked.count("\ufffd")
    if sum(not character.isascii() for character in marked) - broken > broken:
        what = f"{path.name}: some bytes are not UTF-8, which the rest of the file is"
        raise _doubtful(f"{what}. Save it again in UTF-8, or name its encoding.")
    strange = lambda text: next((one for one in re.findall(r"\w+", text) if not one.isascii()), "")  # noqa: E731
    western = raw.decode(_WINDOWS, "replace")
    letters = [character for character in western if character.isalpha()]
    # Most letters of Western languages are ASCII.
    if "\ufffd" not in western and 2 * sum(not one.isascii() for one in letters) <= len(letters):
        return f"is not UTF-8, read as Windows-1252 ({strange(western)}); name its encoding if that is wrong"
    what = f"{path.name} is neither UTF-8 nor Windows-1252 ({strange(western)})"
    raise _doubtful(f"{what}. Name its encoding, such as cp1250, or save it in UTF-8.")


def require_encoding(name: Any) -> None:
    """Raise unless Python knows an encoding of texts by this name."""
    try:
        b"id".decode(name)
    except UnicodeDecodeError:
        return  # it knows the encoding, in which two bytes are not text
    except (LookupError, TypeError, ValueError):
        known = "an encoding that Python knows, such as utf-8, cp1252 or shift_jis"
        raise bad_setting("encoding", known, name) from None
