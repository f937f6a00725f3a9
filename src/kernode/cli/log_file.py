"""``--log-file``: what a command does, as lines of JSON, for whoever looks at it later or from afar."""

from __future__ import annotations

import errno
import json
import logging
import math
import os
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernode.cli.console import warned
from kernode.cli.ranks import rank
from kernode.errors import FileError, InputError, Interrupted
from kernode.progress import log
from kernode.version import versions

_SECRET = ("token",)  # options whose values are nobody's business


class LogFile(logging.Handler):
    """A file that lines are added to, each at once and whole; without one, nobody writes anything.

    What the log "kernode" hears is a line. A file that takes no more ends the log, not the command.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._path, self._file, self._started = Path(), -1, 0.0
        self._level_before = logging.NOTSET

    @property
    def is_open(self) -> bool:
        """Whether lines are kept."""
        return self._file >= 0

    def open(self, path: Path, command: str, arguments: Mapping[str, Any]) -> None:
        """Begin with a line about the command and what it was given, or say what is wrong with the file."""
        if rank():  # the first of several processes writes for all
            return
        _check(path, arguments)
        self._path, self._file = path, _opened(path)
        self._started, self._level_before = time.monotonic(), log.level
        log.setLevel(logging.DEBUG)
        log.addHandler(self)
        shown = {name: "…" if name in _SECRET else value for name, value in arguments.items()}
        facts = {"command": command, "arguments": shown, "versions": versions(), "process": os.getpid()}
        self.write("info", "start", f"{command} begins", **facts)

    def end(self, status: int, sentence: str = "", error: BaseException | None = None) -> None:
        """A last line: the exit status, how long it took, and what was wrong."""
        if not self.is_open:
            return
        facts: dict[str, Any] = {
            "status": status,
            "seconds": round(time.monotonic() - self._started, 3),
        }
        if error is not None:
            facts |= {"error": type(error).__name__, "traceback": "".join(traceback.format_exception(error))}
        level = "info" if status == 0 else "warning" if status == Interrupted.exit_status else "error"
        self.write(level, "end", sentence or ("done" if status == 0 else f"ended with {status}"), **facts)
        self._close()

    def emit(self, record: logging.LogRecord) -> None:
        """A line of what was told to the log."""
        fields = getattr(record, "fields", {})
        when, level = record.created, record.levelname.lower()
        self._write_at(when, level, getattr(record, "event", "message"), record.getMessage(), fields)

    def write(self, level: str, event: str, message: str, **fields: Any) -> None:
        """A line of what commands themselves know."""
        self._write_at(time.time(), level, event, message, fields)

    def _write_at(self, when: float, level: str, event: str, message: str, fields: Mapping[str, Any]) -> None:
        if not self.is_open:
            return
        moment = datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": moment, "level": level, "event": event, "message": message, **_plain(fields)}
        view = memoryview(json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
        try:
            while view:  # mostly one call: several processes may add to one file, and lines stay whole
                view = view[os.write(self._file, view) :]
        except OSError as error:
            self._give_up(error.strerror or str(error))

    def _give_up(self, why: str) -> None:
        self._close()
        sentence = f"{self._path} takes no more ({why}): the log is not kept from here on."
        warned.sentences.append(sentence)
        with suppress(OSError):  # also with --quiet: it was asked for, and is not there
            sys.stderr.write(f"kernode: warning: {sentence}\n")

    def _close(self) -> None:
        log.removeHandler(self)
        log.setLevel(self._level_before)
        file, self._file = self._file, -1
        with suppress(OSError):
            os.close(file)


_FIRST = b'{"time": "'  # of every line


def _check(path: Path, arguments: Mapping[str, Any]) -> None:
    """Refuse what is no log: lines would be added to somebody's data."""
    if path.is_dir():
        raise InputError(f"--log-file {path} is a folder. Give the name of a file.")
    for name, value in arguments.items():
        for one in value if isinstance(value, list) else [value]:
            is_file = isinstance(one, Path) or name in ("data", "graph", "split")
            if is_file and Path(one).resolve() == path.resolve():
                raise InputError(f"--log-file {path} is also given as {name}. Give another file.")
    if not path.is_file():
        return
    with suppress(OSError), path.open("rb") as file:  # where it cannot be read it may still be written
        start = file.read(64).lstrip(b"\n")[: len(_FIRST)]  # of a line that may have been cut
        if not _FIRST.startswith(start):
            raise InputError(f"--log-file {path} is there, and is no log. Give another file.")


def _opened(path: Path) -> int:
    """A file to add lines to; after a line that was cut another begins."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError as error:
        reason = error.strerror or str(error)
        slip = isinstance(error, PermissionError | NotADirectoryError | FileExistsError)
        kind = InputError if slip or error.errno == errno.EROFS else FileError  # a full disk is no slip
        raise kind(f"--log-file {path} cannot be written ({reason}). Give another file.") from None
    with suppress(OSError):
        if path.is_file() and path.stat().st_size and _last_byte(path) != b"\n":
            os.write(file, b"\n")
    return file


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1)


def _plain(value: Any) -> Any:
    """Something as JSON has it, which knows no infinite numbers."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):  # of numpy
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


log_file = LogFile()
