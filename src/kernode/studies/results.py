"""What was measured, kept by the settings that it was measured with: a cell is never run twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from kernode.errors import FileError
from kernode.progress import note
from kernode.storage import write_whole


def digest_of(settings: Mapping[str, Any]) -> str:
    """What a result is found by; it does not depend on the order of the settings."""
    plain = json.dumps(settings, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(plain.encode()).hexdigest()[:12]


class Keyed(Protocol):
    """Something whose result is kept: all that decides it, their digest, and a name for people."""

    @property
    def settings(self) -> Mapping[str, Any]: ...  # noqa: D102

    @property
    def digest(self) -> str: ...  # noqa: D102

    @property
    def name(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Results:
    """A folder that new results go to, and the folders that stored ones are looked for in."""

    folder: Path
    sources: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path | None) -> Results:
        """The named folder; ./results where none is named."""
        folder = folder or Path("results")
        return cls(folder, (folder,))

    def find(self, cell: Keyed) -> dict[str, Any] | None:
        """The stored result of a cell, or None."""
        path = self._paths.get(cell.digest)
        if path is None:
            return None
        record = read_record(path)
        if digest_of(record.get("settings", {})) != cell.digest:
            raise FileError(f"{path} does not hold the settings that its name promises. Delete it.")
        return record

    def save(self, cell: Keyed, figures: Mapping[str, Any]) -> Path:
        """Store a result, whole or not at all."""
        path = self.folder / cell.settings["kind"] / f"{cell.name}-{cell.digest}.json"
        values = {"settings": dict(cell.settings), **figures}
        write_whole(path, (_printed(values) + "\n").encode())
        self._paths[cell.digest] = path
        note("stored", f"{cell.name} is stored", result=cell.name, file=str(path))
        return path

    def unfinished(self, cell: Keyed) -> Path:
        """Where a long cell keeps its training while it is not done."""
        return self.folder / f".unfinished-{cell.digest}.safetensors"

    @cached_property
    def _paths(self) -> dict[str, Path]:
        """Every stored file by its digest; the first folder wins."""
        found: dict[str, Path] = {}
        for source in reversed(self.sources):
            found |= {path.stem.rpartition("-")[2]: path for path in sorted(source.glob("*/*-*.json"))}
        return found


def read_record(path: Path) -> dict[str, Any]:
    """A stored result."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"{path} is not a stored result ({error}). Delete it.") from None
    if not isinstance(record, dict):
        raise FileError(f"{path} is not a stored result. Delete it.")
    return record


def _printed(values: Mapping[str, Any]) -> str:
    """JSON with one line per name; lists stay on their line, so that a difference can be read."""
    return "{\n" + ",\n".join(f" {json.dumps(k)}: {_value(v)}" for k, v in values.items()) + "\n}"


def _value(value: Any) -> str:
    if isinstance(value, dict) and value:
        inner = ",\n".join(
            f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items()
        )
        return "{\n" + inner + "\n }"
    return json.dumps(value, ensure_ascii=False)
