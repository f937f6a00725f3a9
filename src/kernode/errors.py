"""Every error a user can cause: one sentence that says what, where and how to fix it."""


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
