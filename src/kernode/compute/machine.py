"""Memory of this machine, and the facts that a measurement is reported with."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.version import versions

if TYPE_CHECKING:
    from kernode.compute.tensor_options import TensorOptions


def free_bytes() -> int:
    """Return the main memory that this process may still take: the least of system, container and ulimit."""
    import psutil

    free = [psutil.virtual_memory().available]
    group = Path("/sys/fs/cgroup")  # the limit of a container, which psutil does not know
    try:
        limit = (group / "memory.max").read_text(encoding="utf-8").strip()
        if limit != "max":
            free.append(int(limit) - int((group / "memory.current").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        pass
    if hasattr(psutil, "RLIMIT_AS"):  # Linux: ulimit -v and ulimit -d
        process = psutil.Process()
        memory = process.memory_info()
        for kind, used in ((psutil.RLIMIT_AS, memory.vms), (psutil.RLIMIT_DATA, memory.data)):
            soft, _ = process.rlimit(kind)
            if soft != psutil.RLIM_INFINITY:
                free.append(max(0, soft - used))
    return min(free)


def free_at(options: TensorOptions) -> int:
    """Return the bytes of memory that may still be taken on a device."""
    if options.device.type != "cpu":  # pragma: needs a GPU
        import torch  # here: commands look at memory before they need torch

        free, _ = torch.cuda.mem_get_info(options.device)
        reserved = torch.cuda.memory_reserved(options.device) - torch.cuda.memory_allocated(options.device)
        return int(free + reserved)  # torch uses what it has reserved before it takes more
    return free_bytes()


def peak_at(options: TensorOptions) -> int | None:
    """Return the peak memory of this process, or on a GPU of torch, in bytes; None where unknown."""
    if options.device.type != "cpu":  # pragma: needs a GPU
        import torch

        return int(torch.cuda.max_memory_allocated(options.device))
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if platform.system() == "Darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def readable(size: float) -> str:
    """Format bytes for a person.

    >>> readable(512), readable(3_200_000), readable(1.28e10)
    ('512 B', '3.2 MB', '12.8 GB')
    """
    for unit, bound in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bound:
            return f"{size / bound:.1f} {unit}"
    return f"{size:.0f} B"


def machine(device: str) -> dict[str, Any]:
    """Return processor, GPU, threads and versions: no date, no name and no path."""
    import torch

    return {
        "processor": _processor(),
        "gpu": torch.cuda.get_device_name() if device == "cuda" else None,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
