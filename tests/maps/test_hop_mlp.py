"""HopMLP is Eq. 7, and starts as published."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphs import clustered_graph, dense_features, graphs
from kernode.compute.draws import Draws
from kernode.errors import InputError
from kernode.hops import hop_matrices
from kernode.maps import HopMLP
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
        for layer in range(len(feature_map.hidden) + 1):
            z = (z if layer == 0 else np.maximum(z, 0)) @ parameters[f"weight_{layer}"][replica].numpy()
        omega = (
            parameters["hop_weights"][replica].numpy()
            if hop_weights == "learned"
            else 0.5 ** np.arange(hops + 1)
        )
        terms = hop_matrices(graph, hops, powers)
        expected = sum(w * term.toarray() for w, term in zip(omega, terms, strict=True)) @ z
        assert np.allclose(ours[replica], expected, atol=1e-10)


def test_xavier_start_has_the_published_bound():
    _, parameters = start(HopMLP((64,), 3), clustered_graph(features=40), torch.tensor([0]))
    bound = 2**0.5 * (6 / (40 + 64)) ** 0.5
    weight = parameters["weight_0"]
    assert bound * 0.95 < weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
    assert torch.equal(parameters["hop_weights"], torch.ones(1, 3, dtype=torch.float64))


@pytest.mark.parametrize(
    "settings", [{"hops": 0}, {"powers": "none"}, {"hidden": (0,)}, {"hop_weights": "fixed"}, {"outputs": 0}]
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(InputError):
        HopMLP(**settings)
