"""What a user hears in one sentence that says what, where and how to fix it: errors, and warnings."""

from __future__ import annotations

import sys
import warnings


class KernodeError(Exception):
    """Something failed that the user should hear about in one sentence (exit status 1)."""

    exit_status = 1


class InputError(KernodeError, ValueError):
    """The call, the file or the option is wrong, and the sentence says how to right it (exit status 2)."""

    exit_status = 2


class FileError(KernodeError, OSError):
    """A file is missing, damaged or not what it claims to be (exit status 1)."""


class MissingExtraError(KernodeError, ImportError):
    """An optional dependency is not installed, and the sentence names the extra (exit status 1)."""


class KernodeWarning(UserWarning):
    """Nothing is wrong with the call, but an answer is not worth what it seems; the sentence says why."""


def warn(sentence: str, category: type[Warning] = KernodeWarning) -> None:
    """Warn whoever called kernode, at the line of theirs that did."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "kernode":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=level)
