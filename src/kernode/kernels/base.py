"""Base kernels k_base(x, y) on vectors, each p.s.d., and their sums and products."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernode.compute.stack import Parameters, under_prefix
from kernode.config import Config, require_part
from kernode.errors import InputError

NONE: Parameters = {}


@dataclass(frozen=True)
class BaseKernel(Config):
    """k_base(x, y), for a stack of r replicas at once.

    :meth:`embed` does the part that depends on one node alone, once; :meth:`pairs` and :meth:`gram` take
    embedded vectors. Learned settings are in ``parameters``, each with a leading replica axis.
    """

    dot_product = False  # True where k(x, y) is the dot product of the embedded vectors
    grows = False  # True where k, on vectors of length 1, never falls while ⟨x, y⟩ rises: for an index
    embedding_copies = 1  # width of the embedding, in multiples of d

    def initial(self, replicas: int) -> Parameters:
        """Return the initial parameters, in float64."""
        return {}

    def embed(self, x: Tensor) -> Tensor:
        """Compute the part of k that depends on one node: r × n × d → r × n × d'."""
        return x

    @abstractmethod
    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """k(x_i, y_i): (r × t × d), (r × t × d) → r × t."""

    @abstractmethod
    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """k(x_i, y_j): (r × n × d), (r × m × d) → r × n × m."""

    def pull_back(self, x: Tensor, embedded: Tensor) -> Tensor:
        """Return w with ⟨x, w⟩ = ⟨embed(x), e⟩, with the norm that embed measures held fixed.

        x is r × 1 × d, e is r × q × d', w is r × q × d. So a dot product splits into the terms of a sum x;
        other kernels do not.
        """
        raise InputError(
            f"{type(self).__name__} is not a dot product of two nodes' vectors, and does not split into what "
            "these are sums of. Train with Linear(), Normalized(Linear()) or sums of such.",
            "unsupported", setting="kernel", value=type(self).__name__,
        )  # fmt: skip

    def __add__(self, other: BaseKernel) -> BaseKernel:
        return Sum(self, other)

    def __mul__(self, other: BaseKernel) -> BaseKernel:
        return Product(self, other)


# -- sums and products of kernels, which are kernels ---------------------------------------------------


def _of_both(name: str) -> Any:
    return property(lambda k: getattr(k.left, name) and getattr(k.right, name), doc="Where both kernels do.")


@dataclass(frozen=True)
class _Combination(BaseKernel):
    """Two kernels on the same vectors; their embeddings stand side by side."""

    left: BaseKernel
    right: BaseKernel

    def __post_init__(self) -> None:
        for name in ("left", "right"):
            require_part(name, getattr(self, name), BaseKernel, "kernode.kernels.Linear()")

    @property
    def embedding_copies(self) -> int:  # type: ignore[override]
        """Both embeddings."""
        return self.left.embedding_copies + self.right.embedding_copies

    def initial(self, replicas: int) -> Parameters:
        """Both kernels' parameters, under left. and right."""
        sides = {"left": self.left.initial(replicas), "right": self.right.initial(replicas)}
        return {f"{side}.{name}": value for side, values in sides.items() for name, value in values.items()}

    def embed(self, x: Tensor) -> Tensor:
        """Both embeddings, side by side."""
        return torch.cat([self.left.embed(x), self.right.embed(x)], dim=-1)

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """Both values, combined."""
        return self._combine(*(k.pairs(a, b, p) for k, a, b, p in self._sides(x, y, parameters)))

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """Both Gram matrices, combined entry by entry."""
        return self._combine(*(k.gram(a, b, p) for k, a, b, p in self._sides(x, y, parameters)))

    @abstractmethod
    def _combine(self, one: Tensor, two: Tensor) -> Tensor: ...

    def _sides(
        self, x: Tensor, y: Tensor, parameters: Parameters
    ) -> Iterator[tuple[BaseKernel, Tensor, Tensor, Parameters]]:
        width = x.shape[-1] // self.embedding_copies * self.left.embedding_copies
        for side, kernel, columns in (
            ("left.", self.left, slice(None, width)),
            ("right.", self.right, slice(width, None)),
        ):
            yield kernel, x[..., columns], y[..., columns], under_prefix(parameters, side)


@dataclass(frozen=True)
class Sum(_Combination):
    """k₁ + k₂: p.s.d. because both are."""

    dot_product = _of_both("dot_product")  # side by side, dot products add up
    grows = _of_both("grows")

    def _combine(self, one: Tensor, two: Tensor) -> Tensor:
        return one + two

    def pull_back(self, x: Tensor, embedded: Tensor) -> Tensor:
        """Those of both added."""
        return self._combine(*(k.pull_back(x, e) for k, e, _, _ in self._sides(embedded, embedded, {})))


@dataclass(frozen=True)
class Product(_Combination):
    """k₁ · k₂: p.s.d. by Schur's theorem."""

    def _combine(self, one: Tensor, two: Tensor) -> Tensor:
        return one * two
