"""``kernode --log-file``: a log of a command as JSON lines."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from traceback import format_exception
from typing import Any

from kernode.cli.console import warned
from kernode.cli.ranks import rank
from kernode.errors import InputError, Interrupted
from kernode.progress import log, log_event
from kernode.version import versions


class LogFile(logging.FileHandler):
    """Append every message of the logger "kernode" to a file; a full disk ends the log, not the command."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            super().__init__(path, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            sentence = f"{path} cannot be written ({error.strerror}). Give another file."
            raise InputError(sentence, "not-writable", path=path, setting="log_file") from None
        self.started = time.monotonic()
        log.setLevel(logging.DEBUG)
        log.addHandler(self)

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, event, message and fields."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "message"),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        text = json.dumps(line, default=lambda one: one.tolist() if hasattr(one, "tolist") else str(one))
        # Twice: JSON has no infinite numbers.
        return json.dumps(json.loads(text, parse_constant=lambda _: None), ensure_ascii=False)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
        """End the log with a warning, also if warnings are not shown."""
        log.removeHandler(self)
        warned.add(f"{self.baseFilename} cannot be written: the log ends here.")


def start_log(path: Path, command: str, arguments: Mapping[str, Any]) -> None:
    """Open a log, with a line about the command and its arguments; rank 0 writes."""
    if rank():
        return
    LogFile(path)
    shown = {name: "…" if name == "token" else value for name, value in arguments.items()}
    about: dict[str, Any] = {
        "command": command,
        "arguments": shown,
        "versions": versions(),
        "process": os.getpid(),
    }
    log_event("start", f"{command} begins", **about)


def end_log(status: int, sentence: str = "", error: BaseException | None = None) -> None:
    """Write the last line, if there is a log: exit status, duration and error."""
    for handler in [one for one in log.handlers if isinstance(one, LogFile)]:
        fields: dict[str, Any] = {"status": status, "seconds": round(time.monotonic() - handler.started, 3)}
        if error is not None:
            fields |= {"error": type(error).__name__, "traceback": "".join(format_exception(error))}
        levels = {0: logging.INFO, Interrupted.exit_status: logging.WARNING}
        message = sentence or ("done" if status == 0 else f"ended with {status}")
        log_event("end", message, levels.get(status, logging.ERROR), **fields)
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)
        handler.close()
