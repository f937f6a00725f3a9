"""What files of models hold whatever they are about: checked, for anybody can make a checksum right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kernode.compute.stack import Parameters
from kernode.errors import KernodeError


def require_runs(model: Any) -> int:
    """Raise unless seeds, parameters and kept epochs are of equally many runs; gives their number."""
    runs = len(model.seeds)
    if not runs or not all(type(seed) is int for seed in model.seeds):
        raise ValueError("seeds are not a list of integers")
    if model.precision not in (32, 64):
        raise ValueError(f"precision is {model.precision!r}")
    for name in ("dataset", "fingerprint", "variant"):
        if not isinstance(getattr(model, name), str):
            raise ValueError(f"{name} is no text")
    for name, value in model.parameters.items():
        if not value.dim() or len(value) != runs:
            raise ValueError(f"{name} has not a part for each of {runs} runs")
        if value.isnan().any():  # a module's buffer may well be infinite
            raise ValueError(f"{name} has values that are no numbers")
    if model.kept_epochs is not None and model.kept_epochs.shape != (runs,):
        raise ValueError("kept_epochs are not one for each run")
    return runs


def require_nodes(name: str, nodes: np.ndarray, runs: int) -> None:
    """Raise unless nodes are positions, the same for all runs or for each its own: q × m."""
    if nodes.ndim != 2 or nodes.dtype.kind != "i" or len(nodes) not in (1, runs) or (nodes < 0).any():
        raise ValueError(f"{name} are not lists of nodes")


@contextmanager
def fitting(title: str, found: Parameters, expected: Callable[[], Parameters]) -> Iterator[None]:
    """Where computing fails, say which parameter does not fit its map, if that is why.

    A module of one's own may have changed since it was trained.
    ``expected``: parameters as the map makes them now, of one run.
    """
    try:
        yield
    except KernodeError:
        raise  # who knows why has said so
    except Exception as error:
        misfit = _misfit(found, expected())
        if misfit is None:
            raise
        raise KernodeError(
            f"this model's parameters do not fit its {title}: {misfit}. Train it again."
        ) from error


def _misfit(found: Parameters, expected: Parameters) -> str | None:
    for name in (*expected, *found):
        if name not in found:
            return f"{name} is missing"
        if name not in expected:
            return f"{name} is unknown to it"
        shape, should = found[name].shape[1:], expected[name].shape[1:]
        if shape != should:
            return f"{name} has the shape {tuple(shape)} in each run, not {tuple(should)}"
    return None
