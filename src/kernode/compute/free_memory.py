"""How much memory there is to use, and how to say so."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernode.compute.place import Place


def free_bytes() -> int | None:
    """Main memory that this process may still take; None where the system does not say.

    A container's own limit counts where it is the smaller one, and so does one of the process (ulimit).
    """
    found = (_system_free(), _container_free(), _process_free())
    known = [size for size in found if size is not None]
    return min(known, default=None)


def free_at(place: Place) -> int | None:
    """Bytes that may still be taken at a place, in main memory or on a GPU; None where nobody says."""
    return free_bytes() if place.device.type == "cpu" else _free_on_gpu(place)


def _free_on_gpu(place: Place) -> int:  # pragma: needs a GPU
    import torch  # here: commands look at memory before they need torch

    free, _ = torch.cuda.mem_get_info(place.device)
    kept = torch.cuda.memory_reserved(place.device) - torch.cuda.memory_allocated(place.device)
    return int(free + kept)  # torch uses what it keeps before it asks for more


def peak_at(place: Place) -> int | None:
    """The most bytes that this process, or on a GPU torch, has held so far; None where nobody says."""
    if place.device.type != "cpu":  # pragma: needs a GPU
        import torch

        return int(torch.cuda.max_memory_allocated(place.device))
    try:
        import resource
    except ImportError:  # Windows has no such count
        return None
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _system_free() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:  # not Linux: all there is, since nothing says what is free
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _container_free() -> int | None:
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text(encoding="utf-8").strip()
        taken = (group / "memory.current").read_text(encoding="utf-8")
        return None if limit == "max" else int(limit) - int(taken)
    except (OSError, ValueError):
        return None


def _process_free() -> int | None:
    """What limits of the process leave: of its data (ulimit -d) and of its addresses (ulimit -v)."""
    try:
        import resource

        taken = {}
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            name, _, rest = line.partition(":")
            if name in ("VmData", "VmSize"):
                taken[name] = int(rest.split()[0]) * 1024
        limits = {"VmData": resource.RLIMIT_DATA, "VmSize": resource.RLIMIT_AS}
        left = [resource.getrlimit(limits[name])[0] - used for name, used in taken.items()
                if resource.getrlimit(limits[name])[0] != resource.RLIM_INFINITY]  # fmt: skip
    except (ImportError, OSError, ValueError):  # no such limits, or nobody says what is taken
        return None
    return max(0, min(left)) if left else None


def readable(size: float) -> str:
    """Bytes for a person.

    >>> readable(512), readable(3_200_000), readable(1.28e10)
    ('512 B', '3.2 MB', '12.8 GB')
    """
    for unit, bound in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bound:
            return f"{size / bound:.1f} {unit}"
    return f"{size:.0f} B"
