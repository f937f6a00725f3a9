"""Refuse what cannot fit into memory before anything is computed, with the figure and a way out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernode.compute.machine import free_at, readable
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.io.sizes import GraphSizes
from kernode.training.settings import Training


def require_memory(sizes: GraphSizes, method: Any, training: Training, options: TensorOptions) -> None:
    """Raise if not even a single replica fits."""
    free, need = free_at(options), least_needed(sizes, method, training, options)
    if need > free:
        raise InputError(refusal(need, free, method, options), "too-large", need=need, free=free)


def refusal(need: float, free: float, method: Any, options: TensorOptions) -> str:
    """Return the message: what is needed, what is free, and what would help."""
    where = "memory" if options.device.type == "cpu" else "the GPU's memory"
    settings = getattr(method, "map", None)
    hops, powers = getattr(settings, "hops", 1), getattr(settings, "powers", "plain")
    helps = {
        "fewer hops": hops > 1 and powers != "plain",
        "plain powers": powers != "plain",
        "narrower hidden layers": bool(getattr(settings, "hidden", ())),
        "a precision of 32 bits": options.dtype.itemsize > 4,
        f"a machine with {math.ceil(1.2 * need / 1e9):,} GB": True,
    }
    ways = " or ".join(way for way in helps if helps[way])
    return f"this run takes at least {readable(need)} of {where} and {readable(free)} are free. Use {ways}."


def refused(
    sizes: GraphSizes, methods: Mapping[str, tuple[Any, Training]], options: TensorOptions
) -> dict[str, InputError]:
    """Return the errors of the methods that do not fit, by name; raise where none of them does."""
    reasons = {}
    for name, (method, training) in methods.items():
        try:
            require_memory(sizes, method, training, options)
        except InputError as error:
            reasons[name] = error
    if reasons and len(reasons) == len(methods):
        raise next(iter(reasons.values()))
    return reasons


def least_needed(sizes: GraphSizes, method: Any, training: Training, options: TensorOptions) -> float:
    """Return a lower bound of the bytes still to be taken, however few replicas train at a time."""
    loading = sizes.graph is None and not sizes.read and options.device.type == "cpu"
    return method.least_bytes(sizes, training, options) + (sizes.graph_bytes if loading else 0.0)
