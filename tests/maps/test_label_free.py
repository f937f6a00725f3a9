"""Maps that no label touches, and beside them maps that labels do: against dense algebra."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import kernode as kn
from graphs import clustered_graph, graphs
from kernode.compute.draws import Draws, Dropout
from kernode.compute.stack import under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.hops import normalized_adjacency
from kernode.kernels import Linear, NodeKernel, Normalized
from kernode.maps import ConcatMap, DiffusedComponents, HopMLP

DOUBLE = TensorOptions.of(64)
SEEDS = torch.tensor([0, 1])

ONE = Draws(torch.tensor([0]))


def diffused(graph, hops, a):
    """P X̂, dense."""
    x = graph.features.toarray() if hasattr(graph.features, "toarray") else np.asarray(graph.features, float)
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    x = x / np.where(lengths > 0, lengths, 1)
    step = normalized_adjacency(graph).toarray()
    weights = [a * (1 - a) ** h for h in range(hops)] + [(1 - a) ** hops]
    return sum(w * np.linalg.matrix_power(step, h) @ x for h, w in enumerate(weights))


@settings(max_examples=20)
@given(graphs(), st.integers(0, 4), st.sampled_from([0.1, 0.5, 1.0]))
def test_components_with_all_dimensions_keep_every_product_of_centred_rows(graph, hops, a):
    feature_map = DiffusedComponents(1000, hops=hops, teleport=a)
    prepared = feature_map.prepare(graph, DOUBLE)
    g = feature_map(feature_map.initial(prepared, ONE, DOUBLE), prepared)[0].numpy()
    x = diffused(graph, hops, a)
    reached = np.abs(x).sum(axis=1) > 0  # features of these graphs are not negative where they cancel
    x = (x - x.mean(axis=0)) * reached[:, None]
    assert np.allclose(g @ g.T, x @ x.T, atol=1e-9)


@pytest.mark.slow
def test_components_are_the_principal_ones(cora):
    graph, _ = cora
    feature_map = DiffusedComponents(40, hops=2)
    prepared = feature_map.prepare(graph, DOUBLE)
    axes = feature_map.initial(prepared, ONE, DOUBLE)["axes"][0].numpy()
    x = diffused(graph, 2, 0.1)
    x = x - x.mean(axis=0)
    _, v = np.linalg.eigh(x.T @ x)  # ascending
    assert np.linalg.norm(v[:, -40:].T @ axes, axis=0).min() > 0.99


def test_beyond_the_rank_there_are_no_axes():
    rng = np.random.Generator(np.random.PCG64(0))
    graph = kn.Graph.from_edges([(i, i + 1) for i in range(9)], rng.random((10, 50)))
    feature_map = DiffusedComponents(30)
    axes = feature_map.initial(feature_map.prepare(graph, DOUBLE), ONE, DOUBLE)["axes"][0]
    assert (axes.square().sum(dim=0) > 0.5).sum() == 9  # ten rows, centred


def test_nodes_that_no_feature_reaches_are_alike_to_nobody():
    features = np.vstack([np.eye(4), np.zeros((3, 4))])
    graph = kn.Graph.from_edges([(0, 1), (1, 2), (2, 3), (4, 5)], features)
    feature_map = DiffusedComponents(4)
    prepared = feature_map.prepare(graph, DOUBLE)
    g = feature_map(feature_map.initial(prepared, ONE, DOUBLE), prepared)[0]
    assert (g[4:] == 0).all()
    assert (g[:4].norm(dim=1) > 0).all()


def test_two_equal_maps_side_by_side_begin_and_drop_differently():
    graph = clustered_graph(n=40)
    feature_map = ConcatMap(HopMLP((6,), 3), HopMLP((6,), 3))
    prepared = feature_map.prepare(graph, DOUBLE)
    parameters = feature_map.initial(prepared, Draws(SEEDS), DOUBLE)
    assert not torch.equal(parameters["first.weight_0"], parameters["second.weight_0"])
    same = parameters | {f"second.{k}": v for k, v in under_prefix(parameters, "first.").items()}
    dropout = Dropout(Draws(SEEDS, 1), torch.full((2,), 0.5, dtype=torch.float64))
    one, other = feature_map(same, prepared, dropout).chunk(2, dim=-1)
    assert not torch.allclose(one, other)
    one, other = feature_map(same, prepared).chunk(2, dim=-1)
    assert torch.allclose(one, other)


def test_on_another_graph_axes_and_mean_stay():
    one, other = clustered_graph(n=40), clustered_graph(n=30)
    feature_map = DiffusedComponents(2, hops=1)
    first = feature_map.initial(feature_map.prepare(one, DOUBLE), ONE, DOUBLE)
    g = feature_map(first, feature_map.prepare(other, DOUBLE))[0].numpy()
    expected = diffused(other, 1, 0.1) @ first["axes"][0].numpy() - first["centre"][0].numpy()
    assert np.allclose(g, expected, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_side_by_side_is_the_sum_of_both_kernels(share):
    graph = clustered_graph(n=40)
    feature_map = ConcatMap(HopMLP((4,), 3), DiffusedComponents(4), share)
    prepared = feature_map.prepare(graph, DOUBLE)
    parameters = feature_map.initial(prepared, Draws(SEEDS), DOUBLE)

    def bar(which, own):
        g = which(own, which.prepare(graph, DOUBLE))
        return NodeKernel(Normalized(Linear()), g).gram()

    whole = NodeKernel(Linear(), feature_map(parameters, prepared)).gram()
    parts = [bar(one, under_prefix(parameters, f"{name}.")) for name, one in feature_map.named.items()]
    assert np.allclose(whole, (1 - share) * parts[0] + share * parts[1], atol=1e-12)


def test_no_class_scores_are_read_from_two_maps(cora):
    graph, split = cora
    model = kn.NodeKernelClassifier("n1", map=ConcatMap(HopMLP((8,), 4)), epochs=1)
    with pytest.raises(InputError, match="the objective kernel"):
        model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
