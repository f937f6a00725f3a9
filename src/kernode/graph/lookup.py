"""From nodes as people name them to their positions in a graph, and back to nobody's guess.

Text is a name. An integer is a name where any of the graph's names is written as an integer (17 in a data
frame is "17" in the graph), and a position elsewhere. What :func:`positions` made, and a mask of booleans, is
never a name.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kernode.errors import InputError, warn


class Positions(np.ndarray):
    """Integers that count a graph's nodes from 0, whatever the nodes are called.

    Splits hold them, and they stay what they are when they are sliced, sorted or joined.
    """

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """What numpy joins or takes from positions is positions, too."""
        result = super().__array_function__(function, types, args, kwargs)
        kept = function in _JOINS and isinstance(result, np.ndarray) and result.dtype.kind in "iu"
        # Joined with plain integers, which may be names, they are plain.
        return result.view(Positions if set(types) == {Positions} else np.ndarray) if kept else result


_JOINS = (np.concatenate, np.hstack, np.append, np.unique, np.union1d, np.setdiff1d, np.intersect1d)


def positions(nodes: Any) -> Positions:
    """Nodes by their place in a graph, from 0, for a graph whose names are integers, too.

    Everything that takes nodes takes these: ``model.predict(kn.positions([0, 1]))``. A mask does as well.

    >>> from kernode.graph import Graph
    >>> graph = Graph.from_edges([(0, 1)], np.eye(3), node_names=[30, 10, 20])
    >>> graph.find([10]), graph.find(positions([1])), graph.find([False, True, False])
    (Positions([1]), Positions([1]), Positions([1]))
    """
    array = np.asarray(nodes)
    if array.dtype == bool:
        array = np.flatnonzero(array)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"positions must be integers from 0. Got {array.dtype}.")
    return array.astype(np.int64).view(Positions)


class Lookup:
    """The nodes of one graph, to be found by name or by position."""

    def __init__(self, names: np.ndarray | None, n: int, of: str = "the graph") -> None:
        self.names, self.n, self.of = names, n, of

    def find(self, nodes: Any, *, sure: bool = False) -> Positions:
        """Positions of nodes; the shape stays, but for a mask, which gives those it marks.

        ``sure``: whether integers are names beyond doubt, where names are integers.
        """
        nodes = _as_array(nodes)
        if nodes.dtype.kind == "O" and all(isinstance(node, str) for node in nodes.flat):
            nodes = nodes.astype(str)
        if nodes.dtype == bool:
            return self._marked(nodes)
        if nodes.dtype.kind in "UT" and nodes.size:
            return self._named(nodes.astype(str))
        if nodes.dtype.kind in "iu" and not isinstance(nodes, Positions) and self.has_integer_names:
            return self._named(nodes.astype(str), integers=True) if sure else self._named_by_integers(nodes)
        return checked_nodes(nodes, self.n).view(Positions)

    def name(self, node: int) -> str:
        """What to call a node in a sentence."""
        return str(node) if self.names is None else repr(str(self.names[node]))

    @cached_property
    def has_integer_names(self) -> bool:
        """Whether an integer is a name here."""
        return self.names is not None and bool(np.char.isdecimal(np.char.lstrip(self.names, "-")).any())

    def _marked(self, mask: np.ndarray) -> Positions:
        if mask.shape != (self.n,):
            raise InputError(
                f"a mask must hold one boolean per node ({self.n:,} of {self.of}). Got shape {mask.shape}."
            )
        return np.flatnonzero(mask).view(Positions)

    def _named_by_integers(self, nodes: np.ndarray) -> Positions:
        """Integers as names, which is said where they could be positions of others."""
        at = self._named(nodes.astype(str), integers=True)
        others = np.flatnonzero(np.ravel(at != nodes))
        if len(others) and nodes.min() >= 0 and nodes.max() < self.n:
            warn(  # always in the same words, so that it is heard once
                f"integers were taken as names of nodes of {self.of}, though they could be positions. "
                "Pass names as text, or positions as kn.positions(…), to say which."
            )
        return at

    def _named(self, wanted: np.ndarray, *, integers: bool = False) -> Positions:
        if self.names is None:
            raise InputError(f"the nodes of {self.of} have no names. Give indices instead of text.")
        names, order = self._sorted
        at = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
        missing = wanted[names[at] != wanted]
        if missing.size:
            raise InputError(self._no_such(str(missing.flat[0]), integers))
        return order[at].astype(np.int64).view(Positions)

    def _no_such(self, name: str, integers: bool) -> str:
        assert self.names is not None
        sentence = f"no node of {self.of} is called {name!r}."
        if not name.isdecimal():
            return f"{sentence} Check the name."
        padded = self.names[np.char.lstrip(self.names, "0") == name]
        if len(padded):
            return f"{sentence} Did you mean the text {str(padded[0])!r}? Integers lose their leading zeros."
        if integers and int(name) < self.n:  # text was never meant as a position
            return f"{sentence} Its names are integers; for positions from 0 write kn.positions([{name}])."
        return f"{sentence} Check the name."

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Names in ascending order, and the node that each belongs to."""
        assert self.names is not None
        order = np.argsort(self.names)
        return self.names[order], order


def require_one_reading(lookup: Lookup, given: Any, y: np.ndarray, labels: np.ndarray) -> bool:
    """Raise where integers are taken as names, but only as positions do the classes agree with the graph's.

    ``given``: m nodes as they came; ``y``: their classes as they came; ``labels``: the graph's own, n.
    Returns whether they agree as names.
    """
    given = _as_array(given)
    plain = given.dtype.kind in "iu" and not isinstance(given, Positions) and given.size
    if not plain or not lookup.has_integer_names or given.shape != y.shape:
        return False
    if given.min() < 0 or given.max() >= lookup.n:
        return False
    as_names = _agree(y, labels[lookup.find(given, sure=True)])
    if _agree(y, labels[given]) and not as_names:
        raise InputError(
            f"nodes as names of {lookup.of} contradict its classes, and as positions they agree. "
            "Write kn.positions(nodes) where positions are meant."
        )
    return as_names


def _agree(y: np.ndarray, labels: np.ndarray) -> bool:
    """Whether two lists of classes divide the nodes alike, into several classes."""
    if (labels < 0).any():
        return False
    codes = np.unique(y, return_inverse=True)[1].reshape(-1)
    parts = len(np.unique(np.stack([codes, labels]), axis=1).T)
    return 1 < parts == len(np.unique(codes)) == len(np.unique(labels))


def checked_nodes(nodes: Any, n: int) -> np.ndarray:
    """Node indices as int64, or a sentence about the first that a graph of n nodes does not have."""
    nodes = np.asarray(nodes)
    if nodes.size and nodes.dtype.kind not in "iu":
        raise InputError(f"nodes must be integer indices. Got {nodes.dtype}.")
    if nodes.size and nodes.min() < 0:
        raise InputError(f"Negative values in data: node {nodes.min()} is not in the graph, counted from 0.")
    outside = nodes[nodes >= n] if nodes.size else nodes
    if outside.size:
        raise InputError(f"node {outside.flat[0]} is not in the graph. Nodes run from 0 to {n - 1}.")
    return nodes.astype(np.int64)


def _as_array(nodes: Any) -> np.ndarray:
    try:
        return np.asanyarray(nodes)
    except (ValueError, TypeError):  # rows of different lengths, mostly
        raise InputError("nodes must be a regular array. Got rows of different lengths or kinds.") from None
