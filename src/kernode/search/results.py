"""Stored results: one JSON file each, found by a digest of the settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kernode.progress import log_event
from kernode.storage import damaged, write_whole


def digest_of(settings: Mapping[str, Any]) -> str:
    """Return the digest of settings; their order does not matter."""
    plain = json.dumps(settings, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(plain.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Results:
    """A folder of results.

    A cell has ``settings`` that decide its result, their ``digest``, and a ``name``.
    """

    folder: Path = Path("results")

    def find(self, cell: Any) -> dict[str, Any] | None:
        """Return the stored result of a cell, or None."""
        path = self._paths.get(cell.digest)
        if path is None:
            return None
        record = read_record(path)
        if digest_of(record.get("settings", {})) != cell.digest:
            raise damaged(path, "has other settings than its name", "Delete it")
        return record

    def save(self, cell: Any, figures: Mapping[str, Any]) -> Path:
        """Store a result."""
        path = self.folder / cell.settings["kind"] / f"{cell.name}-{cell.digest}.json"
        values = {"settings": dict(cell.settings), **figures}
        write_whole(path, (_lines(values) + "\n").encode())
        self._paths[cell.digest] = path
        log_event("stored", f"{cell.name} is stored", result=cell.name, file=str(path))
        return path

    def checkpoint_path(self, cell: Any) -> Path:
        """Return the checkpoint file of a long cell."""
        return self.folder / f".unfinished-{cell.digest}.safetensors"

    @cached_property
    def _paths(self) -> dict[str, Path]:
        """Stored files by digest."""
        return {path.stem.rpartition("-")[2]: path for path in sorted(self.folder.glob("*/*-*.json"))}


def read_record(path: Path) -> dict[str, Any]:
    """Read a stored result."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, f"is not a stored result ({error})", "Delete it") from None
    if not isinstance(record, dict):
        raise damaged(path, "is not a stored result", "Delete it")
    return record


def _lines(values: Mapping[str, Any]) -> str:
    """JSON with one line per name, also in the settings, so that diffs are readable."""
    lines = []
    for name, value in values.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict) and value:
            inner = (f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items())
            text = "{\n" + ",\n".join(inner) + "\n }"
        lines.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"
