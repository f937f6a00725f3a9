"""The multi-layer perceptron that several maps share, (n × f) → n × r × d: ReLU, dropout and LayerNorm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from kernode.compute.chunks import chunks
from kernode.compute.draws import DROPOUT, Draws, Dropout
from kernode.compute.gpu import fused
from kernode.compute.place import Place
from kernode.compute.stack import Parameters
from kernode.maps.layers.features import Features
from kernode.maps.layers.linear import initial_bias, initial_weight, input_products, multiply_stacked


def activate(x: Tensor, layer: int, dropout: Dropout | None) -> Tensor:
    """ReLU, then dropout: n × r × d."""
    return torch.relu(x) if dropout is None else _MaskedReLU.apply(x, dropout, layer)


class _MaskedReLU(torch.autograd.Function):
    """relu(x) · mask. What came out above zero is all that the gradient needs: no mask is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dropout: Dropout, layer: int) -> Tensor:
        scale = dropout.scale.to(x.dtype)[:, None]
        if (gpu := fused(x)) and not dropout.first_row:
            draws = dropout.draws
            out = gpu.masked_relu(
                x, draws.seeds, draws.epoch_on_device, DROPOUT + layer, dropout.threshold, scale
            )
            ctx.save_for_backward(out, scale)
            return out
        out = torch.empty_like(x)
        n, r, width = x.shape
        at_once = n if x.is_cuda else 2**19 // max(1, r * width)
        for rows in chunks(n, max(1, at_once)):  # the random words of all rows would be larger than x itself
            part = out[rows]
            torch.clamp_min(x[rows], 0, out=part)
            keep = dropout.keep(layer, range(rows.start, rows.stop), width).view(torch.uint8)
            part.mul_(keep).mul_(scale)  # bytes, since booleans convert more slowly
        ctx.save_for_backward(out, scale)
        return out

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor, None, None]:
        out, scale = ctx.saved_tensors
        if gpu := fused(out):
            return gpu.masked_relu_gradient(upstream[0], out, scale), None, None
        return torch.ops.aten.threshold_backward(upstream[0], out, 0).mul_(scale), None, None


def initial_norm(width: int, layer: int, draws: Draws, place: Place) -> Parameters:
    """Scale 1 and shift 0, as ``norm_scale_LAYER`` and ``norm_shift_LAYER``: r × width each."""
    zeros = initial_bias(width, draws, place)
    return {f"norm_scale_{layer}": zeros + 1, f"norm_shift_{layer}": zeros}


EPSILON = 1e-5  # added to the variance, as torch does


def layer_norm(x: Tensor, layer: int, parameters: Parameters, *, hold: bool = False) -> Tensor:
    """LayerNorm (Ba et al. 2016) with the parameters of a layer: n × r × width.

    ``hold``: its gradient takes the deviations as constants.
    """
    if hold:
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.detach().square().mean(dim=-1, keepdim=True)
        normal = centred * (variance + EPSILON).rsqrt()
    else:
        normal = functional.layer_norm(x, x.shape[-1:], eps=EPSILON)
    return torch.addcmul(parameters[f"norm_shift_{layer}"], normal, parameters[f"norm_scale_{layer}"])


def initial_mlp(
    widths: Sequence[int],
    draws: Draws,
    place: Place,
    *,
    biases: bool = False,
    norm: bool = False,
    **weights: Any,
) -> Parameters:
    """Xavier weights ``weight_0``, ``weight_1``, … between the widths; hidden layers may have more.

    ``weights``: gain and count, as :func:`~kernode.maps.layers.linear.initial_weight` takes them.
    """
    parameters = {
        f"weight_{layer}": initial_weight(rows, columns, layer, draws, place, **weights)
        for layer, (rows, columns) in enumerate(pairwise(widths))
    }
    for layer, width in enumerate(widths[1:-1]):
        if biases:
            parameters[f"bias_{layer}"] = initial_bias(width, draws, place)
        if norm:
            parameters |= initial_norm(width, layer, draws, place)
    return parameters


def first_layer(parameters: Parameters, x: Features, dropout: Dropout | None = None) -> Tensor:
    """X W_0 of every replica: n × r × d; in training with dropout on X, where there is any."""
    return first_products(parameters, x, [parameters["weight_0"]], dropout)[0]


def first_products(
    parameters: Parameters, x: Features, weights: list[Tensor], dropout: Dropout | None
) -> list[Tensor]:
    """X with each of several weights, its columns standardised where the parameters have their statistics."""
    if "column_scale" not in parameters:
        return input_products(x, weights, dropout)
    # (X − μ) S W = X (S W) − μ (S W): a sparse X stays sparse
    mean, scale = (parameters[name].detach() for name in ("column_mean", "column_scale"))
    weights = [weight * scale[..., None] for weight in weights]
    products = zip(input_products(x, weights, dropout), weights, strict=True)
    return [product - (mean[:, None] @ weight)[:, 0] for product, weight in products]


def finish_mlp(
    parameters: Parameters,
    first: Tensor,
    dropout: Dropout | None,
    sums: Callable[[Tensor], Tensor] | None = None,
    *,
    residual: bool = False,
    hold: bool = False,
) -> Tensor:
    """The rest of MLP(X); relu, and dropout in training, after each hidden layer.

    Biases and LayerNorm come before relu, where the parameters have them. ``sums`` is applied to each later
    layer's product, before its bias. ``residual`` adds what goes into a hidden layer to what comes out, where
    both have one width. ``hold``: as :func:`layer_norm` has it.
    """
    hidden = first
    layers = sum(name.startswith("weight_") for name in parameters)
    for layer in range(1, layers):
        if f"bias_{layer - 1}" in parameters:
            hidden = hidden + parameters[f"bias_{layer - 1}"]
        if f"norm_scale_{layer - 1}" in parameters:
            hidden = layer_norm(hidden, layer - 1, parameters, hold=hold)
        before = activate(hidden, layer, dropout)  # dropout there: not stated in the paper
        hidden = multiply_stacked(before, parameters[f"weight_{layer}"])
        hidden = hidden if sums is None else sums(hidden)
        if residual and layer < layers - 1 and hidden.shape == before.shape:
            hidden = hidden + before
    last = f"bias_{layers - 1}"
    return hidden + parameters[last] if last in parameters else hidden
