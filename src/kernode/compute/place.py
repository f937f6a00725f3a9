"""Where and how precisely numbers are held."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kernode.errors import InputError


@dataclass(frozen=True)
class Place:
    """Where and how precisely numbers are held."""

    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, precision: int = 32, device: str = "cpu") -> Place:
        """``precision`` 32 or 64; ``device`` "cpu", "cuda", or "auto" for a GPU where there is one."""
        if precision not in (32, 64):
            raise InputError(f"precision must be 32 or 64. Got {precision}.")
        if device not in ("auto", "cpu", "cuda"):
            raise InputError(f"device must be 'auto', 'cpu' or 'cuda'. Got {device!r}.")
        if device == "cuda" and not torch.cuda.is_available():
            raise InputError("no CUDA device is available here. Pass device='cpu' or device='auto'.")
        name = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        return cls(torch.float64 if precision == 64 else torch.float32, torch.device(name))


def set_threads(threads: int | None) -> None:
    """Use so many CPU threads; results repeat bit for bit only for the same number."""
    if threads is not None and threads < 1:
        raise InputError(f"threads must be an integer ≥ 1. Got {threads}.")
    if threads is not None:
        torch.set_num_threads(threads)
