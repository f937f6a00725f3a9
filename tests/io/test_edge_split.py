from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphs import clustered_graph, graphs
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io import load_graph
from kernode.io.edge_split import EdgeSplit, is_edge, split_edges
from refusals import refused

PARTS = ("validation", "validation_negatives", "test", "test_negatives")


@pytest.fixture(scope="module")
def cora() -> Graph:
    return load_graph("cora")


def edges_of(graph: Graph) -> set[tuple[int, int]]:
    """Read from the CSR by hand, row by row."""
    matrix = graph.adjacency
    return {
        (u, int(v))
        for u in range(graph.n_nodes)
        for v in matrix.indices[matrix.indptr[u] : matrix.indptr[u + 1]]
        if u < v
    }


def pairs_of(pairs: np.ndarray) -> set[tuple[int, int]]:
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    return {(int(u), int(v)) for u, v in pairs}


def without(n: int, missing: set[tuple[int, int]]) -> Graph:
    """A complete graph but for some pairs."""
    edges = [pair for pair in combinations(range(n), 2) if pair not in missing]
    return Graph.from_edges(edges, np.ones((n, 1)), name="nearly complete")


def check(graph: Graph, split: EdgeSplit) -> None:
    """Everything a split promises, against sets of pairs."""
    full, train = edges_of(graph), edges_of(split.graph)
    validation, test = pairs_of(split.validation), pairs_of(split.test)
    assert train | validation | test == full
    assert len(train) + len(validation) + len(test) == len(full)
    first, second = pairs_of(split.validation_negatives), pairs_of(split.test_negatives)
    assert len(first) == len(validation)
    assert len(second) == len(test)
    assert not first & second
    assert not (first | second) & full
    for part in PARTS:
        pairs = getattr(split, part)
        assert pairs.dtype == np.int64
        assert pairs.shape == (len(pairs), 2)
        assert (pairs[:, 0] < pairs[:, 1]).all()
        assert pairs.min() >= 0
        assert pairs.max() < graph.n_nodes


# the split


@given(graphs(), st.integers(0, 5), st.sampled_from([0.2, 0.3, 0.34]), st.sampled_from([0.25, 0.4]))
@settings(suppress_health_check=[HealthCheck.filter_too_much])
def test_parts_are_disjoint_and_negatives_are_never_edges(graph, seed, validation, test):
    held_out = int(validation * graph.n_edges) + int(test * graph.n_edges)
    assume(int(min(validation, test) * graph.n_edges) >= 1)
    assume(graph.n_nodes * (graph.n_nodes - 1) // 2 - graph.n_edges >= held_out)
    check(graph, split_edges(graph, seed, validation, test))


@pytest.mark.parametrize("seed", range(3))
def test_cora_is_split_as_vgae_does(cora, seed):
    split = split_edges(cora, seed)
    check(cora, split)
    assert [split.graph.n_edges, *(len(getattr(split, part)) for part in PARTS)] == [4488, 263, 263, 527, 527]
    assert repr(split) == (
        "EdgeSplit(4,488 training, 263 validation, 527 test edges; 263 validation, 527 test negatives)"
    )


def test_counts_are_those_of_the_decimal_fraction():
    graph = Graph.from_edges([(i, i + 1) for i in range(100)], np.ones((101, 1)))
    assert 0.29 * 100 < 29
    assert len(split_edges(graph, validation=0.29, test=0.57).validation) == 29


def test_the_training_graph_keeps_all_but_the_held_out_edges():
    random = np.random.default_rng(0)
    graph = clustered_graph()
    weights = sparse.triu(graph.adjacency, 1).tocsr()
    weights.data = random.uniform(0.5, 2, weights.nnz).astype(np.float32)
    names = np.array([f"node {i}" for i in range(graph.n_nodes)])
    graph = replace(
        graph, adjacency=weights + weights.T, node_names=names, class_names=("a", "b", "c", "d"), notes=("x",)
    )
    train = split_edges(graph, seed=3).graph
    for u, v in edges_of(train):
        assert train.adjacency[u, v] == train.adjacency[v, u] == graph.adjacency[u, v]
    assert np.array_equal(train.features, graph.features)
    assert np.array_equal(train.labels, graph.labels)
    assert np.array_equal(train.node_names, names)
    assert (train.name, train.class_names, train.notes) == ("clusters", ("a", "b", "c", "d"), ("x",))


def test_the_seed_decides(cora):
    one, same, other = (split_edges(cora, seed) for seed in (7, np.int64(7), 8))
    assert one.graph.fingerprint == same.graph.fingerprint != other.graph.fingerprint
    for part in PARTS:
        assert np.array_equal(getattr(one, part), getattr(same, part))
        assert not np.array_equal(getattr(one, part), getattr(other, part))


def test_a_split_of_cora_stays_the_same_from_release_to_release(cora):
    split = split_edges(cora, seed=0)
    assert {part: getattr(split, part)[0].tolist() for part in PARTS} == {
        "validation": [374, 1101],
        "validation_negatives": [272, 2613],
        "test": [1013, 1840],
        "test_negatives": [1091, 1416],
    }


@pytest.mark.slow
def test_every_non_edge_is_drawn_equally_often():
    graph = Graph.from_edges([(0, 1), (0, 3), (1, 2), (2, 3), (2, 4), (4, 5)], np.ones((6, 1)))
    non_edges = sorted(set(combinations(range(6), 2)) - edges_of(graph))
    for part in ("validation_negatives", "test_negatives"):
        counts = dict.fromkeys(non_edges, 0)
        for seed in range(900):
            for pair in pairs_of(getattr(split_edges(graph, seed, 0.2, 0.4), part)):
                counts[pair] += 1
        seen = np.array(list(counts.values()))
        expected = seen.mean()
        assert ((seen - expected) ** 2 / expected).sum() < 26.1  # χ², 8 degrees of freedom: p = 0.001


@given(st.integers(7, 14), st.integers(0, 20), st.data())
def test_a_graph_with_just_enough_non_edges_is_split(n, seed, data):
    m = n * (n - 1) // 2
    pairs = list(combinations(range(n), 2))
    needed = next(k for k in range(m) if (m - k) // 10 + (m - k) // 20 <= k)
    missing = set(data.draw(st.permutations(pairs))[:needed])
    graph = without(n, missing)
    assume(graph.n_edges >= 20)
    split = split_edges(graph, seed)
    check(graph, split)
    if graph.n_edges // 10 + graph.n_edges // 20 == needed:
        assert pairs_of(split.validation_negatives) | pairs_of(split.test_negatives) == missing


def test_nodes_in_the_millions_do_not_overflow():
    n = 3_000_000  # n² is beyond 32 bits, and so is the number of pairs
    graph = Graph.from_edges([(n - 2 * i - 2, n - 2 * i - 1) for i in range(40)], sparse.csr_array((n, 1)))
    matrix = graph.adjacency
    matrix = sparse.csr_array((matrix.data, matrix.indices.astype("i4"), matrix.indptr.astype("i4")), (n, n))
    graph = replace(graph, adjacency=matrix)
    assert graph.adjacency.indices.dtype == np.int32
    split = split_edges(graph)
    assert is_edge(graph.adjacency, split.test).all()
    assert not is_edge(graph.adjacency, split.test_negatives).any()
    assert (split.test_negatives[:, 0] < split.test_negatives[:, 1]).all()
    assert split.test_negatives.max() < n


# what is refused


@pytest.mark.parametrize("bad", [0, 1.0, -0.1, float("nan"), "0.1", None, True])
@pytest.mark.parametrize("part", ["validation", "test"])
def test_a_fraction_lies_between_0_and_1(cora, part, bad):
    with pytest.raises(InputError, match=f"{part} must be a fraction between 0 and 1"):
        split_edges(cora, **{part: bad})
    with refused("setting", setting="validation"):
        split_edges(cora, validation=0.7, test=0.3)


@pytest.mark.parametrize(("edges", "part"), [(0, "validation"), (19, "validation"), (9, "test")])
def test_every_part_needs_an_edge(edges, part):
    graph = Graph.from_edges([(i, i + 1) for i in range(edges)], np.ones((30, 1)), name="path")
    validation = 0.05 if part == "validation" else 0.5
    with pytest.raises(InputError, match=f"'path' has {edges} edges, and {part}=.* at least (10|20) edges"):
        split_edges(graph, validation=validation)


def test_too_few_non_edges_are_refused_with_the_figures():
    graph = without(10, {(0, 1), (2, 7)})
    with pytest.raises(InputError, match=r"has 2 pairs without an edge, and the split needs 6 of them"):
        split_edges(graph)


# the value


@pytest.fixture
def path() -> Graph:
    return Graph.from_edges([(0, 1), (1, 2)], np.eye(6))


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (([(1, 0)], [], [], []), r"split.validation: the pair \(0, 1\) is an edge of the training graph"),
        (([], [], [], [(2, 1)]), r"split.test_negatives: the pair \(1, 2\) is an edge of the training graph"),
        (([(3, 4)], [], [(4, 3)], []), r"the pair \(3, 4\) is held out more than once"),
        (([(3, 4)], [(4, 3)], [], []), r"the pair \(3, 4\) is held out more than once"),
        (([], [(3, 4)], [], [(3, 4)]), r"the pair \(3, 4\) is held out more than once"),
        (([], [], [(5, 4), (4, 5)], []), r"the pair \(4, 5\) is held out more than once"),
        (([], [(3, 3)], [], []), r"split.validation_negatives: the pair \(3, 3\) joins a node with itself"),
        (([], [], [(0, 6)], []), "test: node 6 is not in the graph; nodes run from 0 to 5"),
        (([], [], [(0.0, 3.0)], []), "test must be an m × 2 array of node indices. Got 'float64"),
        (([3, 4], [], [], []), "validation must be an m × 2 array of node indices"),
    ],
)
def test_a_leaking_or_malformed_split_is_refused(path, parts, sentence):
    with pytest.raises(InputError, match=sentence):
        EdgeSplit(path, *parts)


# is_edge


@given(graphs())
def test_is_edge_equals_a_look_into_the_dense_matrix(graph):
    n = graph.n_nodes
    pairs = np.argwhere(np.ones((n, n)))
    found = is_edge(graph.adjacency, pairs)
    assert found.dtype == bool
    assert np.array_equal(found.reshape(n, n), graph.adjacency.toarray() != 0)


def test_is_edge_knows_unsorted_rows_stored_zeros_and_no_pairs():
    matrix = sparse.csr_array((np.array([1.0, 1.0, 0.0]), np.array([2, 1, 0]), np.array([0, 2, 3, 3])))
    assert is_edge(matrix, [(0, 1), (0, 2), (1, 0), (2, 2)]).tolist() == [True, True, False, False]
    assert is_edge(matrix, []).shape == (0,)
    assert not is_edge(sparse.csr_array((3, 3)), [(0, 1)]).any()
