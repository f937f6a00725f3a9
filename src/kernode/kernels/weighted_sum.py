"""K = Σ_m w_m K_m on vectors that stand one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from kernode.compute.stack import Parameters, under_prefix
from kernode.config import require_part, require_setting
from kernode.kernels.base import NONE, BaseKernel


@dataclass(frozen=True)
class WeightedSum(BaseKernel):
    """``k(x, y) = Σ_m w_m k_m(x_m, y_m)``, where x_m is the m-th block of x: p.s.d. for weights ≥ 0.

    Where every k_m is a dot product of what it embeds, so is the sum: √w_m times each, one after the other.

    - ``kernels``: the k_m. ``widths``: how long each block is. ``weights``: the w_m.

    >>> from kernode.kernels import Linear
    >>> k = WeightedSum((Linear(), Linear()), (1, 2), (0.25, 0.75))
    >>> x = torch.tensor([[[2.0, 1.0, 1.0]]])
    >>> float(k.pairs(k.embed(x), k.embed(x)))
    2.5
    """

    kernels: tuple[BaseKernel, ...]
    widths: tuple[int, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        for one in self.kernels:
            require_part("kernels", one, BaseKernel, "kernode.kernels.Linear()")
        fits = len(self.kernels) == len(self.widths) == len(self.weights) and min(self.weights) >= 0
        require_setting(fits, "weights", "as many numbers ≥ 0 as there are kernels and widths", self.weights)

    @property
    def dot_product(self) -> bool:  # type: ignore[override]
        """Where all are."""
        return all(one.dot_product for one in self.kernels)

    def initial(self, replicas: int) -> Parameters:
        """Those of all, under 0., 1., …"""
        return {
            f"{at}.{name}": value
            for at, one in enumerate(self.kernels)
            for name, value in one.initial(replicas).items()
        }

    def embed(self, x: Tensor) -> Tensor:
        """√w_m times what each embeds of its block."""
        blocks = x.split(list(self.widths), dim=-1)
        embedded = (one.embed(block) for one, block in zip(self.kernels, blocks, strict=True))
        if not self.dot_product:
            return torch.cat(list(embedded), dim=-1)
        pairs = zip(self.weights, embedded, strict=True)
        return torch.cat([weight**0.5 * one for weight, one in pairs], dim=-1)

    def pull_back(self, x: Tensor, embedded: Tensor) -> Tensor:
        """√w_m times that of each block."""
        widths = [width * one.embedding_copies for width, one in zip(self.widths, self.kernels, strict=True)]
        blocks = zip(x.split(list(self.widths), dim=-1), embedded.split(widths, dim=-1), strict=True)
        found = (k.pull_back(*block) for k, block in zip(self.kernels, blocks, strict=True))
        return torch.cat([w**0.5 * one for w, one in zip(self.weights, found, strict=True)], dim=-1)

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """Σ_m w_m k_m(x_i, y_i)."""
        if self.dot_product:
            return (x * y).sum(-1)
        return sum(w * k.pairs(a, b, own) for w, k, a, b, own in self._blocks(x, y, parameters))  # type: ignore[return-value]

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """Σ_m w_m k_m(x_i, y_j)."""
        if self.dot_product:
            return x @ y.transpose(-1, -2)
        return sum(w * k.gram(a, b, own) for w, k, a, b, own in self._blocks(x, y, parameters))  # type: ignore[return-value]

    def _blocks(
        self, x: Tensor, y: Tensor, parameters: Parameters
    ) -> Iterator[tuple[float, BaseKernel, Tensor, Tensor, Parameters]]:
        widths = [width * one.embedding_copies for width, one in zip(self.widths, self.kernels, strict=True)]
        blocks = zip(self.weights, self.kernels, x.split(widths, -1), y.split(widths, -1), strict=True)
        for at, (weight, one, a, b) in enumerate(blocks):
            yield weight, one, a, b, under_prefix(parameters, f"{at}.")
