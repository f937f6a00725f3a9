"""Every sum is complete: neighbours, hops, features and pairs give back what the map gives."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import parts
from graphs import graphs
from kernode.compute.draws import Draws
from kernode.explain.parts import (
    Contributions,
    NodeOutputs,
    Pairs,
    Parts,
    Row,
    distances,
    largest,
    require_sum,
)
from kernode.maps import Diffusion, HopMLP
from kernode.maps.hop_mlp import HopSum
from kernode.maps.layers.mlp import first_layer
from refusals import refused
from tasks import DOUBLE

SUMS = [one for one in parts.MAPS if isinstance(one, HopSum)]
OTHERS = [one for one in parts.MAPS if not isinstance(one.unwrapped, HopSum)]
R = 2


def stack(feature_map, graph, seed=0):
    """A map with parameters anywhere, and its g."""
    prepared = feature_map.prepare(graph, DOUBLE)
    parameters = feature_map.initial(prepared, Draws(torch.arange(R)), DOUBLE)
    random = torch.Generator().manual_seed(seed)
    for name, value in parameters.items():
        if not name.startswith("column"):
            parameters[name] = value + torch.randn(value.shape, dtype=value.dtype, generator=random)
    g = feature_map(parameters, prepared).expand(R, -1, -1)
    return NodeOutputs(feature_map, parameters, graph, DOUBLE, R), g


def targets_of(g, count=2, seed=0):
    random = torch.Generator().manual_seed(seed)
    return torch.randn(R, g.shape[2], count, dtype=torch.float64, generator=random)


@pytest.mark.parametrize("feature_map", SUMS, ids=repr)
@settings(max_examples=12)
@given(graph=graphs(), data=st.data())
def test_neighbours_and_hops_sum_to_what_the_map_gives(feature_map, graph, data):
    node = data.draw(st.integers(0, graph.n_nodes - 1))
    outputs, g = stack(feature_map, graph)
    row = Row.of(outputs, node)
    assert np.allclose(row.g(), g[:, node], atol=1e-8)
    targets = targets_of(g)
    whole = torch.einsum("rd,rdq->rq", g[:, node], targets).numpy()
    found = Parts.of(row, targets)
    assert np.allclose(found.whole, whole, atol=1e-8)
    assert np.allclose(found.by_hop.sum(axis=1), whole, atol=1e-8)


@pytest.mark.parametrize("feature_map", SUMS, ids=repr)
@settings(max_examples=12)
@given(graph=graphs(), data=st.data())
def test_a_neighbours_part_is_the_entry_of_the_operator_times_its_output(feature_map, graph, data):
    """What a node adds is what is lost without it: z(u) = 0 in the map itself, one node at a time."""
    node = data.draw(st.integers(0, graph.n_nodes - 1))
    outputs, _ = stack(feature_map, graph)
    row = Row.of(outputs, node)
    whole, vectors = row.g(), row.vectors()
    for i in range(len(row.nodes)):
        z = row.z.clone()
        z[i] = 0
        without = Row(row.node, row.shares, row.coefficients, z).g()
        assert np.allclose(whole - without, vectors[i], atol=1e-8)


@pytest.mark.parametrize("feature_map", SUMS, ids=repr)
@settings(max_examples=12)
@given(graph=graphs(), data=st.data())
def test_features_and_biases_sum_to_what_their_nodes_add(feature_map, graph, data):
    node = data.draw(st.integers(0, graph.n_nodes - 1))
    outputs, g = stack(feature_map, graph)
    row, target = Row.of(outputs, node), targets_of(g, 1)[..., 0]
    some = np.arange(len(row.nodes))[: data.draw(st.integers(1, len(row.nodes)))]
    words = Contributions.of(outputs, row, some, target)
    by_node = Parts.of(row, target[..., None]).by_node[..., 0]
    assert np.allclose(words.by_feature.sum(axis=1) + words.constant, by_node[:, some].sum(axis=1), atol=1e-8)
    assert np.allclose(words.of_nodes(len(some)).sum(axis=0), words.by_feature, atol=1e-8)


def test_a_feature_adds_what_a_small_change_of_it_would_say():
    """With active units held the network is linear: derivative times value, by finite differences."""
    graph = parts_graph()
    feature_map = next(one for one in SUMS if one.hidden == (4,) and one.powers == "each")
    outputs, g = stack(feature_map, graph)
    row, target = Row.of(outputs, 0), targets_of(g, 1)[..., 0]
    i = int(np.flatnonzero(row.nodes == 1)[0])
    found = Contributions.of(outputs, row, np.array([i]), target).of_nodes(1)[0]
    x = feature_map.features_of(graph, row.nodes[[i]], DOUBLE)
    step = 1e-7
    for f in range(graph.n_features):
        values = []
        for sign in (-1, 1):
            moved = x.clone()
            moved[0, f] += sign * step
            z = feature_map.node_outputs(outputs.parameters, first_layer(outputs.parameters, moved))
            values.append(torch.einsum("rt,rtd,rd->r", row.coefficients[i], z[0].expand(R, 3, -1), target))
        slope = (values[1] - values[0]) / (2 * step)
        assert np.allclose(slope * x[0, f], found[:, f], atol=1e-5)


@pytest.mark.parametrize(
    "feature_map",
    [*SUMS, HopMLP((4, 3), 2), HopMLP((), 2), Diffusion((5, 4), 2, hop_weights="pagerank", biases=False)],
    ids=repr,
)
def test_the_chain_rule_gives_what_autograd_gives(feature_map):
    outputs, _ = stack(feature_map, parts_graph())
    nodes = np.arange(5)
    x = feature_map.features_of(outputs.graph, nodes, DOUBLE)
    first = first_layer(outputs.parameters, x).expand(-1, outputs.replicas, -1)
    z = feature_map.node_outputs(outputs.parameters, first)
    towards = torch.randn(z.shape, dtype=z.dtype, generator=torch.Generator().manual_seed(1))
    found = feature_map.pull_back(outputs.parameters, first, towards)
    expected = HopSum.pull_back(feature_map, outputs.parameters, first, towards)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert torch.allclose(one, other, atol=1e-12)


def parts_graph():
    from kernode.graph import Graph

    random = np.random.Generator(np.random.PCG64(0))
    return Graph.from_edges([(0, 1), (1, 2), (2, 3), (0, 4)], random.random((5, 6)) + 0.1)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 8), st.integers(0, 5), st.integers(1, 40))
def test_pairs_are_the_largest_of_all(k, m, count, seed, at_a_time):
    random = torch.Generator().manual_seed(seed)
    sizes = torch.rand(k, 1, 1, dtype=torch.float64, generator=random) ** 4  # some are much longer
    left = torch.randn(k, R, 3, dtype=torch.float64, generator=random) * sizes
    right = torch.randn(m, R, 3, dtype=torch.float64, generator=random)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernode.explain.parts._AT_A_TIME", at_a_time)
        found = Pairs.of(left, right, count)
    every = torch.einsum("krd,lrd->rkl", left, right)
    expected = every.mean(dim=0).abs().flatten().sort(descending=True).values[:count]
    assert np.allclose(np.abs(found.values.mean(axis=0)), expected)
    assert np.allclose(every[:, found.left, found.right], found.values)


@pytest.mark.parametrize("feature_map", SUMS, ids=repr)
@settings(max_examples=6)
@given(graphs(), st.data())
def test_distances_are_those_of_the_graph(feature_map, graph, data):
    node = data.draw(st.integers(0, graph.n_nodes - 1))
    outputs, _ = stack(feature_map, graph)
    row = Row.of(outputs, node)
    reached, at = {node: 0}, [node]
    for hop in range(1, feature_map.reach + 1):
        at = sorted({n for v in at for n in graph.adjacency[[v]].indices.tolist()} - set(reached))
        reached |= dict.fromkeys(at, hop)
    assert distances(outputs, row).tolist() == [reached[n] for n in row.nodes.tolist()]


def test_of_equal_parts_the_first_comes_first():
    assert largest(np.array([1.0, -2.0, 2.0, 0.5]), 3).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    "feature_map", [one for one in OTHERS if not isinstance(one.unwrapped, HopSum)], ids=repr
)
def test_maps_that_are_no_sum_are_refused(feature_map):
    with refused("unsupported", map=type(feature_map).__name__):
        require_sum(feature_map)
