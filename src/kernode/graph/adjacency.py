"""Edges as a symmetric CSR matrix, built and checked in little more memory than the matrix takes."""

from __future__ import annotations

from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np
from scipy import sparse

from kernode.errors import InputError

MAX_NODES = 2**31  # so that a pair of nodes and its direction fit in 63 bits


class Verified:
    """Read-only matrices of one kind that were checked, and that a Graph takes without a copy or a check.

    Adding a matrix vouches for it, and hands over the only reference to its memory. Matrices are known by
    identity: an equal one, or one that was changed since, is not verified.

    >>> known, matrix = Verified(), np.eye(2)
    >>> matrix in known, known.add(matrix) in known, np.eye(2) in known
    (False, True, False)
    """

    def __init__(self) -> None:
        self._matrices: WeakValueDictionary[int, Any] = WeakValueDictionary()

    def add(self, matrix: Any) -> Any:
        """Make a matrix read-only and remember it."""
        for array in buffers(matrix):
            array.setflags(write=False)
        self._matrices[id(matrix)] = matrix
        return matrix

    def __contains__(self, matrix: Any) -> bool:
        known = self._matrices.get(id(matrix)) is matrix
        # scipy can put new arrays into an old matrix, by setdiag for one
        return known and not any(array.flags.writeable for array in buffers(matrix))


ADJACENCIES = Verified()  # symmetric, no loops, weights above 0
FEATURES = Verified()  # finite floats


def buffers(matrix: Any) -> tuple[np.ndarray, ...]:
    """Return the arrays that hold a dense or a CSR matrix."""
    return (matrix.indptr, matrix.indices, matrix.data) if sparse.issparse(matrix) else (matrix,)


def undirected(
    edges: np.ndarray, weights: np.ndarray | None, n: int
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    """Make edges (m × 2, indices in range) undirected: each pair once, with its largest weight, no loops.

    Returns the verified matrix and notes on what was done. Without weights every edge has weight 1, and the
    peak memory is little above that of the result and one int64 per edge.
    """
    keys = _directed_keys(edges, n)
    listed = len(keys)
    if weights is not None and listed < len(edges):
        weights = weights[edges[:, 0] != edges[:, 1]]
    keys, weights, directed = merged(keys, weights)
    notes = notes_on_edges(listed, directed, len(keys), loops=len(edges) - listed)
    upper = _upper(keys, weights, n)
    del keys
    return ADJACENCIES.add(mirrored(upper)), notes


def merged(keys: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None, int]:
    """Sort numbers pair · 2 + direction, in place, and merge each pair with its largest weight.

    Returns the pairs, their weights, and how many pairs there were with both directions counted apart.
    """
    if weights is not None:
        weights = weights[np.argsort(keys)]
    keys.sort()
    directed = int(np.count_nonzero(_is_first(keys)))
    keys >>= 1  # the direction has been counted, and now does not matter
    first = _is_first(keys)
    if weights is not None and len(keys):
        weights = np.maximum.reduceat(weights, np.flatnonzero(first))
    return keys[first], weights, directed


def from_keys(keys: np.ndarray, n: int) -> sparse.csr_array:
    """Build the verified matrix of edges of weight 1 from keys low · n + high (int64, ascending, distinct).

    >>> from_keys(np.array([0 * 3 + 1, 1 * 3 + 2]), 3).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]], dtype=float32)
    """
    return ADJACENCIES.add(mirrored(_upper(keys, None, n)))


def from_upper(upper: sparse.csr_array) -> sparse.csr_array:
    """Return A + Aᵀ of an upper triangle, checked and verified.

    >>> from_upper(sparse.csr_array([[0, 2.0], [0, 0]])).toarray()
    array([[0., 2.],
           [2., 0.]], dtype=float32)
    """
    if not upper.has_canonical_format:
        upper = upper.copy()
        upper.sum_duplicates()
    upper = upper.astype(np.float32, copy=False)
    _require_weights(upper.data)
    rows = np.flatnonzero(np.diff(upper.indptr))
    if (upper.indices[upper.indptr[rows]] <= rows).any():
        _refuse("an upper triangle must have no entries on or below the diagonal. Drop them.")
    return ADJACENCIES.add(mirrored(upper))


def checked_adjacency(matrix: Any) -> sparse.csr_array:
    """Return a verified copy of a matrix, or raise."""
    if not sparse.issparse(matrix) or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = getattr(matrix, "shape", None)
        kind = type(matrix).__name__ + (f" of shape {shape}" if shape is not None else "")
        sentence = f"adjacency must be a square scipy sparse matrix. Got {kind}."
        raise InputError(sentence, "shape", setting="adjacency", found=shape)
    if matrix in ADJACENCIES:
        return matrix
    matrix = _own_csr(matrix)
    _require_weights(matrix.data)
    if matrix.diagonal().any():
        _refuse("adjacency must have no self-loops. Build the graph with Graph.from_edges.")
    columns = matrix.tocsc()  # its arrays are those of the transpose in CSR
    if not all(map(np.array_equal, buffers(matrix), buffers(columns))):
        _refuse("adjacency must be symmetric. Build the graph with Graph.from_edges.")
    return ADJACENCIES.add(matrix)


def mirrored(upper: sparse.csr_array) -> sparse.csr_array:
    """Return A + Aᵀ of a strictly upper triangle in canonical form; boolean entries become weights of 1."""
    return _in_float32((upper + upper.T).tocsr(), copy=False)


def _in_float32(matrix: sparse.csr_array, *, copy: bool) -> sparse.csr_array:
    """Return a matrix in float32, with the smallest index type."""
    index = index_type(matrix.shape[0], matrix.nnz)
    parts = (
        matrix.data.astype(np.float32, copy=copy),
        matrix.indices.astype(index, copy=copy),
        matrix.indptr.astype(index, copy=copy),
    )
    return sparse.csr_array(parts, shape=matrix.shape)


def require_indices(edges: np.ndarray, n: int) -> None:
    """Raise unless every entry of the edges (m × 2) is a node."""
    if n > MAX_NODES:
        sentence = f"a graph has at most {MAX_NODES:,} nodes. Got {n:,}: split it into parts."
        raise InputError(sentence, "too-large", need=n, free=MAX_NODES)
    if len(edges) and (edges.min() < 0 or edges.max() >= n):
        row = int(np.flatnonzero(((edges < 0) | (edges >= n)).any(axis=1))[0])
        raise InputError(
            f"edge {row} joins nodes {edges[row, 0]} and {edges[row, 1]}; nodes run from 0 to {n - 1}.",
            "unknown", what="node", name=int(edges[row].max()), row=row,
        )  # fmt: skip


def _directed_keys(edges: np.ndarray, n: int) -> np.ndarray:
    """Return one number per edge without loops, in order: (low · n + high) · 2 + direction."""
    source, target = edges[:, 0], edges[:, 1]
    keys = np.minimum(source, target).astype(np.int64, copy=False)
    keys *= n
    np.add(keys, np.maximum(source, target), out=keys, casting="unsafe")  # indices are below 2³¹
    keys *= 2
    keys += source > target
    proper = source != target
    return keys if proper.all() else keys[proper]


def _is_first(ascending: np.ndarray) -> np.ndarray:
    """Mark the first of each run of equal numbers."""
    first = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


def notes_on_edges(listed: int, directed: int, distinct: int, loops: int) -> tuple[str, ...]:
    """Describe what was done to edges.

    Without loops, ``listed`` were given, ``directed`` of them distinct, ``distinct`` in either direction.
    """
    notes = []
    symmetric = directed == 2 * distinct  # every pair is listed in both directions
    if not symmetric:
        notes.append("made undirected")
    repeats = listed - (directed if symmetric else distinct)
    if repeats:
        notes.append(f"merged {repeats:,} repeated edge{'s' * (repeats != 1)}")
    if loops:
        notes.append(f"dropped {loops:,} self-loop{'s' * (loops != 1)}")
    return tuple(notes)


def _upper(keys: np.ndarray, weights: np.ndarray | None, n: int) -> sparse.csr_array:
    """Build the strictly upper triangle of ascending keys low · n + high; boolean without weights."""
    index = index_type(n, len(keys))
    starts = np.searchsorted(keys, np.arange(n + 1) * n).astype(index)
    data = np.ones(len(keys), bool) if weights is None else weights
    return sparse.csr_array((data, (keys % n).astype(index), starts), shape=(n, n))


def _own_csr(matrix: Any) -> sparse.csr_array:
    """Return canonical CSR in float32 with the smallest index type, in memory that is not the caller's."""
    # Any other format is converted, which makes new arrays.
    own = _in_float32(matrix.tocsr(), copy=matrix.format == "csr")
    try:
        own.check_format(full_check=True)
    except ValueError as error:
        _refuse(f"adjacency is not a valid CSR matrix ({error}). Build it again.")
    own.sum_duplicates()
    return own


def _require_weights(weights: np.ndarray) -> None:
    # Comparisons with NaN are false, and min and max return it.
    if not (weights.min(initial=1) > 0 and weights.max(initial=1) < np.inf):
        _refuse("adjacency must hold finite weights above 0. Drop other edges first.")


def _refuse(sentence: str) -> NoReturn:
    raise InputError(sentence, "setting", setting="adjacency")


def index_type(n: int, entries: int) -> type[np.signedinteger]:
    """Return the smallest index type of CSR that n columns and so many entries fit."""
    return np.int32 if max(n, entries) < 2**31 else np.int64
