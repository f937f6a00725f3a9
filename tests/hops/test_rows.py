"""g of some nodes alone: the same as that of all, from no more of the graph than it needs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

import parts
from graphs import clustered_graph, graphs
from kernode.compute.draws import Draws
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.graph.neighbourhoods import ball, entries, induced, spheres
from kernode.hops import hop_matrices, hop_rows
from kernode.maps import GCN, HopMLP, Members, NodeEmbedding, Presmoothed, Smoother, hop_mlp
from kernode.maps import base as maps_base
from kernode.maps.hop_mlp import HopSum

pytestmark = pytest.mark.filterwarnings("ignore:.* is not given the weights")  # of some graphs that are drawn
DOUBLE = TensorOptions.of(64)
POWERS = ("each", "last", "released", "plain")
MAPS = [
    *(HopMLP((4,), 3, hops=hops, powers=powers) for powers in POWERS for hops in (1, 2, 3)),
    HopMLP((), 3, hop_weights=0.5, normalize_rows=False),
    *(
        Presmoothed((4,), 3, hops=hops, powers=powers)
        for powers in ("each", "last", "plain")
        for hops in (1, 3)
    ),
    Smoother(0),
    *(one for one in parts.MAPS if one.reach is not None and not isinstance(one, HopMLP | Presmoothed)),
]
every_map = pytest.mark.parametrize("feature_map", MAPS, ids=str)


@pytest.fixture(autouse=True)
def always_local(monkeypatch):
    """Small graphs are mostly neighbourhood: compute locally all the same."""
    monkeypatch.setattr(maps_base, "LARGEST_PART", np.inf)


@st.composite
def with_nodes(draw, **options):
    graph = draw(graphs(**options))
    return graph, np.array(draw(st.lists(st.integers(0, graph.n_nodes - 1), max_size=4)), dtype=int)


def start(feature_map, graph):
    """Parameters that are nowhere at their first values, so that all of them matter."""
    prepared = feature_map.prepare(graph, DOUBLE)
    first = feature_map.initial(prepared, Draws(torch.tensor([3, 4])), DOUBLE)
    torch.manual_seed(0)
    moved = {name: value + torch.rand_like(value) for name, value in first.items()}
    with torch.no_grad():
        return feature_map.finished(moved, prepared)


def distances(graph):
    return csgraph.shortest_path(graph.adjacency, unweighted=True)


def path(n):
    features = np.random.default_rng(0).random((n, 5))
    return Graph.from_edges(np.stack([np.arange(n - 1), np.arange(1, n)], axis=1), features)


@given(with_nodes(), st.integers(0, 4))
def test_spheres_and_ball_equal_shortest_paths(drawn, radius):
    graph, nodes = drawn
    distance = distances(graph)[nodes].min(axis=0, initial=np.inf)
    for h, sphere in enumerate(spheres(graph, nodes, radius)):
        assert np.array_equal(sphere, np.flatnonzero(distance == h))
    assert np.array_equal(ball(graph, nodes, radius), np.flatnonzero(distance <= radius))


@given(graphs(), st.data())
def test_induced_graph_equals_slicing(graph, data):
    nodes = np.array(sorted(data.draw(st.sets(st.integers(0, graph.n_nodes - 1), min_size=1))))
    part = induced(graph, nodes)
    assert np.array_equal(part.adjacency.toarray(), graph.adjacency.toarray()[nodes][:, nodes])
    assert part.adjacency.has_canonical_format
    assert sparse.issparse(part.features) == sparse.issparse(graph.features)
    assert (part.features != graph.features[nodes]).sum() == 0
    assert entries(graph, nodes) == graph.adjacency[nodes].nnz


@given(with_nodes(), st.integers(1, 4), st.sampled_from(POWERS))
def test_hop_rows_equal_rows_of_the_matrices(drawn, hops, powers):
    graph, nodes = drawn
    columns, terms = hop_rows(graph, hops, powers, nodes)
    assert np.array_equal(columns, ball(graph, nodes, hops))
    for ours, whole in zip(terms, hop_matrices(graph, hops, powers), strict=True):
        expected = whole.toarray()[nodes]
        assert np.allclose(ours.toarray(), expected[:, columns], atol=1e-12)
        assert np.count_nonzero(expected) == np.count_nonzero(expected[:, columns])


@pytest.mark.parametrize("powers", POWERS)
def test_tiny_weights_do_not_change_who_is_how_far(powers):
    """Products of such weights round to zero; the shells must not."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (0, 8), (8, 7)]
    graph = Graph.from_edges(edges, np.ones((9, 1)), weights=[1e-44] * 6 + [3e38, 1e-44, 1e-44])
    _, terms = hop_rows(graph, 8, powers, np.array([0]))
    for ours, whole in zip(terms, hop_matrices(graph, 8, powers), strict=True):
        assert np.allclose(ours.toarray(), whole.toarray()[[0]], rtol=1e-9, atol=1e-15)


def test_spheres_of_many_and_of_few_nodes_are_found_alike():
    graph = clustered_graph(n=400)
    distance = distances(graph)[[3, 5]].min(axis=0)
    found = list(spheres(graph, [5, 3, 5], 5))
    assert max(map(len, found)) > 25 > len(found[0])  # 400 / 16
    for h, sphere in enumerate(found):
        assert np.array_equal(sphere, np.flatnonzero(distance == h))


@pytest.mark.slow
@pytest.mark.parametrize("feature_map", [one for one in MAPS if isinstance(one, HopSum)], ids=str)
@settings(max_examples=12)
@given(with_nodes())
def test_rows_of_sums_over_hops_are_those_of_the_whole_map_either_way(feature_map, drawn):
    """From some rows of the matrices, and from the operator of a part of the graph."""
    graph, nodes = drawn
    parameters = start(feature_map, graph)
    whole = feature_map(parameters, feature_map.prepare(graph, DOUBLE))
    for most in (hop_mlp.MOST_ENTRIES, -1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hop_mlp, "MOST_ENTRIES", most)
            rows = feature_map.rows(parameters, graph, nodes, DOUBLE)
        assert torch.allclose(rows, whole[:, nodes], rtol=1e-9, atol=1e-9)


@every_map
def test_reach_is_how_far_features_and_degrees_are_seen_and_no_farther(feature_map):
    """On a path, from node 0: what happens at distance reach changes g(0), beyond it nothing does."""
    graph, reach = path(12), feature_map.reach
    parameters = start(feature_map, graph)

    def g(changed):
        return feature_map(parameters, feature_map.prepare(changed, DOUBLE))[:, 0]

    for distance in range(12):
        features = np.array(graph.features)
        features[distance] = features[distance][::-1] * 3
        other = Graph(graph.adjacency, features, graph.labels)
        assert torch.equal(g(graph), g(other)) == (distance > reach)
    longer = [(i, i + 1) for i in range(11)]
    weights = np.ones(11)
    weights[reach + 1 :] = 5.0  # from the first node beyond reach on
    assert torch.equal(g(graph), g(Graph.from_edges(longer, graph.features, weights=weights)))


class Watched:
    """A matrix whose rows can be taken, and that remembers which were; whatever else is asked of it fails."""

    def __init__(self, matrix):
        self.matrix, self.shape, self.nnz = matrix, matrix.shape, getattr(matrix, "nnz", None)
        self.indptr, self.read = getattr(matrix, "indptr", None), set()

    def __getitem__(self, rows):
        self.read.update(np.asarray(rows).tolist())
        return self.matrix[rows]


@every_map
def test_rows_never_read_what_lies_beyond(feature_map):
    """Adjacency rows that are sliced, and rows of X, belong to the neighbourhood."""
    graph = path(200)
    parameters = start(feature_map, graph)
    expected = feature_map(parameters, feature_map.prepare(graph, DOUBLE))[:, [100, 101]]
    watched = {name: Watched(getattr(graph, name)) for name in ("adjacency", "features")}
    for name, matrix in watched.items():
        object.__setattr__(graph, name, matrix)
    ours = feature_map.rows(parameters, graph, np.array([100, 101]), DOUBLE)
    assert torch.allclose(ours, expected, rtol=1e-9, atol=1e-9)
    maps = (
        feature_map.maps if isinstance(feature_map, Members) else (feature_map,)
    )  # of several, the one that reads farthest
    margin = max(one.reach + (not isinstance(one.unwrapped, HopSum)) for one in maps if one.reach is not None)
    for matrix in watched.values():
        assert matrix.read == set(range(100 - margin, 102 + margin))


def test_a_map_of_three_functions_works_without_reach():
    class Plain(NodeEmbedding):
        """Nothing but what a map must have."""

        per_node = False

    graph = clustered_graph()
    parameters = start(Plain(3), graph)
    assert Plain(3).reach is None
    rows = Plain(3).rows(parameters, graph, np.array([5, 2]), DOUBLE)
    assert torch.equal(rows, parameters["vectors"][:, [5, 2]])


def test_where_the_neighbourhood_is_most_of_the_graph_all_of_it_is_computed(monkeypatch):
    monkeypatch.undo()
    graph, seen, feature_map, prepare = path(400), [], GCN((4,), 3), GCN.prepare
    parameters = start(feature_map, graph)
    monkeypatch.setattr(GCN, "prepare", lambda self, some, at: seen.append(some) or prepare(self, some, at))
    feature_map.rows(parameters, graph, np.arange(2), DOUBLE)
    assert graph not in seen
    feature_map.rows(parameters, graph, np.arange(250), DOUBLE)
    assert seen[-1] is graph
