"""HopMLP is Eq. 7, and starts as published."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphs import clustered_graph, dense_features, graphs
from kernode.compute.draws import Draws
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.hops import hop_matrices
from kernode.maps import APPNP, HopMLP
from tasks import DOUBLE


def start(feature_map, graph, seeds):
    prepared = feature_map.prepare(graph, DOUBLE)
    return prepared, feature_map.initial(prepared, Draws(seeds), DOUBLE)


@given(
    graphs(),
    st.integers(1, 3),
    st.sampled_from([(), (4,), (4, 3)]),
    st.sampled_from(["learned", 0.5]),
    st.booleans(),
    st.sampled_from(["each", "last", "released"]),
)
def test_hop_mlp_is_equation_7(graph, hops, hidden, hop_weights, normalize, powers):
    """One replica at a time, in plain dense numpy."""
    feature_map = HopMLP(hidden, 2, hops, powers, hop_weights, normalize)
    prepared, parameters = start(feature_map, graph, torch.tensor([3, 4]))
    if hop_weights == "learned":
        parameters["hop_weights"] = torch.randn(2, hops + 1, dtype=torch.float64)
    ours = feature_map(parameters, prepared)
    x = dense_features(graph).astype(float)
    if normalize:
        sums = np.abs(x).sum(axis=1, keepdims=True)
        x = x / np.where(sums > 0, sums, 1)
    for replica in range(2):
        z = x
        for layer in range(feature_map.layers):
            z = (z if layer == 0 else np.maximum(z, 0)) @ parameters[f"weight_{layer}"][replica].numpy()
        omega = (
            parameters["hop_weights"][replica].numpy()
            if hop_weights == "learned"
            else 0.5 ** np.arange(hops + 1)
        )
        terms = hop_matrices(graph, hops, powers)
        expected = sum(w * term.toarray() for w, term in zip(omega, terms, strict=True)) @ z
        assert np.allclose(ours[replica], expected, atol=1e-10)


@given(
    graphs(),
    st.integers(1, 3),
    st.sampled_from(["each", "plain", "last", "released"]),
    st.sampled_from(["identity", "loop", "both"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([{}, {"biases": True}, {"norm": True}, {"biases": True, "norm": True, "residual": True}]),
    st.booleans(),
)
def test_the_family_is_what_it_says(graph, hops, powers, self_term, per_hop, teleport, layers, standardize):
    """Every part that Eq. 7 can have beyond the paper, in plain dense numpy, with parameters anywhere."""
    feature_map = HopMLP(
        (4, 4), 2, hops, powers, teleport=0.3 if teleport else None, normalize_rows=False,
        self_term=self_term, per_hop=per_hop, standardize=standardize, **layers,
    )  # fmt: skip
    prepared, parameters = start(feature_map, graph, torch.tensor([3, 4]))
    first = {name: value.clone() for name, value in parameters.items()}
    random = torch.Generator().manual_seed(0)
    for name, value in parameters.items():
        if not name.startswith("column"):
            parameters[name] = value + torch.randn(value.shape, dtype=value.dtype, generator=random)
    ours = feature_map(parameters, prepared)
    for replica in range(2):
        own = {name: value[replica].numpy() for name, value in parameters.items()}
        x = dense_features(graph).astype(float)
        if standardize:
            spread = x.std(axis=0)
            x = (x - x.mean(axis=0)) / np.where(spread > 1e-12, spread, 1)
        for layer in range(2):
            before = x
            x = before @ own[f"weight_{layer}"]
            if layer and layers.get("residual"):
                x = x + before
            x = x + own.get(f"bias_{layer}", 0)
            if "norm" in layers:
                x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
                x = x * own[f"norm_scale_{layer}"] + own[f"norm_shift_{layer}"]
            x = np.maximum(x, 0)
        last, terms = own["weight_2"], [term.toarray() for term in hop_matrices(graph, hops, powers)]
        loop = np.diag(1 / (1 + graph.adjacency.toarray().sum(axis=1)))
        terms = {"identity": terms, "loop": [loop, *terms[1:]], "both": [*terms, loop]}[self_term]
        layers_out = np.split(last, len(terms), axis=1) if per_hop else [last] * len(terms)
        expected = sum(
            w * term @ x @ out for w, term, out in zip(own["hop_weights"], terms, layers_out, strict=True)
        )
        assert np.allclose(ours[replica], expected, atol=1e-8)
    if teleport:
        weights = 0.3 * 0.7 ** np.arange(hops + 1)
        weights[-1] = 0.7**hops
        assert np.allclose(first["hop_weights"][0, : hops + 1], weights)


def test_pagerank_weights_are_appnp():
    graph = clustered_graph(n=30)
    ours = HopMLP((4,), 3, 5, "plain", "pagerank", teleport=0.2)
    prepared, parameters = start(ours, graph, torch.tensor([3, 4]))
    theirs = APPNP((4,), 3, steps=5, teleport=0.2)
    assert torch.allclose(ours(parameters, prepared), theirs(parameters, theirs.prepare(graph, DOUBLE)))


def test_columns_are_standardised_as_on_the_graph_that_was_learned_from():
    """Else a graph of other units would look the same."""
    graph = clustered_graph(n=30)
    feature_map = HopMLP((4,), 3, normalize_rows=False, standardize=True)
    prepared, parameters = start(feature_map, graph, torch.tensor([3]))
    other = Graph(graph.adjacency, graph.features * 7, graph.labels)
    there = feature_map(parameters, feature_map.prepare(other, DOUBLE))
    assert not torch.allclose(there, feature_map(parameters, prepared))


def test_xavier_start_has_the_published_bound():
    _, parameters = start(HopMLP((64,), 3), clustered_graph(features=40), torch.tensor([0]))
    bound = 2**0.5 * (6 / (40 + 64)) ** 0.5
    weight = parameters["weight_0"]
    assert bound * 0.95 < weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
    assert torch.equal(parameters["hop_weights"], torch.ones(1, 3, dtype=torch.float64))


@pytest.mark.parametrize(
    "settings",
    [
        {"hops": 0},
        {"powers": "none"},
        {"hidden": (0,)},
        {"hop_weights": "fixed"},
        {"outputs": 0},
        {"teleport": 0.0},
        {"hop_weights": "pagerank"},
        {"hop_weights": 0.5, "teleport": 0.1},
        {"self_term": "none"},
    ],
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(InputError):
        HopMLP(**settings)
