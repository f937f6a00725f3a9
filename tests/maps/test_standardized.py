"""Standardized is the map on X with columns of mean 0 and deviation 1."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from graphs import clustered_graph, dense_features
from kernode.compute.draws import Draws
from kernode.graph import Graph
from kernode.maps import (
    GCN,
    GCNII,
    MLP,
    ClassicGNN,
    Diffusion,
    HopMLP,
    HopNet,
    HopStages,
    Standardized,
)
from kernode.tasks.classes.variants import configure
from tasks import DOUBLE

MAPS = [
    HopMLP((4,), 3), HopNet((4,), 3), Diffusion((4,), 3, hops=2), HopStages((4,), 3), GCN((4,), 3),
    MLP((4,), 3), GCNII((4,), 3, depth=2), *(ClassicGNN(layer, (4,), 3) for layer in ("gcn", "sage", "gat")),
]  # fmt: skip


@pytest.mark.parametrize("feature_map", MAPS, ids=repr)
@pytest.mark.parametrize("as_stored", [np.asarray, sparse.csr_array])
def test_it_is_the_map_on_standardised_columns(feature_map, as_stored):
    feature_map = replace(feature_map, normalize_rows=False)
    graph = clustered_graph(n=30)
    x = dense_features(graph).astype(float)
    by_hand = replace(graph, features=(x - x.mean(axis=0)) / x.std(axis=0))
    graph = replace(graph, features=as_stored(x))
    wrapped, draws = Standardized(feature_map), Draws(torch.tensor([3, 4]))
    prepared = wrapped.prepare(graph, DOUBLE)
    parameters = wrapped.initial(prepared, draws, DOUBLE)
    expected = feature_map(parameters_of(feature_map, by_hand, draws), feature_map.prepare(by_hand, DOUBLE))
    assert torch.allclose(wrapped(parameters, prepared), expected, atol=1e-9)
    nodes = np.array([7, 2])
    assert torch.allclose(wrapped.rows(parameters, graph, nodes, DOUBLE), expected[:, nodes], atol=1e-9)


def parameters_of(feature_map, graph, draws):
    return feature_map.initial(feature_map.prepare(graph, DOUBLE), draws, DOUBLE)


def test_other_graphs_are_read_on_the_scale_of_the_graph_that_was_learned_from():
    """Else a graph of other units would look the same."""
    graph = clustered_graph(n=30)
    feature_map = Standardized(HopMLP((4,), 3, normalize_rows=False))
    prepared = feature_map.prepare(graph, DOUBLE)
    parameters = feature_map.initial(prepared, Draws(torch.tensor([3])), DOUBLE)
    other = Graph(graph.adjacency, graph.features * 7, graph.labels)
    there = feature_map(parameters, feature_map.prepare(other, DOUBLE))
    assert not torch.allclose(there, feature_map(parameters, prepared))


def test_settings_are_those_of_the_map():
    method, _ = configure("hops-standardized", hidden=8, hops=3, powers="last")
    assert method.map == Standardized(HopNet((8,), None, 3, "last", normalize_rows=False))
    assert method.for_classes(5).map.map.outputs == 5
