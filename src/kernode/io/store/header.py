"""``store.json``: what a store holds and in which parts, checked before a part is read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from kernode.errors import FileError, InputError
from kernode.storage import complete, damaged, write_whole

FILE = "store.json"
FORMAT = 1
DTYPES = ("float16", "float32", "float64")  # of features
_REMEDY = "Restore it or shard again"
_PART = re.compile(r"part-[0-9]{5,}\.safetensors")  # a name and no path: nothing outside the folder


@dataclass(frozen=True, kw_only=True)
class PartEntry:
    """What is known about a part without opening it: nodes ``start … stop − 1``."""

    file: str
    start: int
    stop: int
    entries: int  # of its rows of the adjacency
    feature_entries: int | None  # of its rows of sparse features; None where they are dense
    sha256: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Header:
    """What is known about a store without opening a part of it."""

    name: str
    nodes: int
    features: int
    sparse_features: bool
    dtype: str  # of the features
    entries: int  # of the adjacency: two for every edge
    weighted: bool
    class_names: tuple[str, ...]
    named: bool  # whether nodes have names
    fingerprint: str  # of the whole graph
    order: str  # of the nodes; "metis" in files of earlier versions
    notes: tuple[str, ...]
    encoding: dict[str, Any] | None  # of a graph from tables: what their columns became
    repairs: tuple[dict[str, Any], ...]  # and their rows that were dropped or changed
    parts: tuple[PartEntry, ...]

    def write(self, folder: Path) -> None:
        """Write ``store.json``, which makes a folder of parts a store."""
        values = {"format": FORMAT} | {field.name: getattr(self, field.name) for field in fields(Header)}
        values["parts"] = [asdict(part) for part in self.parts]
        values = json.loads(json.dumps(values))
        values["checksum"] = _checksum(values)
        write_whole(folder / FILE, json.dumps(values, indent=1).encode() + b"\n")

    @staticmethod
    def read(folder: Path) -> dict[str, Any]:
        """The fields of a header: contiguous parts, in files of the sizes that it states."""
        path = folder / FILE
        values = _parsed(path)
        found = values.pop("format", None)
        if found != FORMAT:
            raise InputError(
                f"{path} has format {found}; this kernode reads format {FORMAT}. Update kernode, or shard "
                "again.",
                "unsupported",
                path=str(path),
            )
        if values.pop("checksum", None) != _checksum({"format": FORMAT, **values}):
            raise damaged(path, "is damaged or was edited: its checksum does not match", _REMEDY)
        if set(values) != {field.name for field in fields(Header)}:
            raise damaged(path, "has other fields than this version writes", _REMEDY)
        with complete(path):
            parts = tuple(PartEntry(**part) for part in values["parts"])
            _check_parts(folder, values, parts)
            tuples = {name: tuple(values[name]) for name in ("class_names", "notes", "repairs")}
        return {**values, **tuples, "parts": parts}


def _parsed(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        folder = path.parent
        if not folder.is_dir():
            raise FileError(
                f"{folder} does not exist. Check the path.", "no-file", path=str(folder)
            ) from error
        raise FileError(
            f"{folder} does not hold a finished store: {FILE} is missing. Write the store again with "
            "kernode data shard.",
            "wrong-file",
            path=str(folder),
        ) from error
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror})", _REMEDY) from error
    except (ValueError, RecursionError) as error:
        raise damaged(path, "is damaged: it is not JSON", _REMEDY) from error
    if not isinstance(values, dict):
        raise damaged(path, "is damaged: it is not a JSON object", _REMEDY)
    return values


def _check_parts(folder: Path, values: Mapping[str, Any], parts: tuple[PartEntry, ...]) -> None:
    at, entries = 0, 0
    for part in parts:
        filled = isinstance(part.feature_entries, int) == values["sparse_features"]
        if part.start != at or part.stop <= at or not _PART.fullmatch(part.file) or not filled:
            raise damaged(folder / FILE, f"describes a part that cannot be right ({part.file!r})", _REMEDY)
        path = folder / part.file
        if not path.is_file():
            raise damaged(path, "is missing from its store", _REMEDY)
        if path.stat().st_size != part.bytes:
            size = path.stat().st_size
            raise damaged(path, f"has {size:,} bytes where its store says {part.bytes:,}", _REMEDY)
        at, entries = part.stop, entries + part.entries
    if (at, entries) != (values["nodes"], values["entries"]) or values["dtype"] not in DTYPES:
        raise damaged(folder / FILE, "has sizes that are not those of its parts", _REMEDY)


def _checksum(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
