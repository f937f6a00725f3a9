"""Where fused GPU kernels take the place of several torch operations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

from torch import Tensor

from kernode.compute.determinism import is_deterministic

_mode = "on a GPU"


def fused(x: Tensor) -> Any:
    """The module of Triton kernels where x is on a GPU that has them, else None: torch's operations serve."""
    if _mode == "never" or not (x.is_cuda or _mode == "everywhere"):
        return None
    return _kernels()


def fused_sums(x: Tensor) -> Any:
    """The same for kernels whose threads add to one number as they come: None where results must repeat."""
    return None if is_deterministic() else fused(x)


@cache
def _kernels() -> Any:
    try:
        from kernode.compute import triton_code
    except ImportError:  # no Triton for this system
        return None
    return triton_code


@contextmanager
def use_fused(mode: Literal["never", "everywhere"]) -> Iterator[None]:
    """For a while, use no fused kernel (the reference that they are tested against), or use them
    everywhere (Triton's interpreter runs them on a CPU).
    """
    global _mode
    before, _mode = _mode, mode
    try:
        yield
    finally:
        _mode = before
