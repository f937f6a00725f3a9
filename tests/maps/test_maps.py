import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphs import clustered_graph, graphs
from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.hops import hop_matrices, normalized_adjacency
from kernode.maps import FeatureMap, Free, HopMLP, Smoother
from kernode.recipe import Recipe

DOUBLE = Place.of(64)


def start(feature_map, graph, seeds, place=DOUBLE):
    feature_map = feature_map.for_classes(max(2, graph.n_classes))
    prepared = feature_map.prepare(graph, place)
    parameters = feature_map.initial(prepared, Draws(torch.tensor(seeds)), place)
    return prepared, parameters


def dense_features(graph):
    return graph.features.toarray() if sparse.issparse(graph.features) else np.asarray(graph.features)


@given(
    graphs(),
    st.integers(1, 3),
    st.sampled_from([(), (4,), (4, 3)]),
    st.sampled_from(["learned", 0.5]),
    st.booleans(),
    st.sampled_from(["each", "last"]),
)
def test_hop_mlp_is_equation_7(graph, hops, hidden, hop_weights, normalize, powers):
    """One replica at a time, in plain dense numpy."""
    feature_map = HopMLP(hidden, 2, hops, powers, hop_weights, normalize)
    prepared, parameters = start(feature_map, graph, [3, 4])
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


@given(graphs(), st.integers(0, 3))
def test_smoother_is_equations_5_and_6(graph, hops):
    k = np.linalg.matrix_power(normalized_adjacency(graph).toarray(), hops)
    x = dense_features(graph)
    assert np.allclose(Smoother(hops, averaged=False).of(graph), k @ x)
    assert np.allclose(Smoother(hops).of(graph), (k @ x) / k.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("hidden", [(), (5,), (5, 4)])
def test_replica_in_a_stack_equals_the_map_alone(hidden):
    graph = clustered_graph()
    feature_map = HopMLP(hidden)
    prepared, stack = start(feature_map, graph, [7, 8, 9])
    rates = torch.full((3,), 0.5, dtype=torch.float64)
    together = feature_map(stack, prepared, Dropout(Draws(torch.tensor([7, 8, 9]), 5), rates))
    for i, seed in enumerate([7, 8, 9]):
        _, parameters = start(feature_map, graph, [seed])
        assert all(torch.equal(stack[name][i], value[0]) for name, value in parameters.items())
        alone = feature_map(parameters, prepared, Dropout(Draws(torch.tensor([seed]), 5), rates[:1]))
        assert torch.allclose(together[i], alone[0], atol=1e-12)


def test_sparse_and_dense_features_agree():
    graph = clustered_graph()
    as_sparse = type(graph)(graph.adjacency, sparse.csr_array(graph.features), graph.labels)
    outputs = []
    for one in (graph, as_sparse):
        prepared, parameters = start(HopMLP(), one, [0])
        outputs.append(HopMLP()(parameters, prepared))
    assert torch.allclose(*outputs, atol=1e-12)


@pytest.mark.parametrize("hop_weights", ["learned", 0.5])
@pytest.mark.parametrize("dropout_rate", [0.0, 0.5])
def test_gradients_pass_gradcheck(hop_weights, dropout_rate):
    graph = clustered_graph(n=9)
    feature_map = HopMLP((3,), hop_weights=hop_weights)
    prepared, parameters = start(feature_map, graph, [0, 1])
    dropout = Dropout(Draws(torch.tensor([0, 1]), 1), torch.full((2,), dropout_rate, dtype=torch.float64))
    names = list(parameters)

    def of(*values):
        return feature_map(dict(zip(names, values, strict=True)), prepared, dropout)

    assert torch.autograd.gradcheck(of, [parameters[name].requires_grad_() for name in names])


def test_xavier_start_has_the_published_bound():
    _, parameters = start(HopMLP((64,)), clustered_graph(features=40), [0])
    bound = 2**0.5 * (6 / (40 + 64)) ** 0.5
    weight = parameters["weight_0"]
    assert bound * 0.95 < weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
    assert torch.equal(parameters["hop_weights"], torch.ones(1, 3, dtype=torch.float64))


@pytest.mark.parametrize(
    "feature_map", [HopMLP((8, 4), 5, 3, "last", 0.25, False), Smoother(1, False), Free(6)]
)
def test_maps_travel_as_json(feature_map):
    assert FeatureMap.from_json(json.loads(json.dumps(feature_map.to_json()))) == feature_map


def test_unknown_kind_is_refused():
    with pytest.raises(InputError, match="'Nothing' is not a known Recipe"):
        Recipe.from_json({"kind": "Nothing"})


@pytest.mark.parametrize(
    "settings", [{"hops": 0}, {"powers": "none"}, {"hidden": (0,)}, {"hop_weights": "fixed"}, {"outputs": 0}]
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(InputError):
        HopMLP(**settings)
