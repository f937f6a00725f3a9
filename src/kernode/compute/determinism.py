"""The same bits every time, on a GPU too: sums in a fixed order, at a price in speed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from kernode.errors import InputError, KernodeError

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"  # read by cuBLAS when CUDA starts: it adds up in a fixed order then
_WORKSPACES = (":4096:8", ":16:8")  # those with which it does
_on = False


def is_deterministic() -> bool:
    """Whether results are to repeat bit for bit wherever they are computed."""
    return _on


@contextmanager
def deterministic() -> Iterator[None]:
    """While this lasts the same seed gives the same bits on a GPU, too, each time on the same one.

    On a CPU it does so anyway, for the same number of threads; here it is then not left to a measurement of
    how busy the cores are. What has no such way on a GPU, as a module of one's own may, ends in a sentence.
    Call it before anything is computed on the GPU.

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
    except RuntimeError as error:
        if "does not have a deterministic implementation" not in str(error):
            raise
        operation = str(error).split(" ", 1)[0]
        raise KernodeError(
            f"{operation} has no deterministic way on a GPU. Compute on a CPU, or leave out --deterministic "
            "(in Python, kernode.deterministic())."
        ) from error
    finally:
        _on = before
        torch.use_deterministic_algorithms(algorithms, warn_only=warn_only)


def cumulative_sums(x: Tensor, dim: int) -> Tensor:
    """Sums so far along an axis; torch has no way on a GPU that repeats itself."""
    return x.cpu().cumsum(dim).to(x.device) if _on and x.is_cuda else x.cumsum(dim)


def prepare_gpu() -> None:
    """Set what cuBLAS reads when CUDA starts, or say that it has started without."""
    if os.environ.get(_WORKSPACE) in _WORKSPACES or not torch.cuda.is_available():
        return
    if torch.cuda.is_initialized():
        raise InputError(
            f"the GPU is in use already. Set the variable {_WORKSPACE}=:4096:8 before Python starts, or ask "
            "for determinism before anything is computed."
        )
    os.environ[_WORKSPACE] = _WORKSPACES[0]
