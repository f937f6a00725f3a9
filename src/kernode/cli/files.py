"""Files that commands write: checks before anything is computed, and tables as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from kernode.errors import FileError, InputError
from kernode.storage import first_line, write_whole

Table = dict[str, list[Any]]  # column by column


def check_out(path: Path | None, extensions: Iterable[str], read: Iterable[str | Path | None] = ()) -> None:
    """Refuse an output file of another kind, that cannot be written, or that is also read."""
    if path is not None and path.suffix.lower() not in extensions:
        sentence = f"{path}: the extension must be one of {', '.join(extensions)}."
        raise InputError(sentence, "setting", setting="out")
    check_writable(path)
    check_apart((path,), read)


def check_writable(*paths: Path | None) -> None:
    """Refuse a file that could not be written when all is computed."""
    for path in paths:
        if path is None:
            continue
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "not an ordinary file"
            raise InputError(f"{path} is {kind}. Give the name of a file.", "wrong-file", path=path)
        check_folder(path.parent)


def check_folder(path: Path) -> None:
    """Refuse a folder that files could not be written to."""
    existing = next(one for one in (path, *path.absolute().parents) if one.exists())
    if not existing.is_dir():
        raise InputError(f"{existing} is not a folder. Give another place.", "wrong-file", path=existing)
    if not os.access(existing, os.W_OK):
        raise InputError(f"{existing} is not writable. Give another place.", "wrong-file", path=existing)


def check_apart(written: Iterable[Path | None], read: Iterable[str | Path | None]) -> None:
    """Refuse to write over an input, into a store that is read, or two results into one file."""
    there = [Path(one).resolve() for one in read if one is not None and Path(one).exists()]
    used = {one for one in there if not one.is_dir() or (one / "store.json").is_file()}
    for path in written:
        if path is None:
            continue
        if used & {path.resolve(), *path.resolve().parents}:
            sentence = f"{path} is in use by this command and would be overwritten. Give another file."
            raise InputError(sentence, "conflict", path=path)
        used.add(path.resolve())


def replaced_file(replaced: bool) -> str:
    """Whether a file took the place of another, which may have been of other data or methods."""
    return ", which replaced a file of that name" if replaced else ""


def write_table(path: Path, table: Table) -> None:
    """Write a table as its file's extension says."""
    write_whole(path, WRITERS[path.suffix.lower()](table))


def rows_of(table: Table) -> list[dict[str, Any]]:
    """A table row by row."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def as_csv(table: Table) -> bytes:
    """CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()


def _as_json(table: Table) -> bytes:
    return (json.dumps(rows_of(table), ensure_ascii=False, indent=1) + "\n").encode()


def _as_parquet(table: Table) -> bytes:
    import numpy as np

    # Where no class is known, or none is certain, the column still has the classes' type.
    classes = next((name for name in ("most_probable", "class") if name in table), None)
    like = dict.fromkeys({"class", "known"} & table.keys(), classes)
    file = io.BytesIO()
    columns = {name: np.fromiter(values, object, len(values)) for name, values in table.items()}
    copy_columns(columns, ".parquet", file, like)
    return file.getvalue()


def copy_columns(
    columns: Mapping[str, Any], suffix: str, file: BinaryIO, like: Mapping[str, str | None] | None = None
) -> None:
    """Write arrays of equal length as Parquet or CSV; ``like``: columns that have another one's type."""
    import duckdb

    places = {name: f"c{at}" for at, name in enumerate(columns)}
    with TemporaryDirectory(prefix="kernode-") as folder, duckdb.connect() as con:
        con.register("columns", {places[name]: values for name, values in columns.items()})
        types = {row[0]: row[1] for row in con.execute("DESCRIBE columns").fetchall()}
        named = []
        for name, place in places.items():
            kind = types[places[(like or {}).get(name) or name]]
            kind = "VARCHAR" if kind == '"NULL"' else kind
            named.append(f'{place}::{kind} AS "{name.replace(chr(34), chr(34) * 2)}"')
        out = Path(folder, f"table{suffix}")
        copy = f"COPY (SELECT {', '.join(named)} FROM columns) TO $1 (FORMAT {suffix[1:]})"
        try:
            con.execute(copy, [str(out)])
        except duckdb.IOException as error:
            number = re.search(r"errno\W+([0-9]+)", str(error))
            reason = os.strerror(int(number[1])) if number else first_line(error)
            sentence = f"the table cannot be written ({reason}). Choose another place or free it."
            raise FileError(sentence, "file") from error
        with out.open("rb") as written:
            shutil.copyfileobj(written, file)


WRITERS = {".csv": as_csv, ".parquet": _as_parquet, ".json": _as_json}
