"""Layers of a stack of replicas: linear ones, dropout on X, and the MLP (n × f) → n × r × d."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from kernode.compute.chunks import chunks
from kernode.compute.draws import DROPOUT, WEIGHTS, Draws, Dropout
from kernode.compute.gpu import fused
from kernode.compute.sparse import SparseMatrix, product, with_values
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.maps.layers.features import Features


def initial_weight(
    rows: int,
    columns: int,
    layer: int,
    draws: Draws,
    options: TensorOptions,
    *,
    gain: float = 2**0.5,
    count: int = 1,
) -> Tensor:
    """Draw Xavier-uniform weights, ``count`` of them side by side: r × rows × count·columns.

    The paper does not state the start; a gain of √2 is its released code's. Memory runs rows × r × columns,
    so that a sparse product sees the whole stack as one matrix.
    """
    bound = gain * (6 / (rows + columns)) ** 0.5
    uniform = draws.uniform(WEIGHTS + layer, rows * count * columns)  # (rows·count·columns) × r
    weight = (uniform * 2 - 1) * bound
    weight = weight.view(rows, count * columns, -1).transpose(1, 2).contiguous()
    return weight.to(options.dtype).to(options.device).transpose(0, 1)


def initial_bias(width: int, draws: Draws, options: TensorOptions) -> Tensor:
    """Return zeros: r × width."""
    return torch.zeros(len(draws.seeds), width, dtype=options.dtype, device=options.device)


def initial_linear(
    rows: int, columns: int, stream: int, draws: Draws, options: TensorOptions
) -> tuple[Tensor, Tensor]:
    """Draw weights (r × rows × columns) and biases (r × columns) as ``torch.nn.Linear`` starts: ± 1/√rows."""
    xavier = (6 / (rows + columns)) ** 0.5
    weight = initial_weight(rows, columns, stream, draws, options, gain=rows**-0.5 / xavier)
    bias = (draws.uniform(WEIGHTS + stream + 1, columns).T * 2 - 1) * rows**-0.5
    return weight, bias.to(options.dtype).to(options.device).contiguous()


def multiply_shared(x: Features, weight: Tensor) -> Tensor:
    """Every replica's weights on one shared x: (n × f), (r × f × d) → n × r × d."""
    r, f, d = weight.shape
    return (x @ weight.transpose(0, 1).reshape(f, r * d)).view(-1, r, d)


def multiply_stacked(x: Tensor, weight: Tensor) -> Tensor:
    """Every replica's weights on its own x: (n × r × f), (r × f × d) → n × r × d."""
    if len(weight) == 1:  # faster than a batch of one
        return (x.squeeze(1) @ weight.squeeze(0)).unsqueeze(1)
    return torch.bmm(x.transpose(0, 1), weight).transpose(0, 1)


def kept(dropout: Dropout, layer: int, count: int) -> Tensor:
    """1 or 0 for so many elements of every replica: r × count."""
    return dropout.keep_entries(layer, count).view(torch.uint8)  # booleans convert more slowly


def scale_of(dropout: Dropout, like: Tensor) -> Tensor:
    """What makes up for the elements that are not kept: r × 1 × 1."""
    return dropout.scale.to(like.dtype)[:, None, None]


def masked_product(x: Features, weight: Tensor, dropout: Dropout | None) -> Tensor:
    """X W with X masked for each replica: r × n × d."""
    if dropout is None:
        return multiply_shared(x, weight).transpose(0, 1)
    function = _MaskedSparse if isinstance(x, SparseMatrix) else _DropoutLinear
    out: Tensor = function.apply(x, weight, dropout)
    return out


class _MaskedSparse(torch.autograd.Function):
    """A sparse X: only stored values need a mask."""

    @staticmethod
    def forward(ctx: Any, x: SparseMatrix, weight: Tensor, dropout: Dropout) -> Tensor:
        values = x.matrix.values()
        masked = values * kept(dropout, 0, len(values))  # r × stored values
        masked.mul_(scale_of(dropout, values)[:, 0])
        ctx.x = x
        ctx.save_for_backward(masked)
        pairs = zip(masked, weight.contiguous(), strict=True)
        return torch.stack([product(with_values(x.matrix, own), w) for own, w in pairs])

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor, None]:
        (masked,) = ctx.saved_tensors
        transposed = masked.index_select(1, ctx.x.order)
        pairs = zip(transposed, upstream[0].contiguous(), strict=True)
        gradients = [product(with_values(ctx.x.transpose, own), g) for own, g in pairs]
        return None, torch.stack(gradients), None


class _DropoutLinear(torch.autograd.Function):
    """A dense X: masks are kept, in a byte each, but only one replica's masked X is there at a time."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, dropout: Dropout) -> Tensor:
        keep = kept(dropout, 0, x.numel()).view(-1, *x.shape)  # r × n × f
        scale = scale_of(dropout, x)
        ctx.save_for_backward(x, keep, scale)
        return torch.stack([(x * own) @ w for own, w in zip(keep, weight, strict=True)]).mul_(scale)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor, None]:
        x, keep, scale = ctx.saved_tensors
        pairs = zip(keep, upstream[0], strict=True)
        return None, torch.stack([(x * own).T @ gradient for own, gradient in pairs]).mul_(scale), None


# -- the multi-layer perceptron -----------------------------------------------------------------------


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
                x, draws.seeds, draws.epoch_tensor, DROPOUT + layer, dropout.threshold, scale
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


def initial_norm(width: int, layer: int, draws: Draws, options: TensorOptions) -> Parameters:
    """Scale 1 and shift 0, as ``norm_scale_LAYER`` and ``norm_shift_LAYER``: r × width each."""
    zeros = initial_bias(width, draws, options)
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
    options: TensorOptions,
    *,
    biases: bool = False,
    norm: bool = False,
    **weights: Any,
) -> Parameters:
    """Xavier weights ``weight_0``, ``weight_1``, … between the widths; hidden layers may have more.

    ``weights``: gain and count, as :func:`initial_weight` takes them.
    """
    parameters = {
        f"weight_{layer}": initial_weight(rows, columns, layer, draws, options, **weights)
        for layer, (rows, columns) in enumerate(pairwise(widths))
    }
    for layer, width in enumerate(widths[1:-1]):
        if biases:
            parameters[f"bias_{layer}"] = initial_bias(width, draws, options)
        if norm:
            parameters |= initial_norm(width, layer, draws, options)
    return parameters


def first_layer(parameters: Parameters, x: Features, dropout: Dropout | None = None) -> Tensor:
    """X W_0 of every replica: n × r × d; in training with dropout on X, where there is any."""
    return first_products(parameters, x, [parameters["weight_0"]], dropout)[0]


def first_products(
    parameters: Parameters, x: Features, weights: list[Tensor], dropout: Dropout | None
) -> list[Tensor]:
    """X with each of several weights (r × f × d): n × r × d; dropout's mask on X is the same for all.

    Columns of X are standardised where the parameters have their statistics.
    """
    mean, scale = (parameters.get(name) for name in ("column_mean", "column_scale"))
    if scale is not None:
        weights = [weight * scale.detach()[..., None] for weight in weights]
    if dropout is None or dropout.of_input is None:
        products = [multiply_shared(x, weight) for weight in weights]
    else:
        joined = weights[0] if len(weights) == 1 else torch.cat(weights, dim=2)
        masked = masked_product(x, joined, dropout.of_input).transpose(0, 1)
        products = list(masked.split([weight.shape[2] for weight in weights], dim=2))
    if mean is None:
        return products
    # (X − μ) S W = X (S W) − μ (S W): a sparse X stays sparse
    pairs = zip(products, weights, strict=True)
    return [product - (mean.detach()[:, None] @ weight)[:, 0] for product, weight in pairs]


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
