"""Base kernels k_base(x, y) on vectors. Every kernel here is p.s.d."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernode.accelerator import fused
from kernode.errors import InputError
from kernode.recipe import Recipe
from kernode.stack import Parameters, part, stacked_rows

NONE: Parameters = {}


@dataclass(frozen=True)
class BaseKernel(Recipe):
    """k_base(x, y), for a stack of r replicas at once.

    :meth:`embed` does what depends on one node alone, once; :meth:`pairs` and :meth:`gram` take
    embedded vectors. Learned settings come in as ``parameters``, each with a leading replica axis.
    """

    dot_product = False  # whether k(x, y) is the dot product of the embedded vectors
    embedding_copies = 1  # width of the embedding, in multiples of d

    def initial(self, replicas: int) -> Parameters:
        """Return the first values of what is learned, in float64."""
        return {}

    def embed(self, x: Tensor) -> Tensor:
        """Do the part of k that concerns one node: r × n × d → r × n × d'."""
        return x

    @abstractmethod
    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """k(x_i, y_i): (r × t × d), (r × t × d) → r × t."""

    @abstractmethod
    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """k(x_i, y_j): (r × n × d), (r × m × d) → r × n × m."""

    def __add__(self, other: BaseKernel) -> Sum:
        return Sum(self, other)

    def __mul__(self, other: BaseKernel) -> Product:
        return Product(self, other)


@dataclass(frozen=True)
class Linear(BaseKernel):
    """The dot product ⟨x, y⟩."""

    dot_product = True

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """⟨x_i, y_i⟩."""
        return (x * y).sum(-1)

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """⟨x_i, y_j⟩."""
        return x @ y.transpose(-1, -2)


@dataclass(frozen=True)
class RBF(BaseKernel):
    """exp(−γ ‖x − y‖²), with a fixed γ or one that is learned from there."""

    gamma: float = 1.0  # not stated in the paper
    learned: bool = False

    def __post_init__(self) -> None:
        if not self.gamma > 0:
            raise InputError(f"gamma must be a number > 0. Got {self.gamma}.")

    def initial(self, replicas: int) -> Parameters:
        """log γ, so that γ stays positive."""
        start = torch.full((replicas,), self.gamma, dtype=torch.float64).log()
        return {"log_gamma": start} if self.learned else {}

    def _gamma(self, parameters: Parameters, like: Tensor) -> Tensor | float:
        if not self.learned:
            return self.gamma
        return parameters["log_gamma"].exp().view(-1, *(1,) * (like.dim() - 1))

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """exp(−γ ‖x_i − y_i‖²)."""
        squared = (x - y).square().sum(-1)
        return torch.exp(-self._gamma(parameters, squared) * squared)

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """exp(−γ ‖x_i − y_j‖²), by ‖x‖² + ‖y‖² − 2⟨x, y⟩."""
        squared = x.square().sum(-1)[..., :, None] + y.square().sum(-1)[..., None, :]
        squared = (squared - 2 * x @ y.transpose(-1, -2)).clamp_min(0)  # rounding makes it slightly negative
        return torch.exp(-self._gamma(parameters, squared) * squared)


@dataclass(frozen=True)
class Polynomial(BaseKernel):
    """(⟨x, y⟩ + offset)^degree; p.s.d. for offset ≥ 0."""

    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        if self.degree < 1 or self.offset < 0:
            raise InputError(
                f"Polynomial needs degree ≥ 1 and offset ≥ 0. Got degree={self.degree}, offset={self.offset}."
            )

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """(⟨x_i, y_i⟩ + offset)^degree."""
        return ((x * y).sum(-1) + self.offset) ** self.degree

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """(⟨x_i, y_j⟩ + offset)^degree."""
        return (x @ y.transpose(-1, -2) + self.offset) ** self.degree


@dataclass(frozen=True)
class Normalized(BaseKernel):
    """K̄: the same kernel after every g(v) is divided by its norm, so |K̄| ≤ 1 for Linear and RBF.

    A vector of zeros has no direction and stays zero: it is like nothing, itself included.
    """

    kernel: BaseKernel

    @property
    def dot_product(self) -> bool:  # type: ignore[override]
        """As the kernel inside."""
        return self.kernel.dot_product

    @property
    def embedding_copies(self) -> int:  # type: ignore[override]
        """As the kernel inside."""
        return self.kernel.embedding_copies

    def initial(self, replicas: int) -> Parameters:
        """As the kernel inside."""
        return self.kernel.initial(replicas)

    def embed(self, x: Tensor) -> Tensor:
        """x / ‖x‖."""
        return self.kernel.embed(_Directions.apply(x))

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """As the kernel inside, on embedded vectors."""
        return self.kernel.pairs(x, y, parameters)

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """As the kernel inside, on embedded vectors."""
        return self.kernel.gram(x, y, parameters)


class _Directions(torch.autograd.Function):
    """x / ‖x‖ along the last axis; zeros stay zeros, and have no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        flat = stacked_rows(x)
        if kernels := fused(x):
            directions, inverse = kernels.directions(flat)
            ctx.save_for_backward(directions, inverse)
            return _restacked(directions, x)
        ones = x.new_ones(x.shape[-1])  # a product with ones sums short rows faster than sum() does
        inverse = (flat * flat @ ones).rsqrt_()[:, None]
        inverse.masked_fill_(inverse.isinf(), 0)
        directions = flat * inverse
        ctx.save_for_backward(directions, inverse, ones)
        return _restacked(directions, x)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Tensor:
        directions, inverse, *ones = ctx.saved_tensors
        flat = stacked_rows(upstream[0])
        if not ones:
            gradient = fused(flat).directions_gradient(flat, directions, inverse)
            return _restacked(gradient, upstream[0])
        along = (flat * directions @ ones[0])[:, None]
        return _restacked(torch.addcmul(flat, directions, along, value=-1).mul_(inverse), upstream[0])


def _restacked(rows: Tensor, like: Tensor) -> Tensor:
    return rows.view(like.shape[1], like.shape[0], like.shape[2]).transpose(0, 1)


@dataclass(frozen=True)
class _Combination(BaseKernel):
    """Two kernels on the same vectors; their embeddings stand side by side."""

    left: BaseKernel
    right: BaseKernel

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

    def _sides(
        self, x: Tensor, y: Tensor, parameters: Parameters
    ) -> Iterator[tuple[BaseKernel, Tensor, Tensor, Parameters]]:
        width = x.shape[-1] // self.embedding_copies * self.left.embedding_copies
        for side, kernel, columns in (
            ("left.", self.left, slice(None, width)),
            ("right.", self.right, slice(width, None)),
        ):
            yield kernel, x[..., columns], y[..., columns], part(parameters, side)


@dataclass(frozen=True)
class Sum(_Combination):
    """k₁ + k₂: p.s.d. because both are."""

    @property
    def dot_product(self) -> bool:  # type: ignore[override]
        """Side by side, dot products add up."""
        return self.left.dot_product and self.right.dot_product

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """The two values added."""
        one, two = (k.pairs(a, b, p) for k, a, b, p in self._sides(x, y, parameters))
        return one + two

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """The two Gram matrices added."""
        one, two = (k.gram(a, b, p) for k, a, b, p in self._sides(x, y, parameters))
        return one + two


@dataclass(frozen=True)
class Product(_Combination):
    """k₁ · k₂: p.s.d. by Schur's theorem."""

    def pairs(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """The two values multiplied."""
        one, two = (k.pairs(a, b, p) for k, a, b, p in self._sides(x, y, parameters))
        return one * two

    def gram(self, x: Tensor, y: Tensor, parameters: Parameters = NONE) -> Tensor:
        """The two Gram matrices multiplied, entry by entry."""
        one, two = (k.gram(a, b, p) for k, a, b, p in self._sides(x, y, parameters))
        return one * two


def normalized(kernel: BaseKernel) -> Normalized:
    """K̄ of a base kernel; a normalised one is its own."""
    return kernel if isinstance(kernel, Normalized) else Normalized(kernel)
