"""What every base kernel k_base(x, y) on vectors is. Each is p.s.d."""

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

    :meth:`embed` does what depends on one node alone, once; :meth:`pairs` and :meth:`gram` take
    embedded vectors. Learned settings come in as ``parameters``, each with a leading replica axis.
    """

    dot_product = False  # whether k(x, y) is the dot product of the embedded vectors
    grows = False  # whether k, on vectors of length 1, never falls while ⟨x, y⟩ rises: an index needs it
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

    def pull_back(self, x: Tensor, embedded: Tensor) -> Tensor:
        """w with ⟨x, w⟩ = ⟨embed(x), e⟩, what embed measures of x being held.

        x is r × 1 × d, e is r × q × d', w is r × q × d. So a dot product splits into whatever x is a sum of;
        other kernels do not.
        """
        raise InputError(
            f"{type(self).__name__} is no dot product of two nodes' vectors, and does not split into what "
            "these are sums of. Train with Linear(), Normalized(Linear()) or sums of such."
        )

    def __add__(self, other: BaseKernel) -> BaseKernel:
        from kernode.kernels.combinations import Sum  # here: a sum is made of base kernels

        return Sum(self, other)

    def __mul__(self, other: BaseKernel) -> BaseKernel:
        from kernode.kernels.combinations import Product

        return Product(self, other)
