"""Press Ctrl-C in real commands, at real moments, as a terminal does: in all processes of the command."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import NamedTuple

LIMIT = 60.0  # seconds after which a command is killed that hears nothing


class Ended(NamedTuple):
    """A command after Ctrl-C."""

    alive: bool  # when it was pressed
    seconds: float  # that it went on
    status: int
    out: str
    err: str
    orphans: int  # processes of its own that went on after it


def press(warm, folder, *words, after=0.0, at=None):
    """Ctrl-C in a command: so many seconds after its log has an event, or after its start."""
    log = folder / "log.jsonl"
    log.unlink(missing_ok=True)
    process = warm.start(folder, *(["--log-file", log.name] if at else []), *words)
    timer = Timer(LIMIT, os.killpg, (process, signal.SIGKILL))
    timer.start()
    while at and not (log.exists() and at in log.read_text()) and _lives(process):
        time.sleep(0.005)
    time.sleep(after)
    alive, pressed = _lives(process), time.monotonic()
    if alive:
        os.killpg(process, signal.SIGINT)
    said = warm.end(process)
    timer.cancel()
    return Ended(alive, time.monotonic() - pressed, *said, _orphans(process))


def _lives(process, session=None):
    """Whether a process is there and has not ended; of a session."""
    with suppress(OSError):
        state, _, _, found, *_ = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return state != "Z" and session in (None, int(found))
    return False


def _orphans(session):
    """How many have not ended three seconds after their leader; then they do."""
    limit = time.monotonic() + 3.0
    while left := [int(one.name) for one in Path("/proc").glob("[0-9]*") if _lives(one.name, session)]:
        if time.monotonic() > limit:
            break
        time.sleep(0.05)
    for one in left:
        os.kill(one, signal.SIGKILL)
    return len(left)
