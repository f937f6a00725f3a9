"""Covariances: kernels of a graph's nodes with hyperparameters, their sums and products."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.chunks import chunks
from kernode.compute.stack import Parameters, under_prefix
from kernode.config import LATER, Config, require_part, require_setting
from kernode.hops.spectral import GraphKernel, spectral_columns, spectral_diagonals
from kernode.kernels.base import BaseKernel

_COLUMNS = 512  # of graph kernels, computed at a time
_START = math.log(0.1)  # log of each amplitude: targets have a variance of 1


@dataclass(frozen=True)
class NodeInputs:
    """What covariances compare nodes by: columns of features, and the graph.

    ``blocks``: x, P x, P² x, …, n × f each, with P = D⁻¹ A. ``groups``: which columns share a length scale.
    ``adjacency``: S = D^-½ A D^-½. ``learned``: g of a map, standardised, n × d.
    """

    blocks: tuple[Tensor, ...]
    groups: tuple[int, ...]  # f numbers
    adjacency: sparse.csr_array
    degrees: np.ndarray  # n, sums of weights
    diagonals: dict[GraphKernel, np.ndarray] = field(default_factory=dict)
    learned: Tensor | None = None

    def with_diagonals(self, kernels: Sequence[GraphKernel]) -> NodeInputs:
        """Return the inputs with the diagonals of graph kernels."""
        found = dict(zip(kernels, spectral_diagonals(self.adjacency, kernels), strict=True))
        return replace(self, diagonals=found)


@dataclass(frozen=True)
class Between:
    """What a covariance needs between rows (all nodes, or some) and some nodes, its columns."""

    inputs: NodeInputs
    rows: np.ndarray
    columns: np.ndarray
    # Of each term of edges, by its path: a matrix for each of its kernels, or one that is their weighted sum.
    graph: dict[str, Tensor]
    summed: bool = False

    def at(self, rows: Any) -> Between:
        """Return the same for some of the rows."""
        graph = {path: held[:, rows] for path, held in self.graph.items()}
        return replace(self, rows=self.rows[rows], graph=graph)

    def to(self, columns: np.ndarray) -> Between:
        """Return the same for some of the columns, by their places."""
        graph = {path: held[:, :, columns] for path, held in self.graph.items()}
        return replace(self, columns=self.columns[columns], graph=graph)


@dataclass(frozen=True)
class Covariance(Config):
    """K(u, v) of a graph's nodes, p.s.d. for all hyperparameters; ``+`` and ``*`` combine.

    Hyperparameters are logarithms. A new one defines :meth:`initial`, :meth:`gram` and :meth:`diagonal`.
    """

    @abstractmethod
    def initial(self, inputs: NodeInputs) -> Parameters:
        """First hyperparameters, in float64."""

    @abstractmethod
    def gram(self, parameters: Parameters, between: Between, path: str = "") -> Tensor:
        """K between the rows and the columns: m × p."""

    @abstractmethod
    def diagonal(self, parameters: Parameters, between: Between, path: str = "") -> Tensor:
        """K(v, v) of the rows: m."""

    def parts(self, parameters: Parameters) -> Iterator[tuple[str, Covariance, Parameters, str]]:
        """Its terms: what they are about, themselves, their hyperparameters and their path."""
        yield self.about, self, parameters, ""

    @property
    def about(self) -> str:
        """What it compares: features, edges, or both."""
        return "features"

    @property
    def needs_map(self) -> bool:
        """Whether it compares nodes by a learned map."""
        return False

    def graph_terms(self, path: str = "") -> Iterator[tuple[str, GraphCovariance]]:
        """The terms of edges within, by their paths."""
        yield from ()

    def __add__(self, other: Covariance) -> Covariance:
        return CovarianceSum((*_terms(self, CovarianceSum), *_terms(other, CovarianceSum)))

    def __mul__(self, other: Covariance) -> Covariance:
        return CovarianceProduct((*_terms(self, CovarianceProduct), *_terms(other, CovarianceProduct)))


@dataclass(frozen=True)
class FeatureCovariance(Covariance):
    """``a · k(x_u / ℓ, x_v / ℓ)`` on features and their means over neighbours, with learned a and ℓ.

    - ``kernel``: k, such as RBF(gamma=0.5) or Matern(). A dot product has no length scales.
    - ``hops``: H of x = (x, P x, …, P^H x). Columns that belong together have one length scale.
    - ``columns``: "features", or "learned" for x = g of the map that a regressor has learned, with one ℓ.
    """

    kernel: BaseKernel
    hops: int = 0
    columns: Literal["features", "learned"] = field(default="features", metadata=LATER)

    def __post_init__(self) -> None:
        require_part("kernel", self.kernel, BaseKernel, "kernode.kernels.RBF(gamma=0.5)")
        fixed = "a kernel without learned settings, such as kernode.kernels.RBF(gamma=0.5): length scales are"
        require_setting(not self.kernel.initial(1), "kernel", f"{fixed} learned here", self.kernel)
        require_setting(0 <= self.hops <= 2, "hops", "an integer from 0 to 2", self.hops)
        fits = self.columns in ("features", "learned")
        require_setting(fits, "columns", "'features' or 'learned'", self.columns)
        require_setting(not (self.needs_map and self.hops), "hops", "0 on learned columns", self.hops)

    @property
    def about(self) -> str:
        """Features, or the learned map."""
        return "learned map" if self.needs_map else "features"

    @property
    def needs_map(self) -> bool:
        """Whether its columns are learned."""
        return self.columns == "learned"

    def initial(self, inputs: NodeInputs) -> Parameters:
        """Of a tenth of the variance; scales at which nodes are about one apart."""
        found = {"amplitude": torch.tensor(_START, dtype=torch.float64)}
        if not self.kernel.dot_product:
            blocks, groups = self._columns(inputs)
            count, width = len(blocks) * (max(groups) + 1), len(blocks) * len(groups)
            found["scales"] = torch.full((count,), 0.5 * math.log(width), dtype=torch.float64)
        return found

    def gram(self, parameters: Parameters, between: Between, path: str = "") -> Tensor:
        """a k."""
        x, y = (self._scaled(parameters, between.inputs, at) for at in (between.rows, between.columns))
        return parameters["amplitude"].exp() * self.kernel.gram(x, y)[0]

    def diagonal(self, parameters: Parameters, between: Between, path: str = "") -> Tensor:
        """a k(x, x)."""
        x = self._scaled(parameters, between.inputs, between.rows)
        return parameters["amplitude"].exp() * self.kernel.pairs(x, x)[0]

    def _scaled(self, parameters: Parameters, inputs: NodeInputs, rows: np.ndarray) -> Tensor:
        """Embedded vectors: 1 × m × d."""
        blocks, groups = self._columns(inputs)
        x = torch.cat([block[torch.from_numpy(rows)] for block in blocks], dim=1)
        if self.kernel.dot_product:
            return self.kernel.embed(x[None] / math.sqrt(x.shape[1]))
        step = max(groups) + 1
        at = [group + hop * step for hop in range(len(blocks)) for group in groups]
        return self.kernel.embed(x[None] * (-parameters["scales"][at]).exp())

    def _columns(self, inputs: NodeInputs) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        """Blocks of columns, and which columns of each share a length scale."""
        if not self.needs_map:
            return inputs.blocks[: self.hops + 1], inputs.groups
        assert inputs.learned is not None
        return (inputs.learned,), (0,) * inputs.learned.shape[1]


@dataclass(frozen=True)
class GraphCovariance(Covariance):
    """``Σ_j a_j G_j`` of graph kernels G_j with learned a_j, each with a mean diagonal of 1.

    ``unit``: every G_j(v, v) is 1, so that a product with it keeps the variance of the other factor. On more
    than some thousand nodes diagonals are estimated, and K(v, v) is 1 up to a tenth.
    """

    kernels: tuple[GraphKernel, ...]
    unit: bool = False

    def __post_init__(self) -> None:
        require_setting(len(self.kernels) > 0, "kernels", "one or more graph kernels", self.kernels)
        for one in self.kernels:
            require_part("kernels", one, GraphKernel, "kernode.kernels.RegularizedLaplacian()")

    @property
    def about(self) -> str:
        """Edges."""
        return "edges"

    def initial(self, inputs: NodeInputs) -> Parameters:
        """A tenth of the variance each."""
        return {"amplitudes": torch.full((len(self.kernels),), _START, dtype=torch.float64)}

    def gram(self, parameters: Parameters, between: Between, path: str = "") -> Tensor:
        """Σ_j a_j G_j."""
        held = between.graph[path]
        if between.summed:
            return held[0]
        return torch.einsum("k,kmp->mp", parameters["amplitudes"].exp(), held)

    def diagonal(self, parameters: Parameters, between: Between, path: str = "") -> Tensor:
        """Σ_j a_j G_j(v, v)."""
        amplitudes = parameters["amplitudes"].exp()
        if self.unit:
            return amplitudes.sum().expand(len(between.rows))
        own = [between.inputs.diagonals[one] for one in self.kernels]
        return amplitudes @ torch.from_numpy(np.stack([one[between.rows] / one.mean() for one in own]))

    def graph_terms(self, path: str = "") -> Iterator[tuple[str, GraphCovariance]]:
        """Itself."""
        yield path, self

    def scaled(self, at: int, own: np.ndarray, inputs: NodeInputs, rows: Any, columns: Any) -> np.ndarray:
        """G_j from columns of f_j(S)."""
        diagonal = inputs.diagonals[self.kernels[at]].astype(own.dtype)
        if not self.unit:
            return own / diagonal.mean()
        root = 1 / np.sqrt(diagonal)
        return own * root[rows][:, None] * root[columns][None]


@dataclass(frozen=True)
class _Terms(Covariance):
    """Several covariances; their hyperparameters are under 0., 1., …"""

    terms: tuple[Covariance, ...]

    def __post_init__(self) -> None:
        require_setting(len(self.terms) > 0, "terms", "one or more covariances", self.terms)
        for one in self.terms:
            require_part("terms", one, Covariance, "kernode.kernels.FeatureCovariance(kernode.kernels.RBF())")

    @property
    def about(self) -> str:
        """Features, edges, the learned map, or several of them together."""
        kinds = {one.about for one in self.terms}
        if len(kinds) == 1:
            return kinds.pop()
        each = [one for one in ("learned map", "features", "edges") if any(one in kind for kind in kinds)]
        return f"{' and '.join(each)} together"

    @property
    def needs_map(self) -> bool:
        """Whether one of the terms does."""
        return any(one.needs_map for one in self.terms)

    def initial(self, inputs: NodeInputs) -> Parameters:
        """Those of all terms."""
        return {f"{at}.{name}": v for at, k in enumerate(self.terms) for name, v in k.initial(inputs).items()}

    def graph_terms(self, path: str = "") -> Iterator[tuple[str, GraphCovariance]]:
        """Those of all terms."""
        for at, one in enumerate(self.terms):
            yield from one.graph_terms(f"{path}{at}.")

    def _each(self, parameters: Parameters, path: str) -> Iterator[tuple[Covariance, Parameters, str]]:
        for at, one in enumerate(self.terms):
            yield one, under_prefix(parameters, f"{at}."), f"{path}{at}."


@dataclass(frozen=True)
class CovarianceSum(_Terms):
    """Σ_m K_m."""

    def gram(self, parameters: Parameters, between: Between, path: str = "") -> Tensor:
        """Σ_m K_m."""
        return sum(one.gram(own, between, at) for one, own, at in self._each(parameters, path))  # type: ignore[return-value]

    def diagonal(self, parameters: Parameters, between: Between, path: str = "") -> Tensor:
        """Σ_m K_m(v, v)."""
        return sum(one.diagonal(own, between, at) for one, own, at in self._each(parameters, path))  # type: ignore[return-value]

    def parts(self, parameters: Parameters) -> Iterator[tuple[str, Covariance, Parameters, str]]:
        """The terms."""
        for one, own, path in self._each(parameters, ""):
            yield one.about, one, own, path


@dataclass(frozen=True)
class CovarianceProduct(_Terms):
    """Π_m K_m: nodes are similar where they are by all."""

    def gram(self, parameters: Parameters, between: Between, path: str = "") -> Tensor:
        """Π_m K_m."""
        return math.prod(one.gram(own, between, at) for one, own, at in self._each(parameters, path))  # type: ignore[return-value]

    def diagonal(self, parameters: Parameters, between: Between, path: str = "") -> Tensor:
        """Π_m K_m(v, v)."""
        return math.prod(one.diagonal(own, between, at) for one, own, at in self._each(parameters, path))  # type: ignore[return-value]


def between(
    covariance: Covariance,
    inputs: NodeInputs,
    rows: np.ndarray,
    columns: np.ndarray,
    parameters: Parameters | None = None,
    dtype: Any = np.float64,
) -> Between:
    """Return what a covariance needs between rows and columns.

    With hyperparameters each term of edges holds one matrix, else one for each of its kernels.
    """
    terms = dict(covariance.graph_terms())
    kernels = list(dict.fromkeys(one for term in terms.values() for one in term.kernels))
    weights = {
        path: [1.0] * len(term.kernels)
        if parameters is None
        else parameters[f"{path}amplitudes"].exp().tolist()
        for path, term in terms.items()
    }
    counts = {path: len(term.kernels) if parameters is None else 1 for path, term in terms.items()}
    held = {path: np.zeros((count, len(rows), len(columns)), dtype) for path, count in counts.items()}
    for some in chunks(len(columns), _COLUMNS) if kernels else ():
        own = spectral_columns(inputs.adjacency, kernels, columns[some], rows=rows, dtype=dtype)
        found = dict(zip(kernels, own, strict=True))
        for path, term in terms.items():
            for at, kernel in enumerate(term.kernels):
                scaled = term.scaled(at, found[kernel], inputs, rows, columns[some])
                held[path][min(at, counts[path] - 1)][:, some] += weights[path][at] * scaled
    graph = {path: torch.from_numpy(one) for path, one in held.items()}
    return Between(inputs, rows, columns, graph, parameters is not None)


def _terms(one: Any, kind: type[_Terms]) -> tuple[Covariance, ...]:
    require_part("covariance", one, Covariance, "kernode.kernels.FeatureCovariance(kernode.kernels.RBF())")
    return one.terms if isinstance(one, kind) else (one,)
