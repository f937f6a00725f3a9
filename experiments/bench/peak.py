"""Current and peak memory of this process or of a GPU."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from pathlib import Path

import torch

from kernode.compute.machine import free_bytes

_SHARE = 0.8  # of the free memory: the rest is for the parent process


class MainMemory:
    """Main memory of this process; where the system cannot reset the peak, it is that of its lifetime."""

    def current(self) -> int:
        """Bytes held now."""
        return _status("VmRSS") or self.peak()

    def peak(self) -> int:
        """Peak since the last reset, in bytes."""
        # Not ru_maxrss first: Linux hands that count on from the process that started this one.
        return _status("VmHWM") or _largest_resident()

    def reset(self) -> None:
        """Free what is no longer used, and measure the peak from here on."""
        gc.collect()
        with suppress(OSError, AttributeError):  # what was freed but not given back would count as held
            ctypes.CDLL(None).malloc_trim(0)
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


class GpuMemory:
    """What torch has allocated on the GPU."""

    def current(self) -> int:
        """Bytes held now."""
        return torch.cuda.memory_allocated()

    def peak(self) -> int:
        """Peak since the last reset, in bytes."""
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated()

    def reset(self) -> None:
        """Free what is no longer used, and measure the peak from here on."""
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


Meter = MainMemory | GpuMemory


def refuse_more_than_free() -> None:
    """Make an allocation that does not fit fail, before the system ends some process to make room."""
    free, own = free_bytes(), _status("VmData")
    if not (free and own):
        return
    with suppress(ImportError, OSError, ValueError):  # no such limit here, or a lower one is set already
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (own + int(_SHARE * free), hard))


def _status(name: str) -> int | None:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def _largest_resident() -> int:
    try:
        import resource
    except ImportError:  # Windows has no such count
        return 0
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
