"""``store.json``: what a store holds and in which parts, checked before anything is read or allocated."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from kernode.errors import FileError, InputError
from kernode.graph.adjacency import MAX_NODES
from kernode.storage import write_whole

FILE = "store.json"
FORMAT = 1
ORDERS = ("given", "metis")
DTYPES = {"float16": "F16", "float32": "F32", "float64": "F64"}  # of features, as safetensors calls them

_MOST = 2**62  # of any count: sums of a few stay within 64 bits
_MOST_BYTES = 2**30  # of store.json, with a name for every class and the notes
_DIGEST = re.compile("[0-9a-f]{64}")
_PART = re.compile(r"part-[0-9]{5,}\.safetensors")


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
    order: str  # given, or metis
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
        """The fields of a header, checked: contiguous parts of sizes that their files have."""
        path = folder / FILE
        values = _parsed(path)
        found = values.pop("format", None)
        if found != FORMAT:
            raise InputError(
                f"{path} has format {found}; this kernode reads format {FORMAT}. Update kernode, or shard "
                "again."
            )
        if values.pop("checksum", None) != _checksum({"format": FORMAT, **values}):
            raise FileError(
                f"{path} is damaged or was edited: its checksum does not match. Restore it or shard again."
            )
        known = {field.name for field in fields(Header)}
        if set(values) != known:
            odd = sorted(set(values) ^ known)[0]
            raise FileError(f"{path}: {odd!r} is missing or not known here. Restore it or shard again.")
        for name, is_right in _KINDS.items():
            if not is_right(values[name]):
                _refuse(path, name, values[name])
        entries = _checked_parts(path, values)
        tuples = {name: tuple(values[name]) for name in ("class_names", "notes", "repairs")}
        return {**values, **tuples, "parts": entries}


def _parsed(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise FileError(f"{path} is too large to be a store's. Restore it or shard again.")
        values = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        folder = path.parent
        if not folder.is_dir():
            raise FileError(f"{folder} does not exist. Check the path.") from error
        raise FileError(
            f"{folder} holds no finished store: {FILE} is missing. Run `kernode data shard` for it (again)."
        ) from error
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror}). Check the file.") from error
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is damaged: it is no JSON. Restore it or shard again.") from error
    if not isinstance(values, dict):
        raise FileError(f"{path} is damaged: it holds no object. Restore it or shard again.")
    return values


_KINDS: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: isinstance(value, str),
    "nodes": lambda value: _is_count(value, MAX_NODES) and value > 0,
    "features": lambda value: _is_count(value) and value > 0,
    "sparse_features": lambda value: isinstance(value, bool),
    "dtype": lambda value: isinstance(value, str) and value in DTYPES,
    "entries": lambda value: _is_count(value),
    "weighted": lambda value: isinstance(value, bool),
    "class_names": lambda value: _is_list(value, str),
    "named": lambda value: isinstance(value, bool),
    "fingerprint": lambda value: isinstance(value, str) and bool(_DIGEST.fullmatch(value)),
    "order": lambda value: value in ORDERS,
    "notes": lambda value: _is_list(value, str),
    "encoding": lambda value: isinstance(value, dict | None),
    "repairs": lambda value: _is_list(value, dict),
    "parts": lambda value: _is_list(value, dict),
}  # whether a value is of its kind and within what a graph can have


def _checked_parts(path: Path, values: Mapping[str, Any]) -> tuple[PartEntry, ...]:
    expected = {field.name for field in fields(PartEntry)}
    at, entries, found = 0, 0, []
    for number, part in enumerate(values["parts"]):
        entry = PartEntry(**part) if set(part) == expected else None
        if entry is None or entry.start != at or not _is_part(entry, values["sparse_features"]):
            _refuse(path, f"part {number}", part)
        _check_file(path.parent, entry)
        at, entries = entry.stop, entries + entry.entries
        found.append(entry)
    if at != values["nodes"] or entries != values["entries"]:
        _refuse(path, "parts", f"{at} nodes and {entries} entries in all")
    if len({entry.file for entry in found}) != len(found):
        _refuse(path, "parts", "one file twice")
    return tuple(found)


def _is_part(part: PartEntry, sparse: bool) -> bool:
    counts = [part.start, part.stop, part.entries, part.bytes, *([part.feature_entries] if sparse else [])]
    return (
        all(map(_is_count, counts))
        and part.start < part.stop
        and (sparse or part.feature_entries is None)
        and isinstance(part.file, str)
        and bool(_PART.fullmatch(part.file))  # a name and no path: nothing outside the folder
        and isinstance(part.sha256, str)
        and bool(_DIGEST.fullmatch(part.sha256))
    )


def _check_file(folder: Path, part: PartEntry) -> None:
    path = folder / part.file
    try:
        size = path.stat().st_size
    except OSError as error:
        raise FileError(f"{path} is missing from its store. Restore it or shard again.") from error
    if not path.is_file() or size != part.bytes:
        raise FileError(
            f"{path} has {size:,} bytes where its store says {part.bytes:,}: it is not the part that was "
            "written. Restore it or shard again."
        )


def _is_count(value: Any, most: int = _MOST) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _checksum(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _refuse(path: Path, what: str, value: Any) -> NoReturn:
    raise FileError(f"{path}: {what} cannot be right, with {value!s:.80}. Restore it or shard again.")
