"""MLP is torch's linear layers and LayerNorm, for a stack of replicas; edges change nothing."""

from dataclasses import replace

import pytest
import torch
from scipy import sparse

from graphs import clustered_graph, dense_features
from kernode.compute.draws import Draws
from kernode.maps import MLP
from tasks import DOUBLE

SEEDS = torch.tensor([3, 4])


@pytest.mark.parametrize("norm", [False, True])
def test_stacked_mlp_equals_torchs_on_the_same_weights(norm):
    graph = clustered_graph(n=30)
    mlp = MLP((6, 5), 3, norm=norm)
    prepared = mlp.prepare(graph, DOUBLE)
    parameters = mlp.initial(prepared, Draws(SEEDS), DOUBLE)
    ours = mlp(parameters, prepared)
    for i in range(2):
        x = torch.tensor(dense_features(graph))
        for layer, (rows, columns) in enumerate(((8, 6), (6, 5), (5, 3))):
            linear = torch.nn.Linear(rows, columns).double()
            assert parameters[f"weight_{layer}"][i].abs().max() <= linear.in_features**-0.5
            linear.weight.data = parameters[f"weight_{layer}"][i].T.contiguous()
            linear.bias.data = parameters[f"bias_{layer}"][i].clone()
            x = linear(x)
            if layer < 2:
                x = torch.relu(torch.nn.LayerNorm(columns).double()(x) if norm else x)
        assert torch.allclose(ours[i], x, atol=1e-10)


def test_an_mlp_sees_no_edge():
    graph = clustered_graph(n=30)
    alone = replace(graph, adjacency=sparse.csr_array((30, 30)))
    mlp = MLP((6,), 3)
    prepared = mlp.prepare(graph, DOUBLE)
    parameters = mlp.initial(prepared, Draws(SEEDS), DOUBLE)
    assert torch.equal(mlp(parameters, prepared), mlp(parameters, mlp.prepare(alone, DOUBLE)))
