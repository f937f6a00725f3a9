"""A method for links: a map, a base kernel, and a logistic function of their kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from kernode.compute.draws import NOISE, Draws, Dropout
from kernode.compute.sparse import pair_products
from kernode.compute.stack import Parameters, take, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.config import LATER, changed, require_setting
from kernode.errors import InputError, bad_setting
from kernode.losses import LinkCrossEntropy
from kernode.models.method import KernelMethod
from kernode.models.overrides import Changes


@dataclass(frozen=True)
class LinkMethod(KernelMethod):
    """P(link u-v) = σ(K(u, v)), with s_G = 1 on edges and 0 elsewhere (Eq. 14).

    - ``scaled``: σ(a K + b) instead, with a and b learned: a normalised kernel needs room beyond ±1.
    - ``variational``: the map gives means and log-deviations side by side (VGAE, Kipf & Welling 2016);
      links are read from the means, training from a draw around them, with a KL term.
    - ``edge_folds``: the training edges in so many parts. An epoch learns the edges of one part, and its
      operator has the other parts only, as it lacks the edges that are predicted later (MaskGAE, Li et al.
      2023). 1: all edges are learned, and all are in the operator (the paper's).
    """

    scaled: bool = False
    variational: bool = False
    loss: LinkCrossEntropy = LinkCrossEntropy()
    edge_folds: int = field(default=1, metadata=LATER)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_setting(self.edge_folds >= 1, "edge_folds", "at least 1", self.edge_folds)
        width = getattr(self.map.unwrapped, "outputs", 0)
        if self.variational and width is not None and width % 2:
            raise bad_setting("outputs", "even, for means and deviations side by side", width)
        if width is None:
            raise InputError(
                "a link predictor has no classes to take its map's width from: give the map outputs.",
                "missing", setting="outputs",
            )  # fmt: skip

    def initial(self, prepared: Any, draws: Draws, options: TensorOptions, classes: int = 1) -> Parameters:
        """Initial parameters."""
        parameters, replicas = super().initial(prepared, draws, options), len(draws.seeds)
        if self.scaled:
            for name, start in (("log_scale", 1.0), ("offset", 0.0)):  # σ(e K): neither flat nor steep
                parameters[name] = torch.full((replicas,), start, dtype=options.dtype, device=options.device)
        return parameters

    def embed(
        self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """g of every node (r × n × d) and, in variational training, its KL term (r)."""
        g = super().represent(parameters, prepared, dropout)
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

    def represent(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """g of every node: r × n × d."""
        g = super().represent(parameters, prepared, dropout)
        return g.chunk(2, dim=-1)[0] if self.variational else g

    def logits(self, parameters: Parameters, embedded: Tensor, pairs: Tensor) -> Tensor:
        """log-odds of links between pairs (q × t × 2): r × t."""
        if self.kernel.dot_product:
            return self._read(parameters, pair_products(embedded, pairs))
        x, y = take(embedded, pairs[..., 0]), take(embedded, pairs[..., 1])
        return self._read(parameters, self.kernel.pairs(x, y, under_prefix(parameters, "kernel.")))

    def logits_between(
        self, parameters: Parameters, embedded: Tensor, rows: Tensor, others: Tensor
    ) -> Tensor:
        """log-odds of links between two lists of nodes (m), (p): r × m × p."""
        kernel = self.kernel.gram(embedded[:, rows], embedded[:, others], under_prefix(parameters, "kernel."))
        return self._read(parameters, kernel)

    def _read(self, parameters: Parameters, kernel: Tensor) -> Tensor:
        """log-odds of links from K between their ends: r × …"""
        if not self.scaled:
            return kernel
        shape = (-1, *[1] * (kernel.dim() - 1))
        return parameters["log_scale"].exp().view(shape) * kernel + parameters["offset"].view(shape)

    def changed(self, changes: Changes) -> LinkMethod:
        """Return the method with changes; a new map without a width gets this map's."""
        loss = changes.get("loss", {})
        settings = loss if isinstance(loss, Mapping) else {"loss": loss}
        found: LinkMethod = changed(super().changed(changes), settings)
        return found

    @property
    def learns(self) -> bool:
        """Whether there are parameters to train, such as the scale."""
        return self.scaled or super().learns

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Training settings without effect; an epoch is always selected by AUC."""
        return super().ignored_settings | {"select_by"}
