"""Every sum is complete: neighbours, features and pairs give back what the map gives."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import parts
from graphs import graphs, path_graph
from kernode.compute.draws import Draws
from kernode.explain.parts import Row, largest_pairs, summand
from kernode.maps import (
    GAT,
    GCN,
    GCNII,
    MLP,
    ClassicGNN,
    Diffusion,
    HopMLP,
    HopNet,
    HopStages,
    OnColumns,
    Presmoothed,
    Stages,
)
from kernode.maps.hop_mlp import HopSum
from kernode.maps.standardized import Standardized
from refusals import refused
from tasks import DOUBLE

R = 2
SUMS = [one for one in parts.MAPS if isinstance(one, HopSum)]
STAGED = [
    GCN((4, 3), 2),
    MLP((4,), 2),
    Stages((4, 3), 2),
    HopStages((4,), 2, norm=False),
    Standardized(GCN((4,), 2, normalize_rows=False)),
    Standardized(HopNet((4,), 2, normalize_rows=False)),
    OnColumns(Stages((4,), 2), "neighbours"),
]


def taken_apart(feature_map, graph, node, seed=0):
    """A map with parameters anywhere, g(v) taken apart, and g(v) itself (r × d)."""
    prepared = feature_map.prepare(graph, DOUBLE)
    parameters = feature_map.initial(prepared, Draws(torch.arange(R)), DOUBLE)
    random = torch.Generator().manual_seed(seed)
    for name, value in parameters.items():
        if not name.startswith("column"):
            parameters[name] = value + torch.randn(value.shape, dtype=value.dtype, generator=random)
    with torch.no_grad():
        parameters = feature_map.finished(parameters, prepared)
        g = feature_map(parameters, prepared).expand(R, -1, -1)[:, node]
    return parameters, Row(graph, node, (summand(feature_map, parameters, graph, node, g),)), g


@pytest.mark.parametrize("feature_map", [*SUMS, *STAGED], ids=repr)
@settings(max_examples=8)
@given(graph=graphs(), data=st.data())
def test_nodes_sum_to_what_the_map_gives(feature_map, graph, data):
    node = data.draw(st.integers(0, graph.n_nodes - 1))
    _, row, g = taken_apart(feature_map, graph, node)
    assert np.allclose(row.g, g, atol=1e-8)
    assert np.allclose(row.vectors.sum(dim=0), g, atol=1e-8)
    towards = torch.randn(g.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    by_node = row.by_node(towards)
    assert np.allclose(by_node, (row.vectors * towards).sum(dim=2).T, atol=1e-8)
    reached, at = {node: 0}, [node]
    for hop in range(1, feature_map.unwrapped.reach + 1):
        at = sorted({n for v in at for n in graph.adjacency[[v]].indices.tolist()} - set(reached))
        reached |= dict.fromkeys(at, hop)
    assert dict(zip(row.nodes.tolist(), row.distances.tolist(), strict=True)) == reached


@pytest.mark.parametrize(
    "feature_map",
    [HopMLP((4,), 2, normalize_rows=False), Diffusion((4,), 2, normalize_rows=False), *STAGED[1:3]],
    ids=repr,
)
def test_a_feature_adds_its_slope_times_its_value(feature_map):
    """With active units held the map is linear: finite differences of the map itself say the same."""
    graph, node, step = path_graph(6), 2, 1e-6
    parameters, row, g = taken_apart(feature_map, graph, node)
    towards = torch.ones_like(g)
    columns, found = row.summands[0].by_feature(row.nodes, towards)
    assert columns.tolist() == list(range(graph.n_features))
    for m, u in enumerate(row.nodes.tolist()):
        for f in range(graph.n_features):
            moved = graph.features.copy()
            moved[u, f] += step
            other = replace(graph, features=moved)
            slope = (feature_map(parameters, feature_map.prepare(other, DOUBLE))[:, node] - g) / step
            assert np.allclose(slope.sum(dim=1) * graph.features[u, f], found[m, :, f], atol=1e-4)


@pytest.mark.parametrize("feature_map", [SUMS[0], STAGED[-3]], ids=repr)
def test_features_without_biases_sum_to_their_nodes(feature_map):
    """Standardised and scaled features, too; biases are what is left of a node's part."""
    dense = path_graph(6)
    for graph in (dense, replace(dense, features=sparse.csr_array(dense.features))):
        _, row, g = taken_apart(feature_map, graph, 2)
        one, towards = row.summands[0], torch.ones_like(g)
        _, found = one.by_feature(row.nodes, towards)
        (slopes,) = torch.autograd.grad((one.g * towards).sum(), [one.first], retain_graph=True)
        products = (slopes * one.first).sum(dim=2)[one.at]
        assert np.allclose(found.sum(axis=2), products.detach(), atol=1e-8)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 8), st.integers(0, 5), st.integers(1, 40))
def test_pairs_are_the_largest_of_all(k, m, count, seed, at_a_time):
    random = torch.Generator().manual_seed(seed)
    left = torch.randn(k, R, 3, dtype=torch.float64, generator=random)
    right = torch.randn(m, R, 3, dtype=torch.float64, generator=random)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernode.explain.parts._AT_A_TIME", at_a_time)
        left_at, right_at, values = largest_pairs(left, right, count)
    every = torch.einsum("krd,lrd->rkl", left, right)
    expected = every.mean(dim=0).abs().flatten().sort(descending=True).values[:count]
    assert np.allclose(np.abs(values.mean(axis=0)), expected)
    assert np.allclose(every[:, left_at, right_at], values)


@pytest.mark.parametrize(
    "feature_map",
    [
        GAT((8,), 2),
        HopStages((4,), 2),
        GCNII((4,), 2, depth=2),
        ClassicGNN("gcn", (4,), 2),
        Presmoothed((4,), 2),
    ],
    ids=repr,
)
def test_maps_that_are_not_linear_at_a_node_are_refused(feature_map):
    with refused("unsupported", map=type(feature_map).__name__):
        taken_apart(feature_map, path_graph(6), 2)
