"""Maps of 0.2.0 are read as today's and give the same g."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphs import dense_features, graphs
from kernode.errors import InputError
from kernode.hops import hop_matrices
from kernode.maps import Diffusion, FeatureMap, HopMLP, HopNet, HopStages, Standardized
from kernode.maps.former import FLAGS, current_parameters
from tasks import DOUBLE

PLAIN = {"kind": "HopMLP", "hidden": [4, 4], "outputs": 2, "normalize_rows": False}


def former_parameters(old, features, replicas=2):
    """Random parameters of HopMLP in 0.2.0."""
    random = torch.Generator().manual_seed(0)

    def drawn(*shape):
        return torch.randn(replicas, *shape, dtype=torch.float64, generator=random)

    terms = old["hops"] + 1 + (old["self_term"] == "both")
    widths = (features, *old["hidden"], old["outputs"] * (terms if old["per_hop"] else 1))
    found = {f"weight_{i}": drawn(*shape) for i, shape in enumerate(pairwise(widths))}
    for layer, width in enumerate(old["hidden"]):
        found |= {f"bias_{layer}": drawn(width)} if old["biases"] else {}
        for name in ("norm_scale", "norm_shift") if old["norm"] else ():
            found[f"{name}_{layer}"] = drawn(width)
    if old["hop_weights"] == "learned":
        found["hop_weights"] = drawn(terms)
    if old["standardize"]:
        found |= {"column_mean": drawn(features), "column_scale": drawn(features)}
    return found


def former_g(old, own, graph):
    """HopMLP of 0.2.0 with one replica's parameters, in plain dense numpy."""
    x = dense_features(graph).astype(float)
    if old["standardize"]:
        x = (x - own["column_mean"]) * own["column_scale"]
    for layer in range(len(old["hidden"])):
        before = x
        x = before @ own[f"weight_{layer}"]
        if layer and old["residual"]:
            x = x + before
        x = x + own.get(f"bias_{layer}", 0)
        if old["norm"]:
            x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
            x = x * own[f"norm_scale_{layer}"] + own[f"norm_shift_{layer}"]
        x = np.maximum(x, 0)
    last, terms = (
        own["weight_2"],
        [term.toarray() for term in hop_matrices(graph, old["hops"], old["powers"])],
    )
    loop = np.diag(1 / (1 + graph.adjacency.toarray().sum(axis=1)))
    terms = {"identity": terms, "loop": [loop, *terms[1:]], "both": [*terms, loop]}[old["self_term"]]
    layers = np.split(last, len(terms), axis=1) if old["per_hop"] else [last] * len(terms)
    weights = own.get("hop_weights")
    if weights is None:
        hops, a, c = np.arange(old["hops"] + 1.0), old["teleport"], old["hop_weights"]
        weights = (1 - a) ** hops * np.where(hops < old["hops"], a, 1) if c == "pagerank" else c**hops
        weights = np.append(weights, 0.0 if c == "pagerank" else 1.0)[: len(terms)]
    return sum(w * term @ x @ layer for w, term, layer in zip(weights, terms, layers, strict=True))


@given(
    graphs(),
    st.integers(1, 3),
    st.sampled_from(["each", "plain", "last", "released"]),
    st.sampled_from(["learned", "pagerank", 0.5]),
    st.sampled_from(["identity", "loop", "both"]),
    st.fixed_dictionaries(
        {name: st.booleans() for name in ("per_hop", "biases", "norm", "residual", "standardize")}
    ),
)
def test_every_hop_mlp_of_a_file_gives_the_same_g(graph, hops, powers, hop_weights, self_term, flags):
    values = PLAIN | {
        "hops": hops,
        "powers": powers,
        "hop_weights": hop_weights,
        "self_term": self_term,
        **flags,
    }
    values |= {"teleport": 0.3} if hop_weights == "pagerank" else {}
    old, feature_map = FLAGS | values, FeatureMap.from_json(values)
    parameters = former_parameters(old, graph.n_features)
    method = {"kind": "Method", "map": values}
    current = current_parameters(method, {f"map.{name}": value for name, value in parameters.items()})
    current = {name.removeprefix("map."): value for name, value in current.items()}
    prepared = feature_map.prepare(graph, DOUBLE)
    ours = feature_map(current, prepared)
    near = feature_map.rows(current, graph, np.arange(graph.n_nodes)[:1], DOUBLE)
    for replica in range(2):
        own = {name: value[replica].numpy() for name, value in parameters.items()}
        expected = former_g(old, own, graph)
        assert np.allclose(ours[replica], expected, atol=1e-8)
        assert np.allclose(near[replica], expected[:1], atol=1e-8)


def test_settings_go_to_the_map_that_has_them():
    rest = {"hops": 3, "powers": "each", "hop_weights": "learned"}
    near, plain = PLAIN | rest, {"hidden": (4, 4), "outputs": 2, "hops": 3, "normalize_rows": False}

    def read(**values):
        return FeatureMap.from_json(json.loads(json.dumps(near | values)))

    assert read() == HopMLP(**plain)
    assert read(teleport=0.2, biases=True) == Diffusion(**plain, powers="each", teleport=0.2)
    assert read(teleport=0.2) == Diffusion(**plain, powers="each", teleport=0.2, biases=False)
    assert read(per_hop=True, biases=True, norm=True) == HopNet(**plain)
    assert read(norm=True, self_term="both") == HopNet(**plain, self_loop=True)
    assert read(standardize=True) == Standardized(HopMLP(**plain))
    stages = {"kind": "HopStages", **HopStages().to_json(), "standardize": True}
    assert FeatureMap.from_json(stages) == Standardized(HopStages())
    appnp = {
        "kind": "APPNP",
        "hidden": [8],
        "outputs": 3,
        "steps": 5,
        "teleport": 0.3,
        "normalize_rows": True,
    }
    assert FeatureMap.from_json(appnp) == Diffusion((8,), 3, 5, "plain", "pagerank", True, 0.3, biases=False)
    with pytest.raises(InputError):
        read(self_term="none")
