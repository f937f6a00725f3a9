"""FastGCN's sampled sums are unbiased, and drawn as published."""

import numpy as np
import pytest
import torch

from graphs import clustered_graph
from kernode.compute.draws import Draws, Dropout
from kernode.errors import InputError
from kernode.hops import normalized_adjacency
from kernode.maps import FastGCN
from tasks import DOUBLE


def start(feature_map, graph, seeds):
    prepared = feature_map.prepare(graph, DOUBLE)
    return prepared, feature_map.initial(prepared, Draws(seeds), DOUBLE)


def test_fastgcn_estimate_is_unbiased():
    """The mean of many sampled products is the full one, node by node, within its standard error."""
    graph = clustered_graph(n=20)
    fast = FastGCN((4,), 3, share=0.3)
    seeds = torch.arange(4_000)
    prepared = fast.prepare(graph, DOUBLE)
    weights = fast.weights(prepared.chance, Draws(seeds, 1))  # n × r
    error = weights.std(dim=1) / len(seeds) ** 0.5
    assert ((weights.mean(dim=1) - 1).abs() < 4.5 * error).all()
    one = {
        name: value.expand(4_000, -1, -1) for name, value in start(fast, graph, torch.tensor([3]))[1].items()
    }
    no_dropout = torch.zeros(4_000, dtype=torch.float64)
    sampled = fast(one, prepared, Dropout(Draws(seeds, 1), no_dropout))
    full = fast({name: value[:1] for name, value in one.items()}, prepared)[0]
    deviation = (sampled.mean(dim=0) - full).abs()
    assert (deviation < 5 * sampled.std(dim=0) / len(seeds) ** 0.5 + 1e-12).all()
    assert sampled.std(dim=0).max() > 0.01  # it does sample


def test_fastgcn_draws_by_the_squared_norm_of_columns():
    graph = clustered_graph(n=15)
    chance = FastGCN().prepare(graph, DOUBLE).chance.numpy()
    columns = (normalized_adjacency(graph).toarray() ** 2).sum(axis=0)
    assert np.allclose(chance, columns / columns.sum())


def test_wrong_settings_are_refused():
    with pytest.raises(InputError):
        FastGCN(share=0)
