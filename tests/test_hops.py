import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

from graphs import clustered_graph, graphs
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.hops import HopOperator, hop_matrices, hop_shells, normalized_adjacency
from kernode.sparse import Place

DOUBLE = Place.of(64)


def dense_terms(graph, hops, powers):
    """Eq. 7's matrices by dense algebra, with M^(h) from breadth-first search."""
    adjacency = graph.adjacency.toarray().astype(float) + np.eye(graph.n_nodes)
    degree = adjacency.sum(axis=1)
    step = adjacency / np.sqrt(np.outer(degree, degree))
    distance = csgraph.shortest_path(graph.adjacency, unweighted=True)
    power = [np.linalg.matrix_power(step, h) for h in range(hops + 1)]
    if powers == "each":
        return [power[h] * (distance == h) for h in range(hops + 1)]
    return [power[hops] * (distance == h) for h in range(hops)] + [power[hops]]


@given(graphs(), st.integers(1, 4))
def test_shells_equal_breadth_first_search(graph, hops):
    distance = csgraph.shortest_path(graph.adjacency, unweighted=True)
    for h, shell in enumerate(hop_shells(graph, hops)):
        assert np.array_equal(shell.toarray(), distance == h)


@pytest.mark.parametrize("common", [254, 255, 256, 511, 512])
def test_shells_of_hubs_do_not_overflow(common):
    """Two hubs with so many neighbours in common: counts of paths must not wrap around."""
    edges = [(hub, 2 + i) for hub in (0, 1) for i in range(common)]
    graph = Graph.from_edges(edges, features=np.ones((2 + common, 1)))
    distance = csgraph.shortest_path(graph.adjacency, unweighted=True)
    for h, shell in enumerate(hop_shells(graph, 3)):
        assert np.array_equal(shell.toarray(), distance == h)


@given(graphs())
def test_normalized_adjacency_is_symmetric_with_spectrum_within_one(graph):
    step = normalized_adjacency(graph).toarray()
    assert np.allclose(step, step.T)
    assert np.abs(np.linalg.eigvalsh(step)).max() <= 1 + 1e-12


@given(graphs(), st.integers(1, 4), st.sampled_from(["each", "last"]))
def test_operator_equals_dense_algebra(graph, hops, powers):
    terms = dense_terms(graph, hops, powers)
    for ours, dense in zip(hop_matrices(graph, hops, powers), terms, strict=True):
        assert np.allclose(ours.toarray(), dense, atol=1e-12)
    z = torch.randn(graph.n_nodes, 2, 3, dtype=torch.float64)
    weights = torch.randn(2, hops + 1, dtype=torch.float64)
    ours = HopOperator.of(graph, hops, powers, DOUBLE)(z, weights)
    expected = torch.einsum("rh,hnm,mrd->nrd", weights, torch.tensor(np.stack(terms)), z)
    assert torch.allclose(ours, expected, atol=1e-12)


@pytest.mark.parametrize("powers", ["each", "last"])
def test_operator_gradients_pass_gradcheck(powers):
    operator = HopOperator.of(clustered_graph(n=8), 2, powers, DOUBLE)
    z = torch.randn(8, 2, 2, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(operator, (z, weights))


def test_wrong_hops_and_powers_are_refused():
    graph = clustered_graph(n=6)
    with pytest.raises(InputError, match=r"hops must be an integer ≥ 1. Got 0."):
        hop_matrices(graph, 0)
    with pytest.raises(InputError, match="powers must be 'each' or 'last'"):
        hop_matrices(graph, 2, "all")
