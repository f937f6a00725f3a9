"""Eq. 5's smoother as a kernel, without training: RBF on features and their means over hops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.extmath import randomized_svd
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.nystrom import landmark_factor, nystrom
from kernode.compute.sharing import shared
from kernode.compute.sparse import unit_rows
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_setting
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.maps.base import FeatureMap

_ZEROS = 0.8  # share of zeros from which on numbers that are never below 0 are counts of words
_MUCH = 2 * 10**10  # products: beyond, features are reduced to their main components first
_COMPONENTS = 300


@dataclass(frozen=True)
class SmoothedKernel(FeatureMap):
    """``K(u, v) = exp(−γ (1 − ⟨b(u), b(v)⟩))``, b = (B, P B, …, P^H B) / √(H+1), each block at length 1.

    B are the features: words weighted by their rarity (TF-IDF), other columns standardised, rows at length 1.
    ``P = D̃⁻¹ Ã`` is Eq. 5's smoother. The exponential of a p.s.d. kernel is one.

    g(v) is Nyström's: ``K(v, Z) K(Z, Z)^-½`` with landmarks Z among the nodes, so that ⟨g(u), g(v)⟩ is K
    where one of both is a landmark, and near to it elsewhere. Landmarks are parameters, and are not trained.

    - ``hops``: H. ``gamma``: γ.
    """

    hops: int = 2
    gamma: float = 2.0

    drops: ClassVar[bool] = False
    learns: ClassVar[bool] = False
    capturable: ClassVar[bool] = False
    of_one_graph: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_setting(0 <= self.hops <= 10, "hops", "an integer from 0 to 10", self.hops)
        require_setting(self.gamma > 0, "gamma", "above 0", self.gamma)

    def least_bytes(self, sizes: GraphSizes, options: TensorOptions) -> float:
        """The features, smoothed."""
        return float(sizes.nodes * min(sizes.features, _COMPONENTS) * 4)

    def prepare(self, graph: Graph, options: TensorOptions) -> list[Any]:
        """Blocks at length 1, sparse or dense: n × f each."""
        dtype = np.float64 if options.dtype == torch.float64 else np.float32
        return shared(graph, ("smoothed", self.hops, dtype), lambda: self.blocks(graph, dtype))

    def blocks(self, graph: Graph, dtype: Any) -> list[Any]:
        """B, P B, …, P^H B."""
        block = base_features(graph)
        a = graph.adjacency + sparse.eye_array(graph.n_nodes, format="csr")
        step = sparse.diags_array(1 / np.asarray(a.sum(axis=1)).ravel()) @ a
        if sparse.issparse(block) and _products(block, a) > _MUCH:
            u, s, _ = randomized_svd(block, min(_COMPONENTS, min(block.shape) - 1), n_iter=4, random_state=0)
            block = u * s
        found = [block]
        for _ in range(self.hops):
            found.append(step @ found[-1])
        return [unit_rows(one).astype(dtype) for one in found]

    def initial(self, prepared: list[Any], draws: Draws, options: TensorOptions) -> Parameters:
        """No landmarks yet: a method chooses them among its training nodes."""
        return {"landmarks": torch.zeros((len(draws.seeds), 0), dtype=torch.int64)}

    def __call__(self, parameters: Parameters, prepared: list[Any], dropout: Dropout | None = None) -> Tensor:
        """g of every node: r × n × landmarks."""
        return torch.stack([self._nystrom(prepared, own) for own in parameters["landmarks"]])

    def _nystrom(self, blocks: list[Any], landmarks: Tensor) -> Tensor:
        device, at = landmarks.device, landmarks.cpu().numpy()
        held = [torch.from_numpy(_dense(one[at])).to(device) for one in blocks]
        n = blocks[0].shape[0]
        # In float64, where it is p.s.d.: in float32 rounding may exceed the jitter.
        exact = [one.double() for one in held]
        among = self._gram([one.cpu().numpy() for one in exact], exact)
        return nystrom(
            landmark_factor(among), lambda rows: self._gram([one[rows] for one in blocks], held), n
        )

    def _gram(self, left: list[Any], right: list[Tensor]) -> Tensor:
        mean = sum(_product(a, b) for a, b in zip(left, right, strict=True)) / len(left)
        return torch.exp(self.gamma * (mean - 1))


@dataclass(frozen=True)
class SmoothedComponents(FeatureMap):
    """``g(V) = U S``, the main components of ``(B, P B, …, P^H B) / √(H+1)``, each block at length 1.

    B and P are those of :class:`SmoothedKernel`. Dot products are the mean cosine of the features of two
    nodes and of their means over hops, as far as the components hold them. Nothing is learned.

    - ``dimensions``: of g, at most as many as there are nodes and columns. ``hops``: H.
    """

    dimensions: int = 512
    hops: int = 1

    drops: ClassVar[bool] = False
    learns: ClassVar[bool] = False
    of_one_graph: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_setting(self.dimensions >= 1, "dimensions", "at least 1", self.dimensions)
        require_setting(0 <= self.hops <= 10, "hops", "an integer from 0 to 10", self.hops)

    def least_bytes(self, sizes: GraphSizes, options: TensorOptions) -> float:
        """g."""
        return float(sizes.nodes * min(sizes.nodes, sizes.features, self.dimensions) * options.dtype.itemsize)

    def prepare(self, graph: Graph, options: TensorOptions) -> Tensor:
        """All of g: n × d."""
        blocks = SmoothedKernel(self.hops).blocks(graph, np.float64)
        joined = sparse.hstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.hstack(blocks)
        d = min(self.dimensions, *joined.shape)
        u, s, _ = randomized_svd(joined / len(blocks) ** 0.5, d, n_iter=4, random_state=0)
        return torch.from_numpy(u * s).to(options.dtype).to(options.device)

    def initial(self, prepared: Tensor, draws: Draws, options: TensorOptions) -> Parameters:
        """No parameters."""
        return {}

    def __call__(self, parameters: Parameters, prepared: Tensor, dropout: Dropout | None = None) -> Tensor:
        """g, one replica that stands for all: 1 × n × d."""
        return prepared[None]


def base_features(graph: Graph) -> Any:
    """Words by TF-IDF, other columns standardised; rows at length 1."""
    x: Any = graph.features
    if not sparse.issparse(x) and x.size and (x >= 0).all() and (x == 0).mean() > _ZEROS:
        x = sparse.csr_array(x)
    if sparse.issparse(x):
        x = sparse.csr_array(x, dtype=np.float64)
        if graph.encoding is None:  # tables weight their texts themselves
            rarity = np.log((1 + x.shape[0]) / (1 + np.bincount(x.indices, minlength=x.shape[1]))) + 1
            x = x @ sparse.diags_array(rarity)
        return sparse.csr_array(unit_rows(x))
    spread = x.std(axis=0)
    return unit_rows((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1))


def _products(block: Any, a: Any) -> float:
    """About how many products the kernel takes between all nodes and 2,000 of them."""
    degree = a.nnz / a.shape[0]
    filled = min(block.nnz / block.shape[0] * degree * degree, block.shape[1])
    return float(filled * block.shape[0] * 2000)


def _product(a: Any, b: Tensor) -> Any:
    """``a bᵀ`` on b's device, of sparse or dense rows a: n × f, m × f → n × m."""
    if not sparse.issparse(a):
        return torch.from_numpy(a).to(b.device) @ b.T
    if b.device.type == "cpu":  # torch has sparse products on few systems
        return torch.from_numpy(a @ b.numpy().T)
    rows, columns, values = (torch.from_numpy(one).to(b.device) for one in (a.indptr, a.indices, a.data))
    return torch.sparse_csr_tensor(rows, columns, values, size=a.shape) @ b.T


def _dense(x: Any) -> np.ndarray:
    return x.toarray() if sparse.issparse(x) else np.asarray(x)
