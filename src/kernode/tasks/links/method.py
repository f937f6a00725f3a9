"""A method for links: a map, a base kernel, and a logistic function of their kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import NOISE, Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.sparse import pair_products
from kernode.compute.stack import Parameters, part, take
from kernode.config import Config, changed, require_part
from kernode.errors import InputError, bad_setting
from kernode.io.sizes import GraphSizes
from kernode.kernels import BaseKernel
from kernode.losses import LinkCrossEntropy
from kernode.maps import FeatureMap
from kernode.maps.module import require_map
from kernode.models.changes import Changes
from kernode.training.settings import OF_LEARNING, PER_REPLICA, Training


@dataclass(frozen=True)
class LinkMethod(Config):
    """P(link u-v) = σ(K(u, v)), with s_G = 1 on edges and 0 elsewhere (Eq. 14).

    - ``scaled``: σ(a K + b) instead, with a and b learned: a normalised kernel needs room beyond ±1.
    - ``variational``: the map gives means and log-deviations side by side (VGAE, Kipf & Welling 2016);
      links are read from the means, training from a draw around them, with a KL term.
    """

    map: FeatureMap
    kernel: BaseKernel
    scaled: bool = False
    variational: bool = False
    loss: LinkCrossEntropy = LinkCrossEntropy()

    has_kernel: ClassVar[bool] = True
    learns_by_gradient: ClassVar[bool] = True
    trains_itself: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_map(self.map, "kernode.maps.HopMLP(outputs=64)")
        require_part("kernel", self.kernel, BaseKernel, "kernode.kernels.Linear()")
        width = getattr(self.map.unwrapped, "outputs", 0)
        if self.variational and width is not None and width % 2:
            raise bad_setting("outputs", "even, for means and deviations side by side", width)
        if width is None:
            raise InputError(
                "a link predictor has no classes to take its map's width from: give the map outputs.",
                "missing", setting="outputs",
            )  # fmt: skip

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
        g = _for_each_replica(self.map(part(parameters, "map."), prepared, dropout), parameters)
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
        g = _for_each_replica(self.map(part(parameters, "map."), prepared), parameters)
        return g.chunk(2, dim=-1)[0] if self.variational else g

    def logits(self, parameters: Parameters, embedded: Tensor, pairs: Tensor) -> Tensor:
        """log-odds of links between pairs (q × t × 2): r × t."""
        if self.kernel.dot_product:
            return self._read(parameters, pair_products(embedded, pairs))
        x, y = take(embedded, pairs[..., 0]), take(embedded, pairs[..., 1])
        return self._read(parameters, self.kernel.pairs(x, y, part(parameters, "kernel.")))

    def logits_between(
        self, parameters: Parameters, embedded: Tensor, rows: Tensor, others: Tensor
    ) -> Tensor:
        """log-odds of links between two lists of nodes (m), (p): r × m × p."""
        kernel = self.kernel.gram(embedded[:, rows], embedded[:, others], part(parameters, "kernel."))
        return self._read(parameters, kernel)

    def _read(self, parameters: Parameters, kernel: Tensor) -> Tensor:
        """log-odds of links whose ends are as alike as this: r × …"""
        if not self.scaled:
            return kernel
        shape = (-1, *[1] * (kernel.dim() - 1))
        return parameters["log_scale"].exp().view(shape) * kernel + parameters["offset"].view(shape)

    @property
    def title(self) -> str:
        """What sentences call it: its map."""
        return type(self.map).__name__

    def changed(self, changes: Changes) -> LinkMethod:
        """The method with other parts or settings; a map without a width gets this one's."""
        feature_map, width = changes.parts.get("map", self.map), getattr(self.map.unwrapped, "outputs", None)
        require_map(feature_map, "kernode.maps.HopMLP(outputs=64)")
        if width is not None:
            feature_map = feature_map.for_classes(width)
        settings = changes.of_part("map")
        if "hidden" in settings:
            hidden = settings["hidden"]
            settings["hidden"] = tuple(np.atleast_1d(hidden).tolist()) if hidden else ()
        loss = changed(changes.parts.get("loss", self.loss), changes.of_part("loss"))
        own: dict[str, Any] = {"map": changed(feature_map, settings), "kernel": changes.kernel(self.kernel)}
        found: LinkMethod = changed(replace(self, **own, loss=loss), changes.of_part("method"))
        return found

    def varies_by_replica(self, training: Training) -> bool:
        """Whether training has a number for each replica."""
        return any(isinstance(getattr(training, name), tuple) for name in PER_REPLICA)

    @property
    def ignored_settings(self) -> frozenset[str]:
        """As of nodes; and what selects an epoch, which is always AUC."""
        learns = self.map.learns or self.scaled or bool(self.kernel.initial(1))
        return self.map.ignored_settings | {"select_by"} | (frozenset() if learns else OF_LEARNING)

    def least_bytes(self, sizes: GraphSizes, training: Training, place: Place) -> float:
        """A lower bound of the memory that training takes in addition to the graph, one replica at a time."""
        return self.map.least_bytes(sizes, place) if training.epochs else 0.0


def _for_each_replica(g: Tensor, parameters: Parameters) -> Tensor:
    """A map without parameters gives one g for all replicas, which learn other things."""
    replicas = len(next(iter(parameters.values()), g))
    return g.expand(replicas, -1, -1) if len(g) == 1 else g
