"""What is finished of a store that is being written, so that the same command goes on after a halt."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernode.data.store.header import FILE, PartEntry
from kernode.data.store.part_file import sha256_of
from kernode.errors import FileError, InputError
from kernode.storage import write_whole

JOURNAL = "unfinished.json"
WORK = "unfinished"  # a folder for what is needed only while the store is written
_LOCK = "unfinished.lock"


def require_free(folder: Path) -> None:
    """Raise unless a store can be written to a folder: it is empty, or has an unfinished store in it."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file. A store is a folder: choose another name.")
    if (folder / FILE).exists():
        if (folder / JOURNAL).exists():
            Journal(folder, {}).end()  # a halt came just before that
        raise InputError(f"{folder} is a finished store. Choose another folder, or delete this one.")
    if not folder.exists() or (folder / JOURNAL).exists():
        return
    if any(path.name != _LOCK for path in folder.iterdir()):
        raise InputError(f"{folder} is not empty. Choose a new or an empty folder for the store.")


@dataclass
class Journal:
    """The finished parts of one store, made of one source with one set of settings."""

    folder: Path
    source: dict[str, Any]
    parts: dict[int, PartEntry] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def begin(cls, folder: Path, source: dict[str, Any]) -> Iterator[Journal]:
        """Begin a store in a folder that is empty, or go on with one of the same source.

        While this lasts, no other process can write there. A call that is wrong leaves nothing behind.
        """
        source = json.loads(json.dumps(source))
        require_free(folder)
        with _locked(folder):
            if (folder / JOURNAL).exists():
                journal = cls._read(folder)
                journal._require_source(source)
                journal._keep_whole_parts()
            else:
                journal = cls(folder, source)
                journal._write()
            try:
                yield journal
            except InputError:
                if not journal.parts:
                    journal.end()
                    with suppress(OSError):  # what else is in it stays
                        folder.rmdir()
                raise

    @classmethod
    def _read(cls, folder: Path) -> Journal:
        path = folder / JOURNAL
        try:
            values = json.loads(path.read_bytes())
            parts = {int(number): PartEntry(**part) for number, part in values["parts"].items()}
            return cls(folder, dict(values["source"]), parts)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise FileError(f"{path} is damaged. Delete {folder} and begin again.") from error

    def _require_source(self, source: dict[str, Any]) -> None:
        if self.source != source:
            odd = next(key for key in {**source, **self.source} if source.get(key) != self.source.get(key))
            raise InputError(
                f"{self.folder} belongs to an unfinished store of something else ({odd} differs). "
                "Choose another folder, or delete this one."
            )

    def _keep_whole_parts(self) -> None:
        """Forget parts whose file is not the one that was written, and sweep up what a halt left behind."""
        self.parts = {number: part for number, part in self.parts.items() if self._is_whole(number, part)}
        for beside in self.folder.glob(".part-*.safetensors.*"):
            beside.unlink()

    def _is_whole(self, number: int, part: PartEntry) -> bool:
        path = self.folder / f"part-{number:05}.safetensors"
        return path.is_file() and path.stat().st_size == part.bytes and sha256_of(path) == part.sha256

    def part(self, number: int) -> PartEntry | None:
        """A part that is finished, or None."""
        return self.parts.get(number)

    def add(self, number: int, part: PartEntry) -> None:
        """Note that a part is finished."""
        self.parts[number] = part
        self._write()

    @property
    def work(self) -> Path:
        """A folder that goes when the store is finished."""
        return self.folder / WORK

    def end(self) -> None:
        """The store is finished: remove what only its writing needed."""
        shutil.rmtree(self.work, ignore_errors=True)
        for name in (JOURNAL, _LOCK):
            (self.folder / name).unlink(missing_ok=True)

    def _write(self) -> None:
        parts = {str(number): asdict(part) for number, part in sorted(self.parts.items())}
        write_whole(self.folder / JOURNAL, json.dumps({"source": self.source, "parts": parts}).encode())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes from writing the same store; a process that ends lets go by itself."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / _LOCK).open("wb")
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(f"{folder} cannot be written ({reason}). Choose another place.") from error
    with file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"{folder} is being written by another process. Wait for it, or end it."
            ) from error
        except (ImportError, OSError):  # Windows, or a file system without locks
            pass
        yield
