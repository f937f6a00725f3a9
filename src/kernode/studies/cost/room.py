"""How much memory a process holds, and how much more it may take where it computes."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from kernode.compute.memory import free_bytes
from kernode.compute.place import Place


def free_at(place: Place) -> int | None:
    """Bytes that may still be taken at a place; None where the system does not say."""
    if place.device.type == "cpu":
        return free_bytes()
    free, _ = torch.cuda.mem_get_info(place.device)
    kept = torch.cuda.memory_reserved(place.device) - torch.cuda.memory_allocated(place.device)
    return int(free + kept)  # torch uses what it keeps before it asks for more


def resident_bytes() -> float:
    """Main memory that this process holds; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return float(pages * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError, IndexError):
        return 0.0
