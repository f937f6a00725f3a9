"""Diffusion is GPRGNN's and APPNP's propagation, as PyTorch Geometric computes it."""

import numpy as np
import pytest
import torch

from experiments.rivals.jk import torch_geometric_nn
from graphs import clustered_graph
from kernode.compute.draws import Draws
from kernode.errors import InputError
from kernode.maps import Diffusion
from tasks import DOUBLE

SEEDS = torch.tensor([3, 4])


def start(feature_map, graph):
    prepared = feature_map.prepare(graph, DOUBLE)
    return prepared, feature_map.initial(prepared, Draws(SEEDS), DOUBLE)


@pytest.mark.parametrize("teleport", [0.1, 0.5])
def test_learned_weights_are_gprgnns_propagation(teleport):
    """Σ_k γ_k Ã^k MLP(X), with PyG's Ã, and γ beginning at a(1 − a)^k, the last at (1 − a)^K."""
    graph, steps = clustered_graph(n=40), 10
    gpr = Diffusion((6,), 3, hops=steps, teleport=teleport)
    prepared, parameters = start(gpr, graph)
    first = [teleport * (1 - teleport) ** k for k in range(steps)] + [(1 - teleport) ** steps]
    assert np.allclose(parameters["hop_weights"], first)
    random = torch.Generator().manual_seed(0)
    for name in ("hop_weights", "bias_0"):
        shape = parameters[name].shape
        parameters[name] += 0.1 * torch.randn(shape, dtype=torch.float64, generator=random)
    ours = gpr(parameters, prepared)
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    step = torch_geometric_nn().SGConv(3, 3, K=1, bias=False).double()  # x → Ã x W
    step.lin.weight.data = torch.eye(3, dtype=torch.float64)
    for i in range(2):
        x = torch.relu(prepared.features @ parameters["weight_0"][i] + parameters["bias_0"][i])
        x = x @ parameters["weight_1"][i]
        weights = parameters["hop_weights"][i]
        expected = weights[0] * x
        for weight in weights[1:]:
            x = step(x, edges)
            expected = expected + weight * x
        assert torch.allclose(ours[i], expected, atol=1e-10)


def test_pagerank_weights_are_appnps_propagation():
    graph = clustered_graph(n=40)
    appnp = Diffusion((), 3, hops=5, hop_weights="pagerank", teleport=0.2)
    prepared, parameters = start(appnp, graph)
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    theirs = torch_geometric_nn().APPNP(K=5, alpha=0.2)(prepared.features @ parameters["weight_0"][1], edges)
    assert torch.allclose(appnp(parameters, prepared)[1], theirs, atol=1e-9)


@pytest.mark.parametrize(
    "settings", [{"teleport": 0.0}, {"teleport": 1.5}, {"hop_weights": 0.5}, {"hops": 0}, {"powers": "none"}]
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(InputError):
        Diffusion(**settings)
