"""The lean ways to a symmetric matrix, against the slow and obvious ones."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import kernode as kn
from graphs import graphs
from kernode.errors import InputError
from kernode.graph.adjacency import (
    ADJACENCIES,
    FEATURES,
    checked_adjacency,
    from_keys,
    from_upper,
    mirrored,
    undirected,
)


def slow_undirected(edges, weights, n):
    """Sort by (key, weight) and keep the last of each key; compare both directions as sets."""
    weights = np.ones(len(edges), np.float32) if weights is None else weights
    loop = edges[:, 0] == edges[:, 1]
    edges, weights = edges[~loop], weights[~loop]
    pairs = np.sort(edges, axis=1).astype(np.int64)
    key = pairs[:, 0] * n + pairs[:, 1]
    order = np.lexsort((weights, key))
    last = np.append(key[order][1:] != key[order][:-1], True) if len(key) else np.empty(0, bool)
    kept = order[last]
    source, target = pairs[kept].T
    both = (np.concatenate([source, target]), np.concatenate([target, source]))
    adjacency = sparse.csr_array((np.tile(weights[kept], 2), both), shape=(n, n))

    notes = []
    forward = np.unique(edges[:, 0] * np.int64(n) + edges[:, 1])
    backward = np.unique(edges[:, 1] * np.int64(n) + edges[:, 0])
    if not np.array_equal(forward, backward):
        notes.append("made undirected")
        repeats = len(edges) - len(kept)
    else:
        repeats = len(edges) - len(forward)
    if repeats:
        notes.append(f"merged {repeats:,} repeated edge{'s' * (repeats != 1)}")
    if loop.any():
        notes.append(f"dropped {loop.sum():,} self-loop{'s' * int(loop.sum() != 1)}")
    return adjacency, tuple(notes)


def assert_same(one, other):
    assert one.shape == other.shape
    assert one.dtype == np.float32
    assert one.has_canonical_format
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


@st.composite
def edge_lists(draw):
    """Edges of every kind: none, loops, repeats, both directions, in any integer type."""
    n = draw(st.integers(1, 9))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=40))
    if draw(st.booleans()):
        edges += [(v, u) for u, v in edges]
    kind = draw(st.sampled_from(["int8", "uint8", "int32", "uint32", "int64", "uint64", ">i4"]))
    edges = np.array(edges, dtype=kind).reshape(-1, 2)
    if draw(st.booleans()):
        edges = np.asfortranarray(edges)
    weight = st.floats(0.125, 8, width=32)
    weights = draw(st.none() | st.lists(weight, min_size=len(edges), max_size=len(edges)))
    return edges, None if weights is None else np.array(weights, np.float32), n


@given(edge_lists())
def test_edges_become_the_matrix_and_the_notes_that_the_slow_way_gives(case):
    edges, weights, n = case
    adjacency, notes = undirected(edges, weights, n)
    expected, expected_notes = slow_undirected(edges, weights, n)
    assert_same(adjacency, expected)
    assert notes == expected_notes
    assert adjacency.indices.dtype == adjacency.indptr.dtype == np.int32


@given(graphs())
def test_triangles_and_keys_give_the_graph_they_came_from(graph):
    upper = sparse.triu(graph.adjacency, format="csr")
    assert_same(from_upper(upper), graph.adjacency)
    assert_same(mirrored(upper), sparse.csr_array(upper + upper.T))
    coo = upper.tocoo()
    keys = coo.row.astype(np.int64) * graph.n_nodes + coo.col
    ones = graph.adjacency.copy()
    ones.data = np.ones_like(ones.data)
    assert_same(from_keys(keys, graph.n_nodes), ones)


def test_a_triangle_is_checked_at_the_door():
    for entries in ([[0, 0], [1, 0]], [[1, 0], [0, 0]]):
        with pytest.raises(InputError, match="no entries on or below the diagonal"):
            from_upper(sparse.csr_array(np.array(entries, float)))
    for weight in (-1, np.nan, np.inf):
        with pytest.raises(InputError, match="finite weights above 0"):
            from_upper(sparse.csr_array(np.array([[0, weight], [0, 0]])))
    repeated = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2))
    assert from_upper(repeated).toarray().tolist() == [[0, 3], [3, 0]]


def test_the_first_edge_out_of_range_is_named():
    edges = np.zeros((11, 2), dtype=np.int64)
    edges[9], edges[10] = (1, 5), (7, 0)
    with pytest.raises(InputError, match=r"edge 9 joins nodes 1 and 5; nodes run from 0 to 2\."):
        kn.Graph.from_edges(edges, np.eye(3))
    edges[6, 1] = -1
    with pytest.raises(InputError, match="edge 6 joins nodes 0 and -1"):
        kn.Graph.from_edges(edges, np.eye(3))
    with pytest.raises(InputError, match="joins nodes 18446744073709551615 and 0"):
        kn.Graph.from_edges(np.array([[2**64 - 1, 0]], np.uint64), np.eye(3))


def test_more_nodes_than_a_key_can_hold_are_refused():
    features = np.broadcast_to(np.float32(0), (2**31 + 1, 1))
    with pytest.raises(InputError, match="at most 2,147,483,648 nodes"):
        kn.Graph.from_edges([(0, 1)], features)


# memory


def peak_of(compute):
    """The result, and the most bytes that were held at once while it was computed."""
    tracemalloc.start()
    try:
        return compute(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def bytes_of(matrix):
    return sum(array.nbytes for array in (matrix.indptr, matrix.indices, matrix.data))


@pytest.mark.parametrize("weighted", [False, True])
def test_building_holds_the_matrix_and_a_number_or_two_for_each_edge(weighted):
    m, n = 500_000, 20_000
    random = np.random.default_rng(0)
    edges, features = random.integers(0, n, (m, 2)), np.ones((n, 1), np.float32)
    weights = random.uniform(1, 2, m).astype(np.float32) if weighted else None
    graph, peak = peak_of(lambda: kn.Graph.from_edges(edges, features, weights=weights))
    assert peak < bytes_of(graph.adjacency) + (1 + weighted) * 8 * m + 4e6  # for arrays over nodes


def test_checking_a_matrix_holds_two_of_its_size():
    n = 20_000
    edges = np.random.default_rng(0).integers(0, n, (400_000, 2))
    matrix = undirected(edges, None, n)[0].copy()
    _, peak = peak_of(lambda: checked_adjacency(matrix))
    assert peak < 2.2 * bytes_of(matrix) + 4e6


# matrices from elsewhere


@given(graphs(), st.sampled_from(["csr", "csc", "coo", "lil", "dok", "bsr"]))
def test_a_symmetric_matrix_of_any_format_is_taken_and_never_shared(graph, kind):
    matrix = graph.adjacency.astype(np.float64).asformat(kind)
    again = kn.Graph(matrix, graph.features, graph.labels)
    assert_same(again.adjacency, graph.adjacency)
    assert again.fingerprint == graph.fingerprint
    for mine in (again.adjacency.data, again.adjacency.indices, again.adjacency.indptr):
        assert not mine.flags.writeable
    if kind in ("csr", "csc"):
        for part in ("data", "indices", "indptr"):
            assert not np.shares_memory(getattr(matrix, part), getattr(again.adjacency, part))
            assert getattr(matrix, part).flags.writeable


def test_repeated_entries_of_a_matrix_are_summed():
    parts = (np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 2, 3]))
    graph = kn.Graph(sparse.csr_array(parts, shape=(2, 2)), np.eye(2), [0, 0])
    assert graph.adjacency.toarray().tolist() == [[0, 3], [3, 0]]


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.eye(2), "must be a square scipy sparse matrix. Got ndarray of shape"),
        (None, "Got NoneType"),
        (sparse.csr_array(np.array([[0, 1.0], [2.0, 0]])), "must be symmetric"),
        (sparse.csr_array(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0.0]])), "must be symmetric"),
        (sparse.csr_array(np.array([[1.0, 0], [0, 0]])), "no self-loops"),
        (sparse.csr_array(np.array([[0, np.nan], [np.nan, 0]])), "finite weights above 0"),
        (sparse.csr_array(np.array([[0, -1.0], [-1.0, 0]])), "finite weights above 0"),
        (sparse.csr_array((np.zeros(2), ([0, 1], [1, 0])), shape=(2, 2)), "finite weights above 0"),
        (
            sparse.csr_array((np.ones(1), np.array([7]), np.array([0, 1, 1])), shape=(2, 2)),
            "valid CSR matrix",
        ),
    ],
)
def test_a_matrix_that_is_no_adjacency_is_refused(matrix, sentence):
    with pytest.raises(InputError, match=sentence):
        checked_adjacency(matrix)


# matrices that were checked once


def test_only_the_very_matrix_is_taken_unchecked_and_only_as_what_it_is():
    features = sparse.csr_array(np.array([[0, 1.0], [0, 0]]))
    graph = kn.Graph.from_edges([(0, 1)], features)
    assert graph.adjacency in ADJACENCIES
    assert graph.features in FEATURES
    assert graph.adjacency.copy() not in ADJACENCIES
    with pytest.raises(InputError, match="must be symmetric"):  # checked, but as features
        kn.Graph(graph.features, np.eye(2), [0, 0])
    other = replace(graph, labels=[1, 1], name="other")
    assert other.adjacency is graph.adjacency
    assert other.features is graph.features
    graph.adjacency.data = np.array([1.0, 2.0])
    with pytest.raises(InputError, match="must be symmetric"):
        replace(graph, name="other")
