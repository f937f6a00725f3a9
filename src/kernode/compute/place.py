"""Where and how precisely numbers are held."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch

from kernode.errors import InputError

MOST_THREADS = 1024  # of a million the process dies


@dataclass(frozen=True)
class Place:
    """Where and how precisely numbers are held."""

    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, precision: int = 32, device: str | torch.device = "cpu") -> Place:
        """``precision`` 32 or 64; ``device`` "cpu", "cuda", one GPU of several ("cuda:1"), or "auto".

        "auto" is a GPU where there is one. A GPU that is named becomes torch's current one.
        """
        if precision not in (32, 64):
            raise InputError(f"precision must be 32 or 64. Got {precision}.")
        return cls(torch.float64 if precision == 64 else torch.float32, _found(device))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From a pickle: on a machine without its device, the CPU."""
        if state["device"].type == "cuda" and (state["device"].index or 0) >= torch.cuda.device_count():
            state = state | {"device": torch.device("cpu")}
        self.__dict__.update(state)


def _found(device: str | torch.device) -> torch.device:
    """A device of this machine, or a sentence."""
    name = str(device).lower() if isinstance(device, str | torch.device) else ""
    kind, _, number = name.partition(":")
    if kind == "mps":
        raise InputError(
            f"device {name!r} is not supported. Choose cpu or auto.", "setting", setting="device", value=name
        )
    if name not in ("auto", "cpu", "cuda") and not (kind == "cuda" and number.isdecimal()):
        raise InputError(
            "device must be 'auto', 'cpu' or 'cuda', or one GPU of several, such as 'cuda:1'. "
            f"Got {device!r}."
        )
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "no CUDA device is available here. Choose cpu or auto.", "setting", setting="device", value=name
        )
    if name == "auto":
        name = kind = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and "LOCAL_RANK" in os.environ:  # of several processes each has a GPU
        number = str(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
        name = f"cuda:{number}"
    if number:
        if int(number) >= torch.cuda.device_count():
            last = torch.cuda.device_count() - 1
            raise InputError(f"there is no {name} here: GPUs run from cuda:0 to cuda:{last}.")
        torch.cuda.set_device(int(number))  # fused kernels and captured epochs run on the current one
    return torch.device(name)


def set_threads(threads: int | None) -> None:
    """Use so many CPU threads; results repeat bit for bit only for the same number."""
    if threads is None:
        return
    if threads < 1:
        raise InputError(f"threads must be an integer ≥ 1. Got {threads}.")
    if threads > MOST_THREADS:
        raise InputError(f"threads must be an integer up to {MOST_THREADS:,}. Got {threads}.")
    torch.set_num_threads(threads)
