"""Widths of layers, and a lower bound of the bytes that they hold while one replica trains."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from kernode.compute.place import Place
from kernode.config import require_setting
from kernode.errors import InputError
from kernode.io.sizes import GraphSizes

# What a search tries. ``hidden`` is one width for all hidden layers, of which a map keeps its number.
WIDTHS = {"hidden": (16, 32, 64, 128, 256)}
ROWS = {"normalize_rows": (True, False)}
HOPS = {"hops": (1, 2, 3), "powers": ("each", "last", "plain")}


def check_widths(hidden: tuple[int, ...], outputs: int | None) -> None:
    """Raise unless every layer has a width."""
    whole = isinstance(hidden, tuple) and all(isinstance(width, int) for width in hidden)
    require_setting(whole, "hidden", "a tuple of widths, such as (16,)", hidden)
    require_setting(all(width >= 1 for width in hidden), "hidden", "widths of at least 1", hidden)
    require_setting(outputs is None or outputs >= 1, "outputs", "at least 1", outputs)


def check_heads(hidden: tuple[int, ...], heads: int) -> None:
    """Raise unless attention heads share each hidden width evenly."""
    fits = heads >= 1 and not any(width % heads for width in hidden)
    require_setting(fits, "hidden", f"multiples of the {heads} heads", hidden)


def width_of(feature_map: Any) -> int:
    """d, the width of a map's output."""
    if feature_map.outputs is None:
        sentence = f"{type(feature_map).__name__} has no classes to take its width from: pass outputs=."
        raise InputError(sentence, "missing", setting="outputs")
    require_setting(feature_map.outputs >= 1, "outputs", "at least 1", feature_map.outputs)
    return int(feature_map.outputs)


def features_held(sizes: GraphSizes, place: Place, *, normalize_rows: bool) -> float:
    """X at its place; nothing where a dense one may be used as the graph has it."""
    size = place.dtype.itemsize
    dense = float(sizes.nodes * sizes.features * size)
    if sizes.filled is None:
        return dense if normalize_rows or place.device.type != "cpu" else 0.0
    return min(dense, 2.0 * sizes.filled * (size + 4))  # with its transpose, each number with an index


def trained(widths: Sequence[int], sizes: GraphSizes, place: Place) -> float:
    """Layers of these widths, from the input's to g's: weights with their states, and every layer's output.

    >>> three = GraphSizes(name="three", nodes=3, entries=2, features=5, classes=2)
    >>> trained((5, 4, 2), three, Place.of(32)) == 4 * (4 * (5 * 4 + 4 * 2) + 3 * (4 + 2))
    True
    """
    weights = sum(rows * columns for rows, columns in pairwise(widths))
    outputs = sizes.nodes * sum(widths[1:])  # hidden ones are kept for the backward pass, g for the loss
    return float(place.dtype.itemsize * (4 * weights + outputs))  # gradient and Adam's two moments, too
