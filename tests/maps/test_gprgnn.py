"""HopMLP with plain powers and learned weights from a personalised-PageRank start is GPRGNN's propagation."""

import numpy as np
import pytest
import torch

from graphs import clustered_graph
from kernode.compute.draws import Draws
from kernode.maps import HopMLP
from kernode.maps.module import torch_geometric_nn
from tasks import DOUBLE

SEEDS = torch.tensor([3, 4])


@pytest.mark.parametrize("teleport", [0.1, 0.5])
def test_gprgnns_propagation_is_hop_mlp_with_plain_powers(teleport):
    """Σ_k γ_k Ã^k MLP(X), with PyG's Ã, and γ beginning at a(1 − a)^k, the last at (1 − a)^K."""
    graph, steps = clustered_graph(n=40), 10
    gpr = HopMLP((6,), 3, hops=steps, powers="plain", hop_weights="learned", teleport=teleport)
    prepared = gpr.prepare(graph, DOUBLE)
    parameters = gpr.initial(prepared, Draws(SEEDS), DOUBLE)
    start = [teleport * (1 - teleport) ** k for k in range(steps)] + [(1 - teleport) ** steps]
    assert np.allclose(parameters["hop_weights"], start)
    parameters["hop_weights"] += 0.1 * torch.randn(
        2, steps + 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    ours = gpr(parameters, prepared)
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    step = torch_geometric_nn().SGConv(3, 3, K=1, bias=False).double()  # x → Ã x W
    step.lin.weight.data = torch.eye(3, dtype=torch.float64)
    for i in range(2):
        x = torch.relu(prepared.features @ parameters["weight_0"][i]) @ parameters["weight_1"][i]
        weights = parameters["hop_weights"][i]
        expected = weights[0] * x
        for weight in weights[1:]:
            x = step(x, edges)
            expected = expected + weight * x
        assert torch.allclose(ours[i], expected, atol=1e-10)
