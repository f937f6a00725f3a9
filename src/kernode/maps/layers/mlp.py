"""The multi-layer perceptron that several maps share: (n × f) → n × r × d."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.compute.stack import Parameters
from kernode.maps.layers.activation import activate
from kernode.maps.layers.input_dropout import masked_product
from kernode.maps.layers.linear import initial_weight, multiply_shared, multiply_stacked
from kernode.maps.layers.normalization import initial_norm, layer_norm


def initial_mlp(
    widths: Sequence[int], draws: Draws, place: Place, *, biases: bool = False, norm: bool = False
) -> Parameters:
    """Xavier weights ``weight_0``, ``weight_1``, … between the widths; hidden layers may have more."""
    parameters = {
        f"weight_{layer}": initial_weight(rows, columns, layer, draws, place)
        for layer, (rows, columns) in enumerate(pairwise(widths))
    }
    for layer, width in enumerate(widths[1:-1]):
        if biases:
            shape = len(draws.seeds), width
            parameters[f"bias_{layer}"] = torch.zeros(shape, dtype=place.dtype, device=place.device)
        if norm:
            parameters |= initial_norm(width, layer, draws, place)
    return parameters


def first_layer(parameters: Parameters, x: Tensor | SparseMatrix, dropout: Dropout | None = None) -> Tensor:
    """X W_0 of every replica: n × r × d; in training with dropout on X, where there is any."""
    weight = parameters["weight_0"]
    standard = "column_scale" in parameters  # (X − μ) S W = X (S W) − μ (S W): a sparse X stays sparse
    if standard:
        weight = weight * parameters["column_scale"].detach()[..., None]
    if dropout is None or dropout.of_input is None:
        product = multiply_shared(x, weight)
    else:
        product = masked_product(x, weight, dropout.of_input).transpose(0, 1)
    return product - (parameters["column_mean"].detach()[:, None] @ weight)[:, 0] if standard else product


def finish_mlp(
    parameters: Parameters,
    first: Tensor,
    dropout: Dropout | None,
    *,
    residual: bool = False,
    hold: bool = False,
) -> Tensor:
    """The rest of MLP(X); relu, and dropout in training, after each hidden layer.

    Biases and LayerNorm come before relu, where the parameters have them. ``residual`` adds what goes into
    a hidden layer to what comes out, where both have one width. ``hold``: as :func:`layer_norm` has it.
    """
    hidden = first
    layers = sum(name.startswith("weight_") for name in parameters)
    for layer in range(1, layers):
        before = activated(parameters, hidden, layer, dropout, hold=hold)
        hidden = multiply_stacked(before, parameters[f"weight_{layer}"])
        if residual and layer < layers - 1 and hidden.shape == before.shape:
            hidden = hidden + before
    return hidden


def pull_back_mlp(parameters: Parameters, first: Tensor, towards: Tensor) -> Tensor:
    """w with Σ ⟨first, w⟩ = Σ ⟨MLP, towards⟩, active units being held: (n × r × d) → n × r × width.

    For hidden layers of weights and relu alone. It is the gradient, in a tenth of autograd's time where there
    are few nodes.
    """
    layers = sum(name.startswith("weight_") for name in parameters)
    products = [first]
    for layer in range(1, layers - 1):
        products.append(multiply_stacked(torch.relu(products[-1]), parameters[f"weight_{layer}"]))
    for layer in range(layers - 1, 0, -1):
        towards = multiply_stacked(towards, parameters[f"weight_{layer}"].transpose(1, 2))
        towards = towards * (products[layer - 1] > 0)
    return towards


def activated(
    parameters: Parameters, hidden: Tensor, layer: int, dropout: Dropout | None, *, hold: bool = False
) -> Tensor:
    """What the ``layer``-th hidden layer passes on, from its product with the weights."""
    if f"bias_{layer - 1}" in parameters:
        hidden = hidden + parameters[f"bias_{layer - 1}"]
    if f"norm_scale_{layer - 1}" in parameters:
        hidden = layer_norm(hidden, layer - 1, parameters, hold=hold)
    return activate(hidden, layer, dropout)  # dropout there: not stated in the paper
