"""What tasks tell the log "kernode" in workers: nobody reads it there, so it comes back with the result."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kernode.progress import log

Line = dict[str, Any]  # of a log record, what can be sent


class _Keeping(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)  # not the epochs: they are many, and come when all is done
        self.lines: list[Line] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(
            {
                "created": record.created,
                "levelno": record.levelno,
                "levelname": record.levelname,
                "msg": record.getMessage(),
                "event": getattr(record, "event", "message"),
                "fields": {**getattr(record, "fields", {}), "worker": os.getpid()},
            }
        )


@contextmanager
def kept_lines() -> Iterator[list[Line]]:
    """While this lasts, what the log is told in this process is kept in the list."""
    keeping, before = _Keeping(), log.level
    log.addHandler(keeping)
    log.setLevel(min(logging.INFO, log.getEffectiveLevel()))
    try:
        yield keeping.lines
    finally:
        log.removeHandler(keeping)
        log.setLevel(before)


def repeat(lines: Iterable[Line]) -> None:
    """Tell the log of this process the same, as if it had been said here."""
    for line in lines:
        if log.isEnabledFor(line["levelno"]):
            log.handle(logging.makeLogRecord({"name": log.name, **line}))
