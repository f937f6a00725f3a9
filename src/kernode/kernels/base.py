"""The interface of base kernels k_base(x, y) on vectors. Each is p.s.d."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from torch import Tensor

from kernode.compute.stack import Parameters
from kernode.config import Config
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
        from kernode.kernels.combinations import Sum  # here: a sum is made of base kernels

        return Sum(self, other)

    def __mul__(self, other: BaseKernel) -> BaseKernel:
        from kernode.kernels.combinations import Product

        return Product(self, other)
