"""LayerNorm of a stack of replicas: each vector to mean 0 and deviation 1, then scaled and shifted."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.compute.stack import Parameters


def initial_norm(width: int, layer: int, draws: Draws, place: Place) -> Parameters:
    """Scale 1 and shift 0, as ``norm_scale_LAYER`` and ``norm_shift_LAYER``: r × width each."""
    shape = (len(draws.seeds), width)
    return {
        f"norm_scale_{layer}": torch.ones(shape, dtype=place.dtype, device=place.device),
        f"norm_shift_{layer}": torch.zeros(shape, dtype=place.dtype, device=place.device),
    }


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
