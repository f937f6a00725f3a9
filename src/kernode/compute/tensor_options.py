"""Device, dtype and CPU threads of a computation."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from kernode.compute.replicas import whole
from kernode.errors import InputError, bad_setting

MOST_THREADS = 1024  # with a million the process dies


@dataclass(frozen=True)
class TensorOptions:
    """Device and dtype."""

    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, precision: int = 32, device: str | torch.device = "cpu") -> TensorOptions:
        """``precision`` 32 or 64; ``device`` "cpu", "cuda", one of several GPUs ("cuda:1"), or "auto".

        "auto" is a GPU where there is one. A GPU with a number becomes torch's current device.
        """
        if precision not in (32, 64):
            raise bad_setting("precision", "32 or 64", precision)
        return cls(torch.float64 if precision == 64 else torch.float32, _found(device))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle; without that device on this machine, on the CPU."""
        if state["device"].type == "cuda" and (state["device"].index or 0) >= torch.cuda.device_count():
            state = state | {"device": torch.device("cpu")}
        self.__dict__.update(state)


def _found(device: str | torch.device) -> torch.device:
    """Return a device of this machine, or raise."""
    name = str(device).lower()
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise bad_setting(
            "device", "'auto', 'cpu' or 'cuda', or one GPU of several, such as 'cuda:1'", device
        )
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = "cuda" if count else "cpu"
    if name == "cpu":
        return torch.device(name)
    if not count:
        sentence = "no CUDA device is available here. Choose the device 'cpu' or 'auto'."
        raise InputError(sentence, "setting", setting="device", value=device)
    if name == "cuda" and "LOCAL_RANK" in os.environ:  # one GPU per process
        name = f"cuda:{int(os.environ['LOCAL_RANK']) % count}"
    if number := name.partition(":")[2]:
        if int(number) >= count:
            sentence = f"there is no {name} here: GPUs run from cuda:0 to cuda:{count - 1}."
            raise InputError(sentence, "setting", setting="device", value=device)
        torch.cuda.set_device(int(number))  # fused kernels and captured epochs run on the current device
    return torch.device(name)


def set_threads(threads: int | None) -> None:
    """Set the number of CPU threads; results repeat bit for bit only for the same number."""
    if threads is not None:
        torch.set_num_threads(whole("threads", threads, 1, MOST_THREADS))


@contextmanager
def cpu_threads(threads: int | None) -> Iterator[int]:
    """Set the number of CPU threads for a while; None leaves torch's own. Gives the number in use."""
    before = torch.get_num_threads()
    set_threads(threads)
    try:
        yield torch.get_num_threads()
    finally:
        if threads is not None:
            torch.set_num_threads(before)
