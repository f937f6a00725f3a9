"""Errors and warnings: one sentence that says what is wrong, where, and how to fix it.

An error also carries a ``code`` and ``fields`` for programs and tests, so that they need not read the
sentence. The sentence names no option of the command line: where ``fields`` hold the ``setting`` that is
wrong, a command adds its own option.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class KernodeError(Exception):
    """A failure in one sentence (exit status 1).

    - ``code``: the kind of error, such as "setting", "unknown-node" or "too-large".
    - ``fields``: what it is about, by name, such as ``setting="hops", value=0``.

    >>> error = InputError("hops must be an integer ≥ 1. Got 0.", "setting", setting="hops", value=0)
    >>> error.code, error.fields, str(error)
    ('setting', {'setting': 'hops', 'value': 0}, 'hops must be an integer ≥ 1. Got 0.')
    """

    exit_status = 1
    code = "failed"

    def __init__(self, sentence: str = "", code: str | None = None, **fields: Any) -> None:
        super().__init__(sentence)
        self.code, self.fields = code or type(self).code, fields


class InputError(KernodeError, ValueError):
    """The call, the file or the option is wrong, and the message says how to correct it (exit status 2)."""

    exit_status = 2
    code = "input"


def bad_setting(setting: str, must_be: str, value: Any) -> InputError:
    """Return the error for a setting with a wrong value.

    >>> str(bad_setting("hops", "an integer ≥ 1", 0))
    'hops must be an integer ≥ 1. Got 0.'
    """
    return InputError(f"{setting} must be {must_be}. Got {value!r}.", "setting", setting=setting, value=value)


class FileError(KernodeError, OSError):
    """A file is missing, damaged or not what it claims to be (exit status 1)."""

    code = "file"


class MissingExtraError(KernodeError, ImportError):
    """An optional dependency is not installed, and the sentence names the extra (exit status 1)."""

    code = "extra"


class Interrupted(KernodeError):  # noqa: N818 (not an error)
    """Ctrl-C ended a command; the sentence says what is kept (exit status 130)."""

    exit_status = 130
    code = "interrupted"

    def __init__(self, sentence: str = "") -> None:
        super().__init__(f"interrupted. {sentence}".strip())


@contextmanager
def kept(sentence: Callable[[], str]) -> Iterator[None]:
    """Turn Ctrl-C into :class:`Interrupted`, with a message about what is kept; the innermost one counts."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(sentence()) from None


class KernodeWarning(UserWarning):
    """The call is valid, but its result is less reliable than it seems; the message says why."""


def warn(sentence: str, category: type[Warning] = KernodeWarning) -> None:
    """Warn at the line of the user's code that called kernode."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "kernode":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=level)
