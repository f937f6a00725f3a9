"""Attention along edges: its gradient is the true one, whatever the number of replicas and heads."""

import pytest
import torch

from graphs import clustered_graph
from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.maps import GAT

PLACE = Place.of(64)


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("hidden", [(), (4,)])
def test_gradient_with_dropout_is_the_true_one(replicas, hidden):
    draws = Draws(torch.arange(replicas))
    attention = GAT(hidden=hidden, outputs=2, heads=2 if hidden else 8, attention_dropout=0.4)
    prepared = attention.prepare(clustered_graph(12, features=3), PLACE)
    parameters = attention.initial(prepared, draws, PLACE)
    dropout = Dropout(draws.at(1), torch.full((replicas,), 0.5, dtype=torch.float64))

    def g(*values):
        return attention(dict(zip(parameters, values, strict=True)), prepared, dropout)

    values = [value.detach().clone().requires_grad_() for value in parameters.values()]
    assert torch.autograd.gradcheck(g, values)
