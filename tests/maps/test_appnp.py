"""APPNP's propagation is PyTorch Geometric's."""

import numpy as np
import pytest
import torch

from graphs import clustered_graph
from kernode.compute.draws import Draws
from kernode.errors import InputError
from kernode.maps import APPNP
from kernode.maps.module import torch_geometric_nn
from tasks import DOUBLE

SEEDS = torch.tensor([3, 4, 5])


def start(feature_map, graph, seeds=SEEDS):
    prepared = feature_map.prepare(graph, DOUBLE)
    return prepared, feature_map.initial(prepared, Draws(seeds), DOUBLE)


def test_appnp_equals_pygs_propagation():
    graph = clustered_graph(n=40)
    appnp = APPNP((), 3, steps=5, teleport=0.2)
    prepared, parameters = start(appnp, graph)
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    theirs = torch_geometric_nn().APPNP(K=5, alpha=0.2)(prepared.features @ parameters["weight_0"][1], edges)
    assert torch.allclose(appnp(parameters, prepared)[1], theirs, atol=1e-9)


def test_wrong_settings_are_refused():
    with pytest.raises(InputError):
        APPNP(teleport=0)
