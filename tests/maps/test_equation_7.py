"""Sums over hops are Eq. 7, smoothers Eqs. 5 and 6: one replica at a time, in plain dense numpy."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphs import clustered_graph, dense_features, graphs
from kernode.compute.draws import Draws
from kernode.hops import hop_matrices, normalized_adjacency
from kernode.maps import HopMLP, HopNet, HopStages, Presmoothed, Smoother, Stages
from tasks import DOUBLE

HIDDEN = st.sampled_from([(), (4,), (4, 3)])


def check(feature_map, graph, by_hand):
    """g of each replica, at parameters that are nowhere at their first values, is what is written down."""
    prepared = feature_map.prepare(graph, DOUBLE)
    random = torch.Generator().manual_seed(0)
    parameters = {
        name: value + torch.randn(value.shape, dtype=value.dtype, generator=random)
        for name, value in feature_map.initial(prepared, Draws(torch.tensor([3, 4])), DOUBLE).items()
    }
    terms = [term.toarray() for term in hop_matrices(graph, feature_map.hops, feature_map.powers)]
    x = dense_features(graph).astype(float)
    if feature_map.normalize_rows:
        sums = np.abs(x).sum(axis=1, keepdims=True)
        x = x / np.where(sums > 0, sums, 1)
    for replica, g in enumerate(feature_map(parameters, prepared)):
        own = {name: value[replica].numpy() for name, value in parameters.items()}
        assert np.allclose(g, by_hand(own, terms, x), atol=1e-8)


def standardized(x, axis, own, layer):
    """LayerNorm along the columns, or BatchNorm along the nodes."""
    x = (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(x.var(axis=axis, keepdims=True) + 1e-5)
    return x * own[f"norm_scale_{layer}"] + own[f"norm_shift_{layer}"]


@given(
    graphs(),
    st.integers(1, 3),
    HIDDEN,
    st.sampled_from(["learned", 0.5]),
    st.booleans(),
    st.sampled_from(["each", "last", "released", "plain"]),
)
def test_hop_mlp(graph, hops, hidden, hop_weights, normalize, powers):
    def by_hand(own, terms, x):
        for layer in range(len(hidden) + 1):
            x = (x if layer == 0 else np.maximum(x, 0)) @ own[f"weight_{layer}"]
        omega = own["hop_weights"] if hop_weights == "learned" else 0.5 ** np.arange(hops + 1)
        return sum(w * term for w, term in zip(omega, terms, strict=True)) @ x

    check(HopMLP(hidden, 2, hops, powers, hop_weights, normalize), graph, by_hand)


@given(graphs(), st.integers(1, 2), st.booleans(), st.booleans(), st.booleans())
def test_hop_net_has_an_output_layer_for_each_hop(graph, hops, norm, residual, self_loop):
    feature_map = HopNet((4, 4), 2, hops, norm=norm, residual=residual, self_loop=self_loop)

    def by_hand(own, terms, x):
        for layer in range(2):
            before, x = x, x @ own[f"weight_{layer}"]
            x = x + before if layer and residual else x
            x = x + own[f"bias_{layer}"]
            x = np.maximum(standardized(x, 1, own, layer) if norm else x, 0)
        loops = np.diag(1 / (1 + graph.adjacency.toarray().sum(axis=1)))
        terms = [*terms, loops] if self_loop else terms
        layers = np.split(own["weight_2"], len(terms), axis=1)
        return sum(w * t @ x @ layer for w, t, layer in zip(own["hop_weights"], terms, layers, strict=True))

    check(feature_map, graph, by_hand)


@given(graphs(), st.integers(1, 2), HIDDEN, st.sampled_from(["layer", "batch", None]))
def test_stages_are_equation_7_in_turn(graph, hops, hidden, norm):
    batch = norm == "batch"
    feature_map = Stages(hidden, 2, hops) if batch else HopStages(hidden, 2, hops, norm=norm == "layer")

    def by_hand(own, terms, x):
        for stage in range(len(hidden) + 1):
            if stage == len(hidden) and batch:  # a linear layer
                return x @ own[f"weight_{stage}"]
            by_hop = np.split(own[f"weight_{stage}"], hops + 1, axis=1)
            x = sum(term @ x @ weight for term, weight in zip(terms, by_hop, strict=True))
            if stage < len(hidden):
                x = x if batch else x + own[f"bias_{stage}"]
                x = standardized(x, 0 if batch else 1, own, stage) if norm else x
                x = np.maximum(x, 0)
        return x

    if hidden or not batch:
        with torch.no_grad():  # as it answers
            check(feature_map, graph, by_hand)


def test_batch_norm_is_the_same_while_it_trains_and_measured_for_afterwards():
    graph, stages = clustered_graph(n=30), Stages((4, 4), 2)
    prepared = stages.prepare(graph, DOUBLE)
    parameters = stages.initial(prepared, Draws(torch.tensor([3, 4])), DOUBLE)
    training = stages({name: p.requires_grad_() for name, p in parameters.items()}, prepared)
    with torch.no_grad():
        finished = stages.finished(parameters, prepared)
        assert torch.allclose(stages(parameters, prepared), training)
        assert torch.allclose(stages(finished, prepared), training)
        half = np.arange(15)
        alone = stages.rows(finished, graph, half, DOUBLE)
    assert torch.allclose(alone, training[:, half])


def test_xavier_start_has_the_published_bound():
    feature_map = HopMLP((64,), 3)
    prepared = feature_map.prepare(clustered_graph(features=40), DOUBLE)
    parameters = feature_map.initial(prepared, Draws(torch.tensor([0])), DOUBLE)
    bound = 2**0.5 * (6 / (40 + 64)) ** 0.5
    weight = parameters["weight_0"]
    assert bound * 0.95 < weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
    assert torch.equal(parameters["hop_weights"], torch.ones(1, 3, dtype=torch.float64))


@given(graphs(), st.sampled_from(["each", "last", "plain"]), st.integers(1, 3))
def test_presmoothed_features_are_the_hops_of_x(graph, powers, hops):
    x = dense_features(graph)
    smoothed = Presmoothed(hops=hops, powers=powers, normalize_rows=False).smooth(graph)
    smoothed = smoothed.toarray() if sparse.issparse(smoothed) else smoothed
    terms = [term @ x for term in hop_matrices(graph, hops, powers)]
    assert np.allclose(smoothed, terms[-1] if powers == "plain" else np.hstack(terms))


@given(graphs(), st.integers(0, 3))
def test_smoother_is_equations_5_and_6(graph, hops):
    k = np.linalg.matrix_power(normalized_adjacency(graph).toarray(), hops)
    x = dense_features(graph)
    assert np.allclose(Smoother(hops, averaged=False).of(graph), k @ x)
    assert np.allclose(Smoother(hops).of(graph), (k @ x) / k.sum(axis=1, keepdims=True))
