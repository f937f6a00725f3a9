"""Widths of layers, and bytes that the parts of a map hold while one replica trains: lower bounds."""

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


STATES = 4  # of every parameter: itself, its gradient and Adam's two moments


def features_held(sizes: GraphSizes, place: Place, *, normalize_rows: bool) -> float:
    """X at its place; nothing where it is used as the graph has it."""
    if sizes.filled is None:
        shared = place.device.type == "cpu" and sizes.feature_bytes == place.dtype.itemsize
        return 0.0 if shared and not normalize_rows else dense_held(sizes, place)
    held = sparse_held(sizes, place)
    # A GPU may hold it dense: see kernode.maps.layers.features.
    return held if place.device.type == "cpu" else min(held, dense_held(sizes, place))


def smoothed_held(sizes: GraphSizes, place: Place, blocks: int = 1) -> float:
    """Smoothed X, so many blocks side by side; a sparse one has X's entries at least, or becomes dense."""
    dense = blocks * dense_held(sizes, place)
    return dense if sizes.filled is None else min(sparse_held(sizes, place), dense)


def dense_held(sizes: GraphSizes, place: Place) -> float:
    """A dense n × f matrix."""
    return float(sizes.nodes * sizes.features * place.dtype.itemsize)


def sparse_held(sizes: GraphSizes, place: Place) -> float:
    """A sparse X and its transpose, each number with an index."""
    return 2.0 * (sizes.filled or 0) * (place.dtype.itemsize + 4)


def adjacency_held(sizes: GraphSizes, place: Place) -> float:
    """Ā, which is its own transpose."""
    return float(sizes.step_entries * (place.dtype.itemsize + 4))


def attention_held(sizes: GraphSizes, place: Place, heads: int) -> float:
    """The edges, and of every edge and head of all layers its score before and after softmax."""
    size = place.dtype.itemsize
    return float(sizes.step_entries * (3 * 8 + 2 * (size + 4) + 2 * heads * size))  # 3 lists, 2 matrices


def trained(widths: Sequence[int], sizes: GraphSizes, place: Place) -> float:
    """Layers of these widths, from the input's to g's: weights with their states, and every layer's output.

    >>> three = GraphSizes(name="three", nodes=3, entries=2, features=5, classes=2)
    >>> trained((5, 4, 2), three, Place.of(32)) == 4 * (4 * (5 * 4 + 4 * 2) + 3 * (4 + 2))
    True
    """
    weights = sum(rows * columns for rows, columns in pairwise(widths))
    outputs = sizes.nodes * sum(widths[1:])  # hidden ones are kept for the backward pass, g for the loss
    return float(place.dtype.itemsize * (STATES * weights + outputs))
