"""What a figure was measured on and with."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kernode.version import __version__

_LIBRARIES = ("torch", "torch_geometric", "numpy", "scipy")


def machine(device: str) -> dict[str, Any]:
    """Processor, GPU, threads and versions: no date, no name and no path."""
    import torch

    return {
        "processor": _processor(),
        "gpu": torch.cuda.get_device_name() if device == "cuda" else None,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"kernode": __version__, **_versions()},
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # an optional one
            continue
    return found


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
