"""Nodes as people hand them over: names or indices, in a list or a column, some turned into floats."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError, warn
from kernode.graph.graph import Graph
from kernode.graph.lookup import Positions, require_one_reading
from kernode.graph.row_labels import require_row_order

_MANY = 20  # different fractions: more are a measurement, fewer may be a scale, as of stars


def as_nodes(nodes: Any) -> np.ndarray:
    """One list of names, integers or booleans: of which :meth:`Graph.find` knows what they are.

    A column (m × 1) is a list, and 3.0 is 3: that is what scikit-learn makes of a list of integers.

    >>> as_nodes([[3.0], [0.0]]), as_nodes(["eve", "ann"]).tolist()
    (array([3, 0]), ['eve', 'ann'])
    """
    require_row_order(nodes)
    array = _plain(nodes)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 and array.shape[1] == 0:
        raise InputError(
            f"nodes must be one list of indices or names. Got 0 feature(s) (shape={array.shape}) "
            "while a minimum of 1 is required."
        )
    if array.ndim == 0:
        raise InputError("nodes must be one list of indices or names. Reshape your data: [v] for one node v.")
    if array.ndim != 1:
        raise InputError(
            f"nodes must be one list of indices or names. Got shape {array.shape}; features are the graph's."
        )
    return array


def as_pairs(pairs: Any) -> np.ndarray:
    """Two nodes in each row, by name or by index: m × 2.

    >>> as_pairs([("ann", "eve")]).tolist(), as_pairs([]).shape
    ([['ann', 'eve']], (0, 2))
    """
    array = _plain(pairs)
    if array.size == 0 and array.ndim < 2:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim == 2 and array.shape[1] < 2:
        raise InputError(
            f"pairs must be an m × 2 list of nodes. Got {array.shape[1]} feature(s) (shape={array.shape}) "
            "while a minimum of 2 is required."
        )
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(
            f"pairs must be an m × 2 list of nodes. Got shape {array.shape}. Reshape your data: "
            "[(u, v)] for one pair."
        )
    return array


def as_classes(y: Any) -> np.ndarray:
    """One class per row, of any type: m values."""
    y = np.asarray(y)
    if y.dtype.kind == "c":
        raise InputError("Complex data not supported: y must hold classes.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InputError("y contains NaN or inf. Leave out the rows whose class is not known.")
    if y.dtype.kind == "f" and (y != np.floor(y)).any() and len(np.unique(y)) > _MANY:
        raise InputError(
            "Unknown label type: continuous. y looks like numbers: regression is not offered. Give classes."
        )
    if y.ndim == 2 and y.shape[1] == 1:
        sentence = "A column-vector y was passed when a 1d array was expected: pass y.ravel()."
        from sklearn.exceptions import DataConversionWarning  # here: it takes a second

        warn(sentence, DataConversionWarning)
        return y[:, 0]
    return y


def found(graph: Graph, nodes: np.ndarray, y: np.ndarray) -> tuple[Positions, np.ndarray]:
    """Positions of nodes (see :func:`as_nodes`) and their classes: beside a mask y may be of all nodes."""
    if nodes.dtype == bool and y.shape == nodes.shape:
        y = y[nodes]
    sure = require_one_reading(graph.lookup, nodes, y, graph.labels)
    return graph.lookup.find(nodes, sure=sure), y


def _plain(nodes: Any) -> np.ndarray:
    """Text or integers as an array, or a sentence about what it is instead."""
    if sparse.issparse(nodes):
        raise InputError("nodes must be names or indices in a plain array. Got a sparse matrix.")
    try:
        array = np.asanyarray(nodes)  # positions stay positions
    except (ValueError, TypeError):
        raise InputError("nodes must be one regular array. Got rows of different lengths or kinds.") from None
    if array.dtype.kind == "O":
        array = _unboxed(array)
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported: nodes must be names or integer indices.")
    if array.dtype.kind == "f":
        array = _whole(array)
    return array


def _unboxed(array: np.ndarray) -> np.ndarray:
    """Python's own values as text or numbers."""
    values = array.ravel().tolist()
    if values and all(isinstance(value, bool | np.bool_) for value in values):
        return array.astype(bool)
    if all(isinstance(value, str) for value in values):
        return array.astype(str)
    if all(isinstance(value, Integral) and not isinstance(value, bool) for value in values):
        try:
            return array.astype(np.int64)
        except OverflowError:  # a name, then
            return array.astype(str)
    if all(isinstance(value, float | Integral) and not isinstance(value, bool) for value in values):
        return array.astype(np.float64)
    raise InputError("nodes must be all names (text) or all integer indices. Got a mixture or other things.")


def _whole(array: np.ndarray) -> np.ndarray:
    bad = array[~np.isfinite(array)]
    if bad.size:
        raise InputError(f"nodes must be integer indices. Got {'NaN' if np.isnan(bad[0]) else 'inf'}.")
    if array.size and abs(array).max() >= 2**53:
        raise InputError(f"floats above 2⁵³ are not exact: {array.max():.0f} may be another. Give text.")
    whole = array.astype(np.int64)
    if (whole != array).any():
        raise InputError(
            f"nodes must be integer indices. Got {array[whole != array][0]}. X lists nodes; features are the "
            "graph's."
        )
    return whole
