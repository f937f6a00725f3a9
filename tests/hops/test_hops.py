"""The hop operator is Eq. 7, however it is held, and costs what is said."""

import gc
import weakref

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from graphs import clustered_graph, graphs
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.hops import (
    HopOperator,
    cost_of,
    hop_cost,
    hop_matrices,
    hop_shells,
    normalized_adjacency,
)
from kernode.hops import corrections as masked_product
from kernode.hops import cost as hop_counting
from kernode.hops.cost import BUILDING, ENTRY_BYTES, HopCost
from kernode.io import load_graph
from kernode.io.sizes import look_up
from kernode.io.synthetic import Synthetic
from kernode.progress import progress_listener
from refusals import refused

DOUBLE = TensorOptions.of(64)
POWERS = st.sampled_from(["each", "last", "released", "plain"])
KINDS = st.sampled_from(["explicit", "factored"])


def dense_terms(graph, hops, powers):
    """Eq. 7's matrices by dense algebra, with M^(h) from breadth-first search."""
    adjacency = graph.adjacency.toarray().astype(float) + np.eye(graph.n_nodes)
    degree = adjacency.sum(axis=1)
    step = adjacency / np.sqrt(np.outer(degree, degree))
    distance = csgraph.shortest_path(graph.adjacency, unweighted=True)
    power = [np.linalg.matrix_power(step, h) for h in range(hops + 1)]
    if powers == "plain":
        return power
    if powers == "each":
        return [power[h] * (distance == h) for h in range(hops + 1)]
    if powers == "released":
        return program_terms(graph.adjacency.toarray(), hops)
    return [power[hops] * (distance == h) for h in range(hops)] + [power[hops]]


def program_terms(adjacency, hops, type_of_shells=int):
    """What the authors' released program computes for two hops, carried over to any number of them.

    Each nearer term is an array of its shell's ones, in which those are then replaced by what Ā^H has there.
    The identity holds floating-point numbers, the shells what the adjacency matrix holds: integers.
    """
    own, edges = np.eye(len(adjacency)), adjacency != 0
    loops = (adjacency + own).sum(axis=0) ** -0.5
    far = np.linalg.matrix_power(loops[:, None] * (adjacency + own) * loops, hops)
    distance = csgraph.shortest_path(edges, unweighted=True)
    shells = [own]
    for h in range(1, hops):
        shells.append((edges if h == 1 else distance == h).astype(type_of_shells))
    for shell in shells:
        shell[shell > 0] = far[shell > 0]
    return [*shells, far]


def hub_graph(n=60, seed=0):
    """Weighted, with hubs, triangles, squares and a node of its own."""
    rng = np.random.default_rng(seed)
    edges = [(0, i) for i in range(1, n - 1)] + [(1, i) for i in range(2, n // 2)]
    edges += rng.integers(0, n - 1, (2 * n, 2)).tolist()
    weights = rng.uniform(0.1, 3, len(edges))
    return Graph.from_edges(edges, features=np.ones((n, 1)), weights=weights)


@given(graphs(), st.integers(1, 4))
def test_shells_equal_breadth_first_search(graph, hops):
    distance = csgraph.shortest_path(graph.adjacency, unweighted=True)
    for h, shell in enumerate(hop_shells(graph, hops)):
        assert np.array_equal(shell.toarray(), distance == h)


def test_shells_of_hubs_do_not_overflow():
    """Two hubs with 256 neighbours in common: counts of paths must not wrap around."""
    graph = Graph.from_edges([(hub, 2 + i) for hub in (0, 1) for i in range(256)], features=np.ones((258, 1)))
    distance = csgraph.shortest_path(graph.adjacency, unweighted=True)
    for h, shell in enumerate(hop_shells(graph, 3)):
        assert np.array_equal(shell.toarray(), distance == h)


@given(graphs())
def test_normalized_adjacency_is_symmetric_with_spectrum_within_one(graph):
    step = normalized_adjacency(graph).toarray()
    assert np.allclose(step, step.T)
    assert np.abs(np.linalg.eigvalsh(step)).max() <= 1 + 1e-12


@given(graphs(), st.integers(1, 4), POWERS, KINDS)
def test_operator_equals_dense_algebra(graph, hops, powers, kind):
    terms = dense_terms(graph, hops, powers)
    for ours, dense in zip(hop_matrices(graph, hops, powers), terms, strict=True):
        assert np.allclose(ours.toarray(), dense, atol=1e-12)
    z = torch.randn(graph.n_nodes, 2, 3, dtype=torch.float64)
    weights = torch.randn(2, hops + 1, dtype=torch.float64)
    ours = HopOperator.of(graph, hops, powers, DOUBLE, kind)(z, weights)
    expected = torch.einsum("rh,hnm,mrd->nrd", weights, torch.tensor(np.stack(terms)), z)
    assert torch.allclose(ours, expected, atol=1e-12)


@given(graphs(), st.integers(1, 4))
def test_with_an_array_of_floating_point_numbers_the_program_would_compute_last(graph, hops):
    intended = program_terms(graph.adjacency.toarray(), hops, float)
    for ours, dense in zip(hop_matrices(graph, hops, "last"), intended, strict=True):
        assert np.allclose(ours.toarray(), dense, atol=1e-12)


@pytest.mark.slow
def test_on_cora_the_operator_is_the_program_written_anew():
    cora = load_graph("cora")
    own, shell, far = program_terms(cora.adjacency.toarray().astype(int), 2)
    assert not shell.any()
    assert program_terms(cora.adjacency.toarray(), 2, float)[1].any()
    z, weights = np.random.default_rng(0).normal(size=(cora.n_nodes, 3)), (0.5, 2.0, -1.5)
    expected = (weights[0] * own + weights[1] * shell + weights[2] * far) @ z
    for kind in ("explicit", "factored"):
        operator = HopOperator.of(cora, 2, "released", DOUBLE, kind)
        ours = operator(torch.from_numpy(z)[:, None], torch.tensor([weights], dtype=torch.float64))[:, 0]
        assert np.abs(ours.numpy() - expected).max() <= 1e-10


@pytest.mark.parametrize("kind", ["explicit", "factored"])
@pytest.mark.parametrize("powers", ["each", "last", "released", "plain"])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_operator_gradients_pass_gradcheck(powers, kind, hops):
    operator = HopOperator.of(clustered_graph(n=8), hops, powers, DOUBLE, kind)
    z = torch.randn(8, 2, 2, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, hops + 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(operator, (z, weights))


def test_building_tells_how_far_it_is(monkeypatch):
    monkeypatch.setattr(masked_product, "BLOCK_FLOPS", 200)
    heard = []
    with progress_listener(lambda *what: heard.append(what)):
        HopOperator.of(hub_graph(), 2, "each", DOUBLE, "factored")
    assert len(heard) > 3
    assert heard[-1] == ("hop 2 of 2", 60, 60)


@given(graphs(), st.integers(1, 4), POWERS)
def test_cost_counts_what_the_matrices_hold(graph, hops, powers):
    cost = hop_cost(graph, hops, powers)
    distance = csgraph.shortest_path(graph.adjacency, unweighted=True)
    held = [min(h, 1) if powers == "plain" else h for h in range(hops + 1)]  # plain powers hold Ā alone
    assert cost.within == tuple(float((distance <= h).sum()) for h in held)
    if powers != "plain":
        assert cost.explicit == sum(term.nnz for term in hop_matrices(graph, hops, powers))


def test_cost_is_estimated_well_on_a_large_graph():
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 20_000, (60_000, 2)), features=np.ones((20_000, 1)))
    cost = hop_cost(graph, 2)
    step = graph.adjacency + sparse.eye_array(20_000, format="csr")
    assert cost.within[2] == pytest.approx((step @ step).nnz, rel=0.05)


def test_the_cheaper_kind_is_chosen():
    complete = Graph.from_edges(np.argwhere(np.triu(np.ones((12, 12)), 1)), features=np.ones((12, 1)))
    assert hop_cost(complete, 2).kind == "explicit"  # two hops reach no further than one
    assert hop_cost(hub_graph(300), 2).kind == "factored"


def test_a_counted_graph_is_not_kept_alive():
    graph = hub_graph()
    hop_cost(graph, 2)
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("degree", [6, 20])
def test_cost_of_a_graph_that_is_not_in_memory_chooses_the_same_kind(degree):
    spec = Synthetic(nodes=4000, degree=degree)
    sizes = look_up(spec.name)
    counted, expected = hop_cost(spec.graph(), 3), cost_of(sizes, 3)
    assert expected.within[:2] == counted.within[:2]
    assert np.allclose(expected.within, counted.within, rtol=0.3)
    assert expected.kind == counted.kind


def test_what_cannot_fit_is_refused_with_the_figure_and_a_way_out(monkeypatch):
    monkeypatch.setattr("kernode.hops.cost.free_bytes", lambda: 9_000_000_000)
    cost = HopCost(100_000, (1e5, 1.1e6, 1.45e8, 2e9), "each")
    HopCost(100_000, (1e5, 1.1e6, 1.45e8), "each").require_memory("factored")
    HopCost(100_000, (1e5, 1.1e6, 2e9, 2e10), "plain").require_memory("factored")
    monkeypatch.setattr("kernode.hops.cost.free_bytes", lambda: 5_000_000_000)
    with refused("too-large", need=12 * 4 * 1.45e8, free=5_000_000_000):
        cost.require_memory("factored")


def test_wrong_hops_and_powers_are_refused():
    for hops, powers, setting in ((0, "each", "hops"), (2, "all", "powers")):
        for call in (hop_matrices, hop_cost):
            with refused("setting", setting=setting):
                call(clustered_graph(n=6), hops, powers)


@pytest.mark.parametrize("kind", ["explicit", "factored"])
@given(graph=graphs(), hops=st.integers(1, 3), powers=POWERS)
def test_a_part_for_each_hop_is_joined_as_the_matrices_say(kind, graph, hops, powers):
    """Σ_h T_h x_h, and T_h G as the gradient of x_h, whichever way the operator is held."""
    random = torch.Generator().manual_seed(0)
    shape = graph.n_nodes, 2, 3
    parts = [torch.randn(shape, dtype=torch.float64, generator=random) for _ in range(hops + 1)]
    upstream = torch.randn(shape, dtype=torch.float64, generator=random)
    joined = HopOperator.of(graph, hops, powers, DOUBLE, kind).join([x.requires_grad_() for x in parts])
    gradients = torch.autograd.grad((joined * upstream).sum(), parts)
    terms = [torch.from_numpy(term.toarray()) for term in hop_matrices(graph, hops, powers)]
    expected = sum(torch.einsum("uv,vrd->urd", t, x) for t, x in zip(terms, parts, strict=True))
    assert torch.allclose(joined, expected, atol=1e-10)
    for term, gradient in zip(terms, gradients, strict=True):
        assert torch.allclose(gradient, torch.einsum("uv,vrd->urd", term, upstream), atol=1e-10)


# cost

WITHIN = (10.0, 40.0, 70.0, 90.0)  # of ten nodes, with 0 … 3 hops


def of(powers, within=WITHIN):
    return HopCost(10, within, powers)


@pytest.mark.parametrize(
    ("powers", "explicit", "factored"),
    [
        ("each", 90, 3 * 40 + 40 + 70),
        ("last", 90 + 70, 3 * 40 + 70),
        ("released", 90 + 10, 3 * 40 + 10),
        ("plain", 10 + 40 + 70 + 90, 3 * 40),
    ],
)
def test_multiply_adds_of_both_kinds(powers, explicit, factored):
    assert of(powers).explicit == explicit
    assert of(powers).factored == factored
    assert of(powers).kind == ("explicit" if explicit <= factored else "factored")


def test_building_takes_several_copies_of_the_largest_pattern():
    copy = ENTRY_BYTES * BUILDING
    assert of("each").building_bytes("explicit") == copy * 90
    assert of("each").building_bytes("factored") == copy * 70
    assert of("each", WITHIN[:2]).building_bytes("factored") == copy * 40
    assert of("plain").building_bytes("factored") == copy * 40


def test_counting_holds_few_entries_and_ends_when_there_are_enough(monkeypatch):
    graph = clustered_graph(n=60)
    whole = hop_cost(graph, 3).within
    monkeypatch.setattr(hop_counting, "SAMPLED_ENTRIES", 100)  # fewer than two rows may have
    counted = hop_counting._count(graph, 3, "each")
    assert counted.within == pytest.approx(whole, rel=0.5)
    assert counted.within[:2] == whole[:2]


def test_one_hop_is_known_exactly_however_large_the_graph():
    n = 5000
    ring = Graph.from_edges(np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1), np.ones((n, 1)))
    assert hop_cost(ring, 1) == HopCost(n, (n, 3.0 * n), "each")
