"""Files that are written whole or not at all, whatever happens meanwhile: a full disk, a kill, Ctrl-C."""

from __future__ import annotations

import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kernode.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_log = logging.getLogger("kernode")
_RANDOM = 8  # bytes in the name that a file has while it is written
_FORSAKEN = 60.0  # seconds after which an empty file is nobody's
_others_write = False
_noted: dict[Path, Path] | None = None  # the name that a file has while it is written, and its own


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it over, so that nobody ever reads half of it."""
    with writing_whole(path) as file:
        file.write(content)


def let_another_write() -> None:
    """From now on nothing is written: another process does the same, and writes for both."""
    global _others_write
    _others_write = True


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes its place when all went well and vanishes otherwise."""
    if _others_write:
        with Path(os.devnull).open("wb") as nowhere:
            yield nowhere
        return
    # Not tempfile: its files are private to the user, and a cache may be shared.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(_RANDOM)}")
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a rename would replace /dev/null
            raise OSError("it is no ordinary file")
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        with beside.open("xb") as file:
            _claim(file)
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a crash after the rename could leave an empty file
            if fcntl is not None:  # while it is claimed; Windows renames no open file
                _take_place(beside, path)
        if fcntl is None:
            _take_place(beside, path)
        _sync_folder(path.parent)
        _log.debug(f"{path} is written", extra={"event": "written", "fields": {"file": str(path)}})
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(f"{path} cannot be written ({reason}). Choose another place or free it.") from error
    finally:
        with suppress(OSError):  # mostly because it was renamed, or never made
            beside.stat()
            if _noted is not None:
                _noted.pop(beside, None)
            beside.unlink()


@contextmanager
def noting_files() -> Iterator[Callable[[], list[Path]]]:
    """Give what lists every file that has been written whole while this lasts, in this order.

    It looks when it is asked: Ctrl-C may come between a rename and whatever notes that it was done.
    """
    global _noted
    noted: dict[Path, Path] = {}
    before, _noted = _noted, noted
    try:
        yield lambda: [*dict.fromkeys(path for beside, path in [*noted.items()] if not beside.exists())]
    finally:
        _noted = before


def _take_place(beside: Path, path: Path) -> None:
    """Rename a file over another, which Windows refuses while somebody reads that: for a moment, mostly."""
    if _noted is not None:
        _noted[beside] = path
    for seconds in (0.01, 0.05, 0.2, 0.5) if os.name == "nt" else ():
        try:
            beside.replace(path)
        except PermissionError:
            time.sleep(seconds)
        else:
            return
    beside.replace(path)


def _claim(file: BinaryIO) -> None:
    """Say that a writer is at work, for as long as the file is open or the process lives."""
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks: then nothing is swept up, either
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(path: Path) -> None:
    """Remove what writers of this file left beside it when they were killed; who is at work has a claim.

    A writer makes its file, claims it and fills it: one that is empty may wait for its claim still.
    """
    if fcntl is None:
        return
    with suppress(OSError):  # a folder that may be written to, and not looked into
        for one in path.parent.iterdir():
            if re.fullmatch(rf"\.{re.escape(path.name)}\.[0-9a-f]{{{2 * _RANDOM}}}", one.name):
                _remove_unless_claimed(one)


def _remove_unless_claimed(path: Path) -> None:
    with suppress(OSError), path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        about = os.fstat(file.fileno())
        if about.st_size or time.time() - about.st_mtime > _FORSAKEN:
            path.unlink()


def _sync_folder(folder: Path) -> None:
    """Bring a rename to the disk: else a power failure could undo it. Windows opens no folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
