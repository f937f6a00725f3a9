"""How likely a link is: a map, a base kernel, and a logistic reading of their kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernode.compute.draws import NOISE, Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part, take
from kernode.errors import InputError
from kernode.kernels import BaseKernel, Linear, Normalized
from kernode.maps import GCN, FeatureMap, HopMLP
from kernode.recipe import Recipe
from kernode.training.settings import Training


@dataclass(frozen=True)
class LinkMethod(Recipe):
    """P(link u-v) = σ(K(u, v)), with s_G = 1 on edges and 0 elsewhere (Eq. 14).

    - ``scaled``: σ(a K + b) instead, with a and b learned: a normalised kernel needs room beyond ±1.
    - ``variational``: the map gives means and log-deviations side by side (VGAE, Kipf & Welling 2016);
      links are read from the means, training from a draw around them, with a KL term.
    """

    map: FeatureMap
    kernel: BaseKernel
    scaled: bool = False
    variational: bool = False

    def __post_init__(self) -> None:
        if getattr(self.map, "outputs", 0) is None:
            raise InputError("a link predictor has no classes to take its map's width from: pass outputs=.")

    def initial(self, prepared: Any, draws: Draws, place: Place) -> Parameters:
        """All first parameters."""
        replicas = len(draws.seeds)
        parameters = {f"map.{k}": v for k, v in self.map.initial(prepared, draws, place).items()}
        for name, value in self.kernel.initial(replicas).items():
            parameters[f"kernel.{name}"] = value.to(place.dtype).to(place.device)
        if self.scaled:
            for name, start in (("log_scale", 1.0), ("offset", 0.0)):  # σ(e K): neither flat nor steep
                parameters[name] = torch.full((replicas,), start, dtype=place.dtype, device=place.device)
        return parameters

    def embed(
        self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """g of every node (r × n × d) and, in variational training, its KL term (r)."""
        g = self.map(part(parameters, "map."), prepared, dropout)
        if not self.variational:
            return self.kernel.embed(g), None
        mean, log_deviation = g.chunk(2, dim=-1)
        if dropout is None:
            return self.kernel.embed(mean), None
        log_deviation = log_deviation.clamp_max(10)  # exp must stay finite
        noise = dropout.draws.normal(NOISE, mean[0].numel()).view(*mean.shape[1:], -1).permute(2, 0, 1)
        sample = mean + log_deviation.exp() * noise.to(mean.dtype)
        divergence = (log_deviation.exp().square() + mean.square() - 1) / 2 - log_deviation
        return self.kernel.embed(sample), divergence.sum(dim=-1).mean(dim=-1) / mean.shape[1]

    def represent(self, parameters: Parameters, prepared: Any) -> Tensor:
        """g of every node outside training, which links are read from: r × n × d."""
        g = self.map(part(parameters, "map."), prepared)
        return g.chunk(2, dim=-1)[0] if self.variational else g

    def logits(self, parameters: Parameters, embedded: Tensor, pairs: Tensor) -> Tensor:
        """log-odds of links between pairs (q × t × 2): r × t."""
        x, y = take(embedded, pairs[..., 0]), take(embedded, pairs[..., 1])
        kernel = self.kernel.pairs(x, y, part(parameters, "kernel."))
        if not self.scaled:
            return kernel
        return parameters["log_scale"].exp()[:, None] * kernel + parameters["offset"][:, None]


# "kernel": g_θ with the paper's dot product and cross-entropy. Width, layers, the scale and all training
# settings are not stated; these were best in mean validation AUC over Cora, Citeseer and Pubmed, ahead of
# two layers (256 → 128), three hops, the plain dot product, and dropout or decay in either.
# GAE and VGAE with the published widths (32 → 16) and cross-entropy over sampled pairs; epochs, dropout and
# decay were chosen on Cora's and Citeseer's validation edges.
LINK_METHODS: dict[str, tuple[LinkMethod, Training]] = {
    "kernel": (
        LinkMethod(HopMLP(hidden=(), outputs=256, normalize_rows=False), Normalized(Linear()), scaled=True),
        Training(epochs=200, weight_decay=0.0),
    ),
    # The same, on the citation graphs with what `kernode tune` found for each (tuned.py).
    "kernel-tuned": (
        LinkMethod(HopMLP(hidden=(), outputs=256, normalize_rows=False), Normalized(Linear()), scaled=True),
        Training(epochs=200, weight_decay=1e-6),
    ),
    "gae": (
        LinkMethod(GCN(hidden=(32,), outputs=16), Linear()),
        Training(epochs=400, weight_decay=0.0, dropout=0.5),
    ),
    "vgae": (
        LinkMethod(GCN(hidden=(32,), outputs=32, normalize_rows=False), Linear(), variational=True),
        Training(epochs=200, weight_decay=5e-4, dropout=0.0),
    ),
}
