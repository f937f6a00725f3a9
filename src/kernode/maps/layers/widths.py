"""Widths of layers: given, or left open until the number of classes is known."""

from __future__ import annotations

from typing import Any

from kernode.errors import InputError

# What a search tries. ``hidden`` is one width for all hidden layers, of which a map keeps its number.
WIDTHS = {"hidden": (16, 32, 64, 128, 256)}
ROWS = {"normalize_rows": (True, False)}
HOPS = {"hops": (1, 2, 3), "powers": ("each", "last", "plain")}


def check_widths(hidden: tuple[int, ...], outputs: int | None) -> None:
    """Raise unless every layer has a width."""
    if not isinstance(hidden, tuple) or not all(isinstance(width, int) for width in hidden):
        raise InputError(f"hidden must be a tuple of widths, such as (16,). Got {hidden!r}.")
    if any(width < 1 for width in hidden) or (outputs is not None and outputs < 1):
        raise InputError(f"layer widths must be at least 1. Got hidden={hidden} and outputs={outputs}.")


def width_of(feature_map: Any) -> int:
    """d, the width of a map's output."""
    if feature_map.outputs is None:
        raise InputError(
            f"{type(feature_map).__name__} has no classes to take its width from: pass outputs=."
        )
    if feature_map.outputs < 1:
        raise InputError(f"outputs must be at least 1. Got {feature_map.outputs}.")
    return int(feature_map.outputs)
