"""GCN is PyTorch Geometric's, for a stack of replicas."""

import numpy as np
import pytest
import torch

from experiments.rivals.jk import torch_geometric_nn
from kernode.compute.draws import Draws
from kernode.errors import InputError
from kernode.maps import GCN
from tasks import SINGLE

SEEDS = torch.tensor([3, 4, 5])


def test_stacked_gcn_equals_pygs_on_the_same_weights(cora):
    graph, _ = cora
    gcn = GCN((16,), 7)
    prepared = gcn.prepare(graph, SINGLE)
    parameters = gcn.initial(prepared, Draws(SEEDS), SINGLE)
    for layer in (0, 1):
        parameters[f"bias_{layer}"] += 0.1 * torch.arange(3)[:, None]
    ours = gcn(parameters, prepared)
    convolution = torch_geometric_nn().GCNConv
    x = torch.tensor(graph.features.toarray() / graph.features.sum(axis=1)[:, None], dtype=torch.float32)
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    for i in range(3):
        layers = [convolution(1433, 16), convolution(16, 7)]
        for number, layer in enumerate(layers):
            layer.lin.weight.data = parameters[f"weight_{number}"][i].T.contiguous()
            layer.bias.data = parameters[f"bias_{number}"][i].clone()
        theirs = layers[1](torch.relu(layers[0](x, edges)), edges)
        assert torch.allclose(ours[i], theirs, atol=1e-5)


@pytest.mark.parametrize("hidden", [16, (0,)])
def test_wrong_widths_are_refused(hidden):
    with pytest.raises(InputError):
        GCN(hidden=hidden)
