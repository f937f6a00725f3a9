"""Graph: a frozen value, checked once when it is built."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from kernode.compute.chunks import is_mapped, row_chunks
from kernode.errors import InputError, bad_setting
from kernode.graph.adjacency import (
    ADJACENCIES,
    FEATURES,
    buffers,
    checked_adjacency,
    index_type,
    require_indices,
    undirected,
)
from kernode.graph.lookup import Lookup, Positions


class Origin:
    """What a reader keeps of its input with the graph: of tables, their columns and repairs."""

    def placed(self, features: Any, adjacency: sparse.csr_array, names: np.ndarray | None) -> Any:
        """Return features after edges changed, those that describe a node's place in the graph recomputed."""
        return features


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph with features on its nodes and, for some of them, a class or a number.

    n nodes, f features, c classes:

    - ``adjacency``: n × n, symmetric, no self-loops, weights > 0.
    - ``features``: n × f, finite; dense, or sparse and then kept sparse. A mapped file stays mapped.
    - ``labels``: n integers in 0 … c−1, or −1 where the class is not known.
    - ``class_names``: c names; the numbers as text where none are given. ``node_names``: n names, or None.
    - ``notes``: what was done to the input, in words. ``origin``: what a reader keeps of it.
    - ``targets``: n numbers to predict, NaN where the number is not known; None for none. ``target_name``:
      what they are called.

    Build one from raw edges (directed, repeated, with loops) with :meth:`from_edges`.

    >>> graph = Graph.from_edges([(0, 1), (1, 2), (1, 0)], features=np.eye(3), labels=[0, 0, 1])
    >>> graph
    Graph('graph': 3 nodes, 2 edges, 3 features, 2 classes)
    >>> graph.notes
    ('made undirected', 'merged 1 repeated edge')
    >>> Graph.from_edges([(0, 1)], features=np.eye(2), targets=[9.5, np.nan], target_name="price")
    Graph('graph': 2 nodes, 1 edges, 2 features, numbers 'price')
    """

    adjacency: sparse.csr_array
    features: np.ndarray | sparse.csr_array
    labels: np.ndarray
    class_names: tuple[str, ...] = ()
    node_names: np.ndarray | None = None
    name: str = "graph"
    notes: tuple[str, ...] = field(default=())
    origin: Origin | None = None
    targets: np.ndarray | None = None
    target_name: str = ""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "adjacency", checked_adjacency(self.adjacency))
        n = self.adjacency.shape[0]
        put(self, "features", _checked_features(self.features, n))
        put(self, "labels", _checked_labels(self.labels, n))
        classes = int(self.labels.max(initial=-1)) + 1
        # A part of a graph may lack some classes; thousands without a node are ids taken for classes.
        if classes > max(n, 10_000, len(self.class_names)):
            sentence = f"labels must count classes from 0. Got {classes - 1} for {n} nodes: renumber."
            raise InputError(sentence, "setting", setting="labels", value=classes - 1)
        names = tuple(str(c) for c in self.class_names) or tuple(str(c) for c in range(classes))
        if len(names) < classes:
            sentence = f"class_names must name all {classes} classes. Got {len(names)} names."
            raise InputError(sentence, "shape", setting="class_names", expected=classes, found=len(names))
        put(self, "class_names", names)
        if self.node_names is not None:
            put(self, "node_names", _checked_node_names(self.node_names, n))
        if self.targets is not None:
            put(self, "targets", _checked_targets(self.targets, n))
        put(self, "target_name", "" if self.targets is None else str(self.target_name))

    @classmethod
    def from_edges(
        cls, edges: Any, features: Any, labels: Any = None, *, weights: Any = None, **names: Any
    ) -> Graph:
        """Build a graph from m × 2 node indices: made undirected, repeats merged, self-loops dropped.

        A pair that is listed more than once, in either direction, becomes one edge with the largest of its
        weights. ``notes`` say what was done.
        """
        edges = as_array("edges", edges)
        if edges.size == 0:
            edges = np.empty((0, 2), dtype=np.int64)
        if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
            raise InputError(
                f"edges must be an m × 2 array of node indices. Got {edges.dtype} of shape {edges.shape}.",
                "shape", setting="edges", found=edges.shape,
            )  # fmt: skip
        if not sparse.issparse(features):
            features = as_array("features", features)
        n = len(features) if isinstance(features, np.ndarray) else features.shape[0]
        require_indices(edges, n)
        adjacency, notes = undirected(edges, _checked_weights(weights, len(edges)), n)
        labels = np.full(n, -1) if labels is None else labels
        return cls(adjacency, features, labels, notes=notes, **names)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, n."""
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return int(self.adjacency.nnz // 2)

    @property
    def n_features(self) -> int:
        """Number of feature columns, f."""
        return int(self.features.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes, c."""
        return len(self.class_names)

    @property
    def holds_numbers(self) -> bool:
        """Whether nodes have numbers to predict, and none of them a class."""
        return self.targets is not None and not (self.labels >= 0).any()

    @property
    def encoding(self) -> Any:
        """What the columns of tables became; None for a graph that is not from tables."""
        return getattr(self.origin, "encoding", None)

    @property
    def columns(self) -> Any:
        """Values of the tables' columns by name, n each; None for a graph that is not from tables."""
        return getattr(self.origin, "values", None)

    @property
    def listed(self) -> np.ndarray | None:
        """Which nodes the tables of nodes list: n booleans; None where all of them."""
        return getattr(self.origin, "listed", None)

    def listed_marks(self, nodes: Any) -> list[dict[str, bool]]:
        """For each node, ``{"listed": False}`` where only edges mention it, else an empty dictionary."""
        nodes = np.atleast_1d(nodes)
        listed = np.ones(len(nodes), bool) if self.listed is None else self.listed[nodes]
        return [{} if one else {"listed": False} for one in listed]

    @property
    def n_unlisted(self) -> int:
        """Number of nodes that only edges mention."""
        return 0 if self.listed is None else int((~self.listed).sum())

    @property
    def repairs(self) -> tuple[Any, ...]:
        """Rows of tables that were dropped or changed."""
        return getattr(self.origin, "repairs", ())

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over edges, weights and features, not labels or targets; identifies a model's graph."""
        return fingerprint_of(self.adjacency, self.features)

    def find(self, nodes: Any) -> Positions:
        """Return positions of nodes given by name, integer or mask; see :mod:`kernode.graph.lookup`.

        >>> trio = Graph.from_edges([(0, 1)], np.eye(3), node_names=["ann", "bob", "eve"])
        >>> trio.find(["eve", "ann"]), trio.find([2, 0])
        (Positions([2, 0]), Positions([2, 0]))
        """
        return self.lookup.find(nodes)

    def classes_of(self, nodes: Any, named: bool = True) -> list[Any]:
        """Return the known classes of nodes at these positions, by name or by number; None if unknown.

        >>> Graph.from_edges([(0, 1)], np.eye(2), [0, -1], class_names=("tea", "coffee")).classes_of([0, 1])
        ['tea', None]
        """
        names: Any = self.class_names if named else range(self.n_classes)
        return [None if label < 0 else names[label] for label in self.labels[nodes].tolist()]

    @cached_property
    def lookup(self) -> Lookup:
        """Index of the nodes by name and by position."""
        return Lookup(self.node_names, self.n_nodes, repr(self.name))

    def __repr__(self) -> str:
        numbers = [] if self.targets is None else [f"numbers {self.target_name!r}".removesuffix(" ''")]
        classes = [f"{self.n_classes} classes"] if self.n_classes or not numbers else []
        return (
            f"Graph({self.name!r}: {self.n_nodes:,} nodes, {self.n_edges:,} edges, "
            f"{', '.join([f'{self.n_features:,} features', *classes, *numbers])})"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave the sorted names out of a pickle."""
        return {name: value for name, value in vars(self).items() if name != "lookup"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle, read-only again."""
        self.__dict__.update(state)
        ADJACENCIES.add(self.adjacency)
        FEATURES.add(self.features)
        for array in (self.labels, self.node_names, self.targets):
            if array is not None:
                array.setflags(write=False)

    def __sizeof__(self) -> int:
        """Bytes with all arrays: Dask and Ray send large objects to each worker once."""
        arrays = [*buffers(self.adjacency), *buffers(self.features), self.labels]
        others = [array for array in (self.node_names, self.targets) if array is not None]
        return object.__sizeof__(self) + sum(array.nbytes for array in (*arrays, *others))

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        """Return the graph itself: scikit-learn's clone() would otherwise duplicate gigabytes."""
        return self


def fingerprint_of(adjacency: Any, features: Any) -> str:
    """Return the fingerprint of a graph of these matrices."""
    digest = hashlib.sha256()
    for matrix in (adjacency, features):
        digest.update(repr(matrix.shape).encode())
        for array in buffers(matrix):
            canonical = np.int64 if array.dtype.kind in "iu" else np.float64
            for rows in row_chunks(array):
                digest.update(array[rows].astype(canonical).tobytes())
    return digest.hexdigest()


def typed_names(names: np.ndarray) -> np.ndarray:
    """Return names as written to files: integers where all of them are, text otherwise.

    >>> typed_names(np.array(["7", "12"])), typed_names(np.array(["07", "12"]))
    (array([ 7, 12]), array(['07', '12'], dtype='<U2'))
    """
    try:
        numbers = names.astype(np.int64)
    except (ValueError, OverflowError):
        return names
    return numbers if np.array_equal(numbers.astype(str), names) else names


def _checked_weights(weights: Any, m: int) -> np.ndarray | None:
    if weights is None:
        return None
    weights = as_array("weights", weights)
    _require_length("weights", weights, m, "number per edge")
    if weights.dtype.kind not in "fiub":
        raise bad_setting("weights", "numbers", weights.dtype)
    weights = weights.astype(np.float32, copy=False)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if bad.size:
        raise InputError(
            f"edge {bad[0]} has weight {weights[bad[0]]}. It must be finite and above 0: drop the row.",
            "setting", setting="weights", row=int(bad[0]), value=float(weights[bad[0]]),
        )  # fmt: skip
    return weights


def _checked_features(matrix: Any, n: int) -> np.ndarray | sparse.csr_array:
    known = matrix in FEATURES
    if sparse.issparse(matrix):
        if not known:
            matrix = sparse.csr_array(matrix, copy=True)
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            index = index_type(max(matrix.shape), matrix.nnz)  # scikit-learn takes 32 bits
            matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    else:
        matrix = as_array("features", matrix)
    if matrix.ndim == 2 and 0 in matrix.shape:
        sentence = f"a graph needs nodes and features. Got features of shape {matrix.shape}."
        raise InputError(sentence, "too-few", setting="features", found=matrix.shape)
    if matrix.ndim != 2 or matrix.shape[0] != n:
        sentence = f"features must have one row per node ({n}). Got shape {matrix.shape}."
        raise InputError(sentence, "shape", setting="features", expected=n, found=matrix.shape)
    if matrix.dtype.kind not in "fiub":
        raise bad_setting("features", "numbers", matrix.dtype)
    if known:
        return matrix
    _require_finite(matrix)
    if matrix.dtype.kind != "f":
        return FEATURES.add(matrix.astype(np.float32))
    if sparse.issparse(matrix):
        return FEATURES.add(matrix)
    # A mapped file stays mapped. Any other array is copied, because its owner may change it.
    return FEATURES.add(matrix.view() if is_mapped(matrix) else np.array(matrix))


def _require_finite(matrix: Any) -> None:
    values = matrix.data if sparse.issparse(matrix) else matrix
    for block in row_chunks(values):
        finite = np.isfinite(values[block])
        if finite.all():
            continue
        at = np.argwhere(~finite)[0] + [block.start, *[0] * (values.ndim - 1)]
        if sparse.issparse(matrix):
            entries = matrix.tocoo()
            at = np.array([entries.row[at[0]], entries.col[at[0]]])
        row, column = at.tolist()
        raise InputError(
            f"features, node {row}: column {column} is not a finite number. Fill or drop it before loading.",
            "not-finite", setting="features", row=row, column=column,
        )  # fmt: skip


def _checked_labels(labels: Any, n: int) -> np.ndarray:
    labels = np.array(labels)
    _require_length("labels", labels, n, "class per node")
    if labels.dtype.kind not in "iu" or labels.min(initial=0) < -1:
        got = labels.min() if labels.dtype.kind in "iu" else labels.dtype
        sentence = f"labels must be integers ≥ 0, or −1 where the class is not known. Got {got}."
        raise InputError(sentence, "setting", setting="labels")
    labels = labels.astype(np.int64)
    labels.setflags(write=False)
    return labels


def _checked_targets(targets: Any, n: int) -> np.ndarray:
    targets = as_array("targets", targets)
    _require_length("targets", targets, n, "number per node")
    if targets.dtype.kind not in "fiu":
        raise bad_setting("targets", "numbers, NaN where the number is not known", targets.dtype)
    targets = targets.astype(np.float64)
    for node in np.flatnonzero(np.isinf(targets))[:1]:
        sentence = (
            f"targets, node {node}: the number is infinite. Correct it, or give NaN if it is not known."
        )
        raise InputError(sentence, "not-finite", setting="targets", row=int(node))
    if np.isnan(targets).all():
        sentence = "targets must have the number of at least one node. Leave them out if none is known."
        raise InputError(sentence, "missing", setting="targets")
    targets.setflags(write=False)
    return targets


def _checked_node_names(names: Any, n: int) -> np.ndarray:
    # As text: files disagree about 17 and "17".
    names = np.array(names).astype(str)
    _require_length("node_names", names, n, "name per node")
    if len(np.unique(names)) != n:
        sentence = "node_names must be unique. Remove or rename the repeated ones."
        raise InputError(sentence, "duplicate", setting="node_names")
    names.setflags(write=False)
    return names


def _require_length(name: str, values: np.ndarray, length: int, what: str) -> None:
    if values.shape != (length,):
        sentence = f"{name} must hold one {what} ({length}). Got shape {values.shape}."
        raise InputError(sentence, "shape", setting=name, expected=(length,), found=values.shape)


def as_array(what: str, values: Any) -> np.ndarray:
    """Return values as a regular array, or raise."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError):  # rows of different lengths, mostly
        sentence = f"{what} must be a regular array. Got rows of different lengths or kinds."
        raise InputError(sentence, "shape", setting=what) from None
