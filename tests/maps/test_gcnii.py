"""GCNII is PyTorch Geometric's GCN2Conv between two linear layers, for a stack of replicas."""

import numpy as np
import pytest
import torch

from experiments.rivals.jk import torch_geometric_nn
from graphs import clustered_graph, dense_features
from kernode.compute.draws import Draws, Dropout
from kernode.errors import InputError
from kernode.maps import GCNII
from tasks import DOUBLE, dropout_mask

SEEDS = torch.tensor([3, 4])


def start(feature_map, graph):
    prepared = feature_map.prepare(graph, DOUBLE)
    return prepared, feature_map.initial(prepared, Draws(SEEDS), DOUBLE)


@pytest.mark.parametrize(("alpha", "theta"), [(0.1, 0.5), (0.5, 1.5)])
def test_stacked_gcnii_equals_pygs_on_the_same_weights(alpha, theta):
    graph = clustered_graph(n=40)
    gcnii = GCNII((6,), 3, depth=4, alpha=alpha, theta=theta, normalize_rows=False)
    prepared, parameters = start(gcnii, graph)
    ours = gcnii(parameters, prepared)
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    for i in range(2):
        own = {name: value[i] for name, value in parameters.items()}
        first = torch.relu(torch.tensor(dense_features(graph)) @ own["weight_0"] + own["bias_0"])
        x = first
        for layer in range(1, 5):
            theirs = torch_geometric_nn().GCN2Conv(6, alpha, theta, layer).double()
            theirs.weight1.data = own[f"weight_{layer}"].clone()
            x = torch.relu(theirs(x, first, edges))
        assert torch.allclose(ours[i], x @ own["weight_5"] + own["bias_5"], atol=1e-10)


def test_what_comes_back_in_every_layer_has_no_dropout():
    """With alpha = 1 only H₀ passes: what dropout left out in the first layer is still there."""
    graph = clustered_graph(n=30)
    gcnii = GCNII((6,), 3, depth=1, alpha=1.0)
    prepared, parameters = start(gcnii, graph)
    dropout = Dropout(Draws(SEEDS, 1), torch.full((2,), 0.5, dtype=torch.float64))
    masks = dropout_mask(
        dropout, torch.ones(30, 2, 6, dtype=torch.float64), 2
    )  # n × r × width, of the last layer
    dropped = gcnii(parameters, prepared, dropout)
    b = np.log(1.5)
    for i in range(2):
        own = {name: value[i] for name, value in parameters.items()}
        first = torch.relu(prepared.features @ own["weight_0"] + own["bias_0"])
        x = torch.relu((1 - b) * first + b * first @ own["weight_1"]) * masks[:, i]
        assert torch.allclose(dropped[i], x @ own["weight_2"] + own["bias_2"])


@pytest.mark.parametrize("wrong", [{"hidden": (4, 4)}, {"depth": 0}, {"alpha": 1.1}, {"theta": 0.0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError):
        GCNII(**wrong)
