"""GPU execution: fused kernels, an epoch as one captured CUDA graph, and deterministic algorithms."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor

from kernode.errors import InputError

# -- fused kernels in place of several torch operations ----------------------------------------------

_mode = "on a GPU"


def fused(x: Tensor) -> Any:
    """Return the module of Triton kernels where x is on a GPU that has them, else None."""
    if _mode == "never" or not (x.is_cuda or _mode == "everywhere"):
        return None
    return _kernels()


def fused_sums(x: Tensor) -> Any:
    """Return the same for kernels that sum in any order: None where results must repeat."""
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
    """Use no fused kernels (the reference in tests), or all of them (Triton's interpreter on a CPU)."""
    global _mode
    before, _mode = _mode, mode
    try:
        yield
    finally:
        _mode = before


# -- captured epochs: a single launch instead of a hundred -------------------------------------------

WARM_UP = 2  # epochs that run without capture first: they load and compile what an epoch uses

Record = dict[str, Tensor]


def captured(  # pragma: needs a GPU
    act: Callable[[int | Tensor], Record], device: torch.device
) -> Callable[[int], Record]:
    """Return a function that replays ``act(epoch)`` from a capture after the first epochs.

    Epochs must be consecutive. The function returns the same tensors each time, with the values of the epoch.
    """
    now = torch.zeros((), dtype=torch.int64, device=device)
    latest: Record = {}
    graph: torch.cuda.CUDAGraph | None = None

    def capture() -> torch.cuda.CUDAGraph:
        torch.cuda.synchronize()
        new = torch.cuda.CUDAGraph()
        with torch.cuda.graph(new):
            for name, value in act(now).items():
                latest[name].copy_(value)
            now.add_(1)
        return new

    def once(epoch: int) -> Record:
        nonlocal graph
        if graph is None and (not latest or epoch <= WARM_UP):
            for name, value in act(epoch).items():
                latest.setdefault(name, torch.empty_like(value)).copy_(value)
        else:
            if graph is None:
                now.fill_(epoch)
                graph = capture()
            graph.replay()
        return latest

    return once


# -- determinism: sums in a fixed order, which takes longer -------------------------------------------

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"  # read by cuBLAS when CUDA starts: it then sums in a fixed order
_WORKSPACES = (":4096:8", ":16:8")  # the values that make it do so
_on = False


def is_deterministic() -> bool:
    """Return whether results must repeat bit for bit on every device."""
    return _on


@contextmanager
def deterministic() -> Iterator[None]:
    """Make the same seed give the same bits on the same GPU.

    On a CPU it does so anyway, for the same number of threads. An operation without a deterministic
    implementation on a GPU raises. Enter it before anything is computed on the GPU.

    >>> with deterministic():
    ...     is_deterministic()
    True
    """
    global _on
    prepare_gpu()
    before = _on
    algorithms = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    _on = True
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        _on = before
        torch.use_deterministic_algorithms(algorithms, warn_only=warn_only)


def cumulative_sums(x: Tensor, dim: int) -> Tensor:
    """Return cumulative sums along an axis; torch has no deterministic implementation on a GPU."""
    return x.cpu().cumsum(dim).to(x.device) if _on and x.is_cuda else x.cumsum(dim)


def prepare_gpu() -> None:
    """Set what cuBLAS reads when CUDA starts, or raise where CUDA has started without."""
    if os.environ.get(_WORKSPACE) in _WORKSPACES or not torch.cuda.is_available():
        return
    if torch.cuda.is_initialized():
        raise InputError(
            f"the GPU is in use already. Set the variable {_WORKSPACE}=:4096:8 before Python starts, or turn "
            "determinism on before anything is computed.",
            "conflict", setting="deterministic",
        )  # fmt: skip
    os.environ[_WORKSPACE] = _WORKSPACES[0]
