"""Ctrl-C: answered within a second whatever the process is doing, with what is kept.

Python raises KeyboardInterrupt in the main thread, and only between two of its own instructions: not while a
long product, sort or layout is computed, and not where a library swallows it. A thread that hears of the
signal itself then ends the process.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kernode.errors import KernodeError

STATUS = 130
_PATIENCE = 0.5  # seconds that the main thread has for an end in order


class Interrupted(KernodeError):  # noqa: N818 (it is no error)
    """Ctrl-C, with what there is to say about what was done until then."""

    exit_status = STATUS

    def __init__(self, sentence: str = "") -> None:
        super().__init__(f"interrupted. {sentence}".strip())


_kept: list[Callable[[], str]] = []  # the last says what is kept; what began before it goes on around it
_finishing: list[str] = []  # what is brought to its end first, though somebody has pressed Ctrl-C
_leaving: list[Callable[[str], None]] = []  # what is done before the process ends at once
_pressed = _said = False


@contextmanager
def kept(sentence: Callable[[], str]) -> Iterator[None]:
    """While this lasts, the sentence is what whoever presses Ctrl-C hears about what is kept."""
    _kept.append(sentence)
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(sentence()) from None
    finally:
        _kept.pop()


@contextmanager
def finishing(what: str) -> Iterator[None]:
    """While this lasts Ctrl-C waits for it; whoever presses hears so, and a second time ends it."""
    _finishing.append(what)
    try:
        yield
    finally:
        _finishing.pop()


@contextmanager
def not_for_children() -> Iterator[None]:
    """While this lasts, processes that are started do not hear Ctrl-C: who started them ends them.

    A terminal sends it to all of them, and a Python that is still importing can only print where it was.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def before_leaving(act: Callable[[str], None]) -> Callable[[str], None]:
    """Have something done, with the sentence that is said, where the process must end without unwinding."""
    _leaving.append(act)
    return act


def pressed() -> bool:
    """Whether somebody has, in a process that watches for it: what fails then fails because of it."""
    return _pressed


def said() -> None:
    """The user has heard it: what still takes long is the end of the process, and not worth waiting for."""
    global _said
    _said = True


@contextmanager
def answered_promptly() -> Iterator[None]:
    """While this lasts, Ctrl-C ends this process within a second; for the main thread of a command.

    After it Ctrl-C ends the process at once: its work is done.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # it is ignored, or somebody else's
        return
    here, there = socket.socketpair()
    there.setblocking(False)
    atexit.register(_end)  # the first that is registered is the last that runs
    unraisable, sys.unraisablehook = sys.unraisablehook, _not_swallowed
    before = signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(here,), name="ctrl-c", daemon=True).start()
    try:
        yield
    finally:
        if not _pressed:  # else the end of the process is watched, too
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # what is left is Python's end, which prints it
            signal.set_wakeup_fd(before)
            there.close()
            sys.unraisablehook = unraisable


def _end() -> None:
    """After Ctrl-C all that is left is to give memory back, which the system does faster.

    Python itself would also end by the signal where KeyboardInterrupt went through code of an extension.
    """
    if _said:
        os._exit(STATUS)


def _not_swallowed(unraisable: Any) -> None:
    """KeyboardInterrupt in a callback or a destructor, where Python can only print it: raise it anew."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _thread.interrupt_main()
    else:
        sys.__unraisablehook__(unraisable)


def _watch(heard: socket.socket) -> None:
    global _pressed
    with heard:
        while numbers := heard.recv(64):
            if signal.SIGINT not in numbers or _is_for_others():
                continue
            again, _pressed = _pressed, True
            time.sleep(_PATIENCE)
            if _finishing and not again:
                _tell(f"{_finishing[-1]} Ctrl-C again ends it at once.")
                continue
            _leave()


def _is_for_others() -> bool:
    """Whether somebody else answers it: a server, which ends in order."""
    return not _finishing and signal.getsignal(signal.SIGINT) is not signal.default_int_handler


def _leave() -> None:
    """End the process from beside it: the main thread is busy, or does not let go."""
    if not _said:
        sentence = ""
        with suppress(Exception):  # what is kept is on disk; to say so must not fail
            sentence = _kept[-1]() if _kept else ""
        sentence = str(Interrupted(sentence))
        for act in _leaving:
            with suppress(Exception):
                act(sentence)
        _tell(sentence)
    os._exit(STATUS)


def _tell(sentence: str) -> None:
    shown = (
        "\x1b[?25h\r\x1b[K" if sys.__stderr__ is not None and sys.__stderr__.isatty() else ""
    )  # the cursor
    with suppress(OSError):
        os.write(2, f"{shown}kernode: {' '.join(sentence.split())}\n".encode("utf-8", "backslashreplace"))
