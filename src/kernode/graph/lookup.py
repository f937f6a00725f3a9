"""Nodes and classes as users pass them: from names, integers and masks to positions in a graph.

Text is a name. An integer is a name where any of the graph's names is written as an integer (17 in a data
frame is "17" in the graph), and a position elsewhere. :func:`positions` and boolean masks are never names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError, bad_setting, warn

if TYPE_CHECKING:
    from kernode.graph.graph import Graph

_MANY = 20  # distinct fractions: more are a measurement, fewer may be a scale such as stars
_SHOWN = 5  # pairs of similar class names in a warning


class Positions(np.ndarray):
    """Integers that count a graph's nodes from 0, whatever the nodes are called.

    Splits hold them, and they stay positions when they are sliced, sorted or joined.
    """

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Keep the type where numpy joins positions or takes some of them."""
        result = super().__array_function__(function, types, args, kwargs)
        kept = function in _JOINS and isinstance(result, np.ndarray) and result.dtype.kind in "iu"
        # Joined with plain integers, which may be names, they are plain.
        return result.view(Positions if set(types) == {Positions} else np.ndarray) if kept else result


_JOINS = (np.concatenate, np.hstack, np.append, np.unique, np.union1d, np.setdiff1d, np.intersect1d)


def positions(nodes: Any) -> Positions:
    """Mark integers as positions from 0, for graphs whose names are integers, too.

    Everything that takes nodes takes these: ``model.predict(kn.positions([0, 1]))``. So does a mask.

    >>> from kernode.graph import Graph
    >>> graph = Graph.from_edges([(0, 1)], np.eye(3), node_names=[30, 10, 20])
    >>> graph.find([10]), graph.find(positions([1])), graph.find([False, True, False])
    (Positions([1]), Positions([1]), Positions([1]))
    """
    array = np.asarray(nodes)
    if array.dtype == bool:
        array = np.flatnonzero(array)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"positions must be integers from 0. Got {array.dtype}.", "setting", setting="nodes")
    return array.astype(np.int64).view(Positions)


class Lookup:
    """Finds the nodes of one graph by name or by position."""

    def __init__(self, names: np.ndarray | None, n: int, of: str = "the graph") -> None:
        self.names, self.n, self.of = names, n, of

    def find(self, nodes: Any, *, sure: bool = False) -> Positions:
        """Return positions in the shape of ``nodes``; a mask gives the positions that it marks.

        ``sure``: integers are names without doubt, where names are integers.
        """
        nodes = _as_array(nodes)
        if nodes.dtype == bool:
            if nodes.shape != (self.n,):
                sentence = f"a mask must hold one boolean per node ({self.n:,} of {self.of})."
                shape = f"Got shape {nodes.shape}."
                raise InputError(
                    f"{sentence} {shape}", "shape", setting="nodes", expected=(self.n,), found=nodes.shape
                )
            return np.flatnonzero(nodes).view(Positions)
        if nodes.dtype.kind in "UT" and nodes.size:
            return self._named(nodes.astype(str))
        if nodes.dtype.kind in "iu" and not isinstance(nodes, Positions) and self.has_integer_names:
            found = self._named(nodes.astype(str), integers=True)
            if not sure and (found != nodes).any() and nodes.min() >= 0 and nodes.max() < self.n:
                warn(  # always the same sentence, so that it is shown once
                    f"integers were taken as names of nodes of {self.of}, though they could be positions. "
                    "Pass names as text, or positions as kn.positions(…), to say which."
                )
            return found
        return checked_nodes(nodes, self.n).view(Positions)

    def name(self, node: int) -> str:
        """Return what to call a node in a sentence."""
        return str(node) if self.names is None else repr(str(self.names[node]))

    @cached_property
    def has_integer_names(self) -> bool:
        """True where an integer is a name."""
        return self.names is not None and bool(np.char.isdecimal(np.char.lstrip(self.names, "-")).any())

    def _named(self, wanted: np.ndarray, *, integers: bool = False) -> Positions:
        if self.names is None:
            sentence = f"the nodes of {self.of} have no names. Give indices instead of text."
            raise InputError(sentence, "unknown", what="node", name=str(wanted.flat[0]))
        names, order = self._sorted
        at = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
        missing = wanted[names[at] != wanted]
        if missing.size:
            name, fix = str(missing.flat[0]), "Check the name."
            padded = self.names[np.char.lstrip(self.names, "0") == name]
            if name.isdecimal() and len(padded):
                fix = f"Did you mean the text {str(padded[0])!r}? Integers lose leading zeros."
            elif integers and name.isdecimal() and int(name) < self.n:
                fix = f"Its names are integers; for positions from 0 write kn.positions([{name}])."
            sentence = f"no node of {self.of} is called {name!r}. {fix}"
            raise InputError(sentence, "unknown", what="node", name=name)
        return order[at].astype(np.int64).view(Positions)

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Names in ascending order, and the position of each."""
        assert self.names is not None
        order = np.argsort(self.names)
        return self.names[order], order


def checked_nodes(nodes: Any, n: int) -> np.ndarray:
    """Return node indices as int64, or raise at the first that a graph of n nodes does not have."""
    nodes = np.asarray(nodes)
    if nodes.size and nodes.dtype.kind not in "iu":
        raise bad_setting("nodes", "integer indices", nodes.dtype)
    outside = nodes[(nodes < 0) | (nodes >= n)] if nodes.size else nodes
    if outside.size:
        first, negative = int(outside.flat[0]), "Negative values in data: " if outside.min() < 0 else ""
        sentence = f"{negative}node {first} is not in the graph. Nodes run from 0 to {n - 1}."
        raise InputError(sentence, "unknown", what="node", name=first)
    return nodes.astype(np.int64)


def positions_and_classes(graph: Graph, nodes: np.ndarray, y: np.ndarray) -> tuple[Positions, np.ndarray]:
    """Return positions of nodes (see :func:`as_nodes`) and their classes; a mask may have y of all nodes."""
    if nodes.dtype == bool and y.shape == nodes.shape:
        y = y[nodes]
    lookup, sure = graph.lookup, False
    plain = nodes.dtype.kind in "iu" and not isinstance(nodes, Positions) and nodes.size
    ambiguous = plain and lookup.has_integer_names and nodes.min() >= 0 and nodes.max() < lookup.n
    if ambiguous and nodes.shape == y.shape:  # the graph's own classes may say what is meant
        sure = _agree(y, graph.labels[lookup.find(nodes, sure=True)])
        if not sure and _agree(y, graph.labels[nodes]):
            sentence = f"nodes as names of {lookup.of} contradict its classes, and as positions they agree."
            fix = "Write kn.positions(nodes) where positions are meant."
            raise InputError(f"{sentence} {fix}", "ambiguous", setting="nodes")
    return lookup.find(nodes, sure=sure), y


def _agree(y: np.ndarray, labels: np.ndarray) -> bool:
    """Return whether two lists of classes divide the nodes the same way, into several classes."""
    if (labels < 0).any():
        return False
    codes = np.unique(y, return_inverse=True)[1].reshape(-1)
    parts = len(np.unique(np.stack([codes, labels]), axis=1).T)
    return 1 < parts == len(np.unique(codes)) == len(np.unique(labels))


def as_nodes(nodes: Any) -> np.ndarray:
    """Return one list of names, integers or booleans, for :meth:`Graph.find`.

    A column (m × 1) is a list, and 3.0 is 3: scikit-learn makes such of a list of integers.

    >>> as_nodes([[3.0], [0.0]]), as_nodes(["eve", "ann"]).tolist()
    (array([3, 0]), ['eve', 'ann'])
    """
    _require_row_order(nodes)
    array = _as_array(nodes)
    if array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1):
        return array.reshape(-1)
    fix = "[v] for one node v; features belong to the graph"
    raise _wrong_shape("nodes must be one list of indices or names.", "nodes", array, 1, fix)


def as_pairs(pairs: Any) -> np.ndarray:
    """Return two nodes per row, by name or by index: m × 2.

    >>> as_pairs([("ann", "eve")]).tolist(), as_pairs([]).shape
    ([['ann', 'eve']], (0, 2))
    """
    array = _as_array(pairs)
    if array.size == 0 and array.ndim < 2:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim == 2 and array.shape[1] == 2:
        return array
    raise _wrong_shape("pairs must be an m × 2 list of nodes.", "X", array, 2, "[(u, v)] for one pair")


def _wrong_shape(must: str, setting: str, array: np.ndarray, columns: int, fix: str) -> InputError:
    hint = f"Got shape {array.shape}. Reshape your data: {fix}."
    if array.ndim == 2 and array.shape[1] < columns:  # in scikit-learn's words, as its checks expect
        hint = (
            f"Got {array.shape[1]} feature(s) (shape={array.shape}) while a minimum of {columns} is required."
        )
    return InputError(f"{must} {hint}", "shape", setting=setting, found=array.shape)


def as_classes(y: Any) -> np.ndarray:
    """Return one class per row, of any type: m values."""
    y = np.asarray(y)
    if y.dtype.kind == "c":
        raise InputError("Complex data not supported: y must hold classes.", "setting", setting="y")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        sentence = "y contains NaN or inf. Leave out the rows whose class is not known."
        raise InputError(sentence, "not-finite", setting="y")
    if y.dtype.kind == "f" and (y != np.floor(y)).any() and len(np.unique(y)) > _MANY:
        sentence = "Unknown label type: continuous. y looks like numbers: regression is not offered."
        raise InputError(f"{sentence} Give classes.", "unsupported", setting="y")
    if y.ndim == 2 and y.shape[1] == 1:
        from sklearn.utils.validation import column_or_1d  # here: the import takes a second

        return column_or_1d(y, warn=True)
    return y


def _as_array(nodes: Any) -> np.ndarray:
    """Return text, integers or booleans as an array, or raise."""
    if sparse.issparse(nodes):
        sentence = "nodes must be names or indices in a plain array. Got a sparse matrix."
        raise InputError(sentence, "setting", setting="nodes")
    try:
        array = np.asanyarray(nodes)  # positions stay positions
    except (ValueError, TypeError):
        sentence = "nodes must be one regular array. Got rows of different lengths or kinds."
        raise InputError(sentence, "shape", setting="nodes") from None
    if array.dtype.kind == "O":
        array = _unboxed(array)
    if array.dtype.kind == "c":
        sentence = "Complex data not supported: nodes must be names or integer indices."
        raise InputError(sentence, "setting", setting="nodes")
    return _whole(array) if array.dtype.kind == "f" else array


def _unboxed(array: np.ndarray) -> np.ndarray:
    """Return Python's own values as text or numbers."""
    kinds = [type(value) for value in array.ravel().tolist()]
    for kind, plain in ((str, str), (bool | np.bool_, bool), (Integral, int), (float | Integral, float)):
        if all(issubclass(one, kind) for one in kinds) and (plain is bool or bool not in kinds):
            try:
                return array.astype(plain)
            except OverflowError:  # too large for an integer: a name, then
                return array.astype(str)
    sentence = "nodes must be all names (text) or all integer indices. Got a mixture or other things."
    raise InputError(sentence, "setting", setting="nodes")


def _whole(array: np.ndarray) -> np.ndarray:
    bad = array[~np.isfinite(array)]
    if bad.size:
        sentence = f"nodes must be integer indices. Got {'NaN' if np.isnan(bad[0]) else 'inf'}."
        raise InputError(sentence, "not-finite", setting="nodes")
    if array.size and abs(array).max() >= 2**53:
        sentence = f"floats above 2⁵³ are not exact: {array.max():.0f} may be another. Give text."
        raise InputError(sentence, "ambiguous", setting="nodes")
    whole = array.astype(np.int64)
    if (whole != array).any():
        sentence = f"nodes must be integer indices. Got {array[whole != array][0]}."
        raise InputError(
            f"{sentence} X lists nodes; features belong to the graph.", "setting", setting="nodes"
        )
    return whole


# -- row labels of pandas ----------------------------------------------------------------------------


def require_aligned(X: Any, **others: Any) -> None:
    """Raise where something has the row labels of X in another order, as sorting one column alone leaves it.

    Rows are taken in their order, whatever their labels.
    """
    labels = _row_labels(X)
    for name, values in others.items():
        own = _row_labels(values)
        if labels is None or own is None or len(labels) != len(own) or labels.equals(own):
            continue
        if labels.isin(own).all() and own.isin(labels).all():
            sentence = f"X and {name} have the same row labels in a different order: which belongs to which?"
            fix = f"Pass {name}.loc[X.index], or {name}.to_numpy() if the rows correspond already."
            raise InputError(f"{sentence} {fix}", "ambiguous", setting=name)


def _require_row_order(mask: Any) -> None:
    """Raise where a mask's row labels are the row numbers in another order: a mask marks rows, not labels."""
    labels = _row_labels(mask)
    is_mask = str(getattr(mask, "dtype", "")) in ("bool", "boolean")  # numpy's, and pandas' own
    if labels is None or not is_mask or labels.dtype.kind not in "iu":
        return
    numbers, rows = np.asarray(labels), np.arange(len(labels))
    if not (numbers == rows).all() and (np.sort(numbers) == rows).all():
        sentence = "the mask's rows are in another order than their labels 0, 1, …: which row is which node?"
        fix = "Pass mask.sort_index(), or mask.to_numpy() if the rows have the graph's order already."
        raise InputError(f"{sentence} {fix}", "ambiguous", setting="nodes")


def _row_labels(values: Any) -> Any:
    """Return the index of a Series or DataFrame; None for anything else."""
    index = getattr(values, "index", None)
    return index if hasattr(index, "equals") and hasattr(index, "isin") else None


# -- names of classes --------------------------------------------------------------------------------


def warn_of_similar_labels(where: str, names: Iterable[str], new: Iterable[str] | None = None) -> None:
    """Warn of class names that differ in case, blanks or hyphens only; of ``new`` ones, where given."""
    groups: dict[str, list[str]] = {}
    for name in names:
        core = re.sub(r"(?<=\w)[\s_\-\u2010-\u2013]+(?=\w)", "", name.strip().casefold())
        groups.setdefault(name if core.isdigit() else core, []).append(name)  # numbers stay as they are
    pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
    if new is not None:
        pairs = [pair for pair in pairs if set(new).intersection(pair)]
    if not pairs:
        return
    shown = "; ".join(f"{one!r} and {other!r}" for one, other in pairs[:_SHOWN])
    more = f"; and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
    warn(
        f"{where} has classes that differ only in case, blanks or hyphens, and stay different: "
        f"{shown}{more}. Write them the same way if they are one class."
    )
