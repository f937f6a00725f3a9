"""Files that commands write: checks before anything is computed, and tables as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from kernode.errors import FileError, InputError
from kernode.storage import first_line, write_whole

Table = dict[str, list[Any]]  # column by column


def check_out(
    *paths: Path | None, read: Iterable[str | Path | None] = (), extensions: Collection[str] = ()
) -> None:
    """Refuse output files that cannot be written, are of another kind, are also read, or are two results."""
    there = [Path(one).resolve() for one in read if one is not None and Path(one).exists()]
    used = {one for one in there if not one.is_dir() or (one / "store.json").is_file()}
    for path in paths:
        if path is None:
            continue
        if extensions and path.suffix.lower() not in extensions:
            sentence = f"{path}: the extension must be one of {', '.join(extensions)}."
            raise InputError(sentence, "setting", setting="out")
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "not an ordinary file"
            raise InputError(f"{path} is {kind}. Give the name of a file.", "wrong-file", path=path)
        check_folder(path.parent)
        if used & {path.resolve(), *path.resolve().parents}:
            sentence = f"{path} is in use by this command and would be overwritten. Give another file."
            raise InputError(sentence, "conflict", path=path)
        used.add(path.resolve())


def check_folder(path: Path) -> None:
    """Refuse a folder that files could not be written to."""
    existing = next(one for one in (path, *path.absolute().parents) if one.exists())
    if not existing.is_dir():
        raise InputError(f"{existing} is not a folder. Give another place.", "wrong-file", path=existing)
    if not os.access(existing, os.W_OK):
        raise InputError(f"{existing} is not writable. Give another place.", "wrong-file", path=existing)


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
    as_text = ([_text(value) for value in column] for column in table.values())
    writer.writerows(zip(*as_text, strict=True))
    return text.getvalue().encode()


def _text(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def _as_json(table: Table) -> bytes:
    return (json.dumps(rows_of(table), ensure_ascii=False, indent=1) + "\n").encode()


def _as_parquet(table: Table) -> bytes:
    import numpy as np

    file = io.BytesIO()
    copy_columns({name: np.fromiter(one, object, len(one)) for name, one in table.items()}, ".parquet", file)
    return file.getvalue()


def copy_columns(columns: Mapping[str, Any], suffix: str, file: BinaryIO) -> None:
    """Write arrays of equal length as Parquet or CSV; a column without any value is text."""
    import duckdb

    with TemporaryDirectory(prefix="kernode-") as folder, duckdb.connect() as con:
        con.register("columns", {f"c{at}": values for at, values in enumerate(columns.values())})
        named = []
        for name, (place, kind, *_) in zip(columns, con.execute("DESCRIBE columns").fetchall(), strict=True):
            as_text = "::VARCHAR" if "NULL" in kind else ""
            named.append(f'{place}{as_text} AS "{name.replace(chr(34), chr(34) * 2)}"')
        out = Path(folder, f"table{suffix}")
        try:
            con.execute(
                f"COPY (SELECT {', '.join(named)} FROM columns) TO $1 (FORMAT {suffix[1:]})", [str(out)]
            )
        except duckdb.IOException as error:
            sentence = f"the table cannot be written ({first_line(error)}). Choose another place or free it."
            raise FileError(sentence, "file") from error
        with out.open("rb") as written:
            shutil.copyfileobj(written, file)


WRITERS = {".csv": as_csv, ".parquet": _as_parquet, ".json": _as_json}
