"""Memory of large tensors, kept from step to step while something trains."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

# glibc asks the system for every block above 32 MiB anew and gives it back when it is free, and the system
# fills each page with zeros when it is first touched: sqrt of 40 MB then takes three times as long. Steps of
# wide maps allocate such blocks by the dozen.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # mallopt's names for them
_USUAL = {_MMAP_THRESHOLD: 2**25, _TRIM_THRESHOLD: 2**26}  # what glibc itself goes up to
_KEEPING = {_MMAP_THRESHOLD: 2**30, _TRIM_THRESHOLD: 2**31 - 1}
_SET_BY = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")

_users = 0  # how many are inside
_lock = threading.Lock()


@contextmanager
def kept_memory() -> Iterator[None]:
    """While this lasts, memory that is free again serves the next allocation; afterwards it is given back.

    Nothing happens where the allocator is not glibc's or somebody has set it up.
    """
    libc = _glibc()
    if libc is None or any(os.environ.get(name) for name in _SET_BY):
        yield
        return
    _count(libc, 1)
    try:
        yield
    finally:
        _count(libc, -1)


def _count(libc: Any, more: int) -> None:
    """One more inside, or one less: the first sets it, the last sets it back."""
    global _users
    with _lock:
        _users += more
        if _users == 1 and more == 1:
            _set(libc, _KEEPING)
        elif _users == 0:
            _set(libc, _USUAL)
            libc.malloc_trim(0)


def _set(libc: Any, values: dict[int, int]) -> None:
    for name, value in values.items():
        libc.mallopt(name, value)


@cache
def _glibc() -> Any:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    known = all(hasattr(libc, name) for name in ("gnu_get_libc_version", "mallopt", "malloc_trim"))
    return libc if known else None
