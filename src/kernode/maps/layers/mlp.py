"""The multi-layer perceptron that several maps share: (n × f) → n × r × d, no biases."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.compute.stack import Parameters
from kernode.maps.layers.activation import activate
from kernode.maps.layers.input_dropout import masked_product
from kernode.maps.layers.linear import initial_weight, multiply_shared, multiply_stacked


def initial_mlp(widths: Sequence[int], draws: Draws, place: Place) -> Parameters:
    """Xavier weights ``weight_0``, ``weight_1``, … between the widths."""
    return {
        f"weight_{layer}": initial_weight(rows, columns, layer, draws, place)
        for layer, (rows, columns) in enumerate(pairwise(widths))
    }


def first_layer(parameters: Parameters, x: Tensor | SparseMatrix, dropout: Dropout | None = None) -> Tensor:
    """X W_0 of every replica: n × r × d; in training with dropout on X, where there is any."""
    weight = parameters["weight_0"]
    if dropout is None or dropout.of_input is None:
        return multiply_shared(x, weight)
    return masked_product(x, weight, dropout.of_input).transpose(0, 1)


def finish_mlp(parameters: Parameters, first: Tensor, dropout: Dropout | None) -> Tensor:
    """The rest of MLP(X); relu, and dropout in training, after each hidden layer."""
    hidden = first
    layers = sum(name.startswith("weight_") for name in parameters)
    for layer in range(1, layers):
        hidden = activate(hidden, layer, dropout)  # dropout there: not stated in the paper
        hidden = multiply_stacked(hidden, parameters[f"weight_{layer}"])
    return hidden
