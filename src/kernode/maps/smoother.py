"""Smoothed features, without classes: Eqs. 5 and 6, and principal components of diffused features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.replicas import whole
from kernode.compute.sparse import SparseMatrix, product, unit_rows
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_setting
from kernode.graph import Graph
from kernode.hops import MOST_HOPS, normalized_adjacency
from kernode.maps.base import FeatureInputs, FeatureMap
from kernode.maps.layers.features import to_tensor


@dataclass(frozen=True)
class Smoother(FeatureMap):
    """Words averaged over the neighbourhood, with k = Ā^h.

    - ``averaged=True``: ``g(v) = Σ_u k(u,v) x_u / Σ_u k(u,v)`` (Eq. 5, Nadaraya-Watson).
    - ``averaged=False``: ``g(V) = Ā^h X`` (Eq. 6).

    >>> import numpy as np, kernode as kn
    >>> path = kn.Graph.from_edges([(0, 1), (1, 2)], features=np.ones((3, 1)))
    >>> kn.maps.Smoother(hops=1).of(path).ravel()
    array([1., 1., 1.])
    """

    hops: int = 2
    averaged: bool = True

    drops: ClassVar[bool] = False
    learns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole("hops", self.hops, 0, MOST_HOPS)

    @property
    def reach(self) -> int:
        """h."""
        return self.hops

    def of(self, graph: Graph) -> np.ndarray:
        """g of every node as an array: n × f."""
        step = normalized_adjacency(graph)
        smoothed: Any = graph.features.astype(np.float64)
        total = np.ones(graph.n_nodes)
        for _ in range(self.hops):  # never Ā^h itself: h products with Ā
            smoothed, total = step @ smoothed, step @ total
        dense = smoothed.toarray() if sparse.issparse(smoothed) else smoothed
        return dense / total[:, None] if self.averaged else dense

    def prepare(self, graph: Graph, options: TensorOptions) -> Any:
        """All of g: nothing is left to learn."""
        return to_tensor(self.of(graph), options)

    def initial(self, prepared: Tensor, draws: Draws, options: TensorOptions) -> Parameters:
        """No parameters."""
        return {}

    def __call__(self, parameters: Parameters, prepared: Tensor, dropout: Dropout | None = None) -> Tensor:
        """g, one replica that stands for all: 1 × n × f."""
        return prepared[None]


FIXED = ("axes", "centre")  # parameters that no gradient reaches: they travel to other graphs
# Directions beyond those wanted, and power iterations, of the search for axes. With 8 and 4 the last of
# Cora's 64 axes were found to a cosine of 0.2, with these to 1.000.
_SPARE, _ROUNDS = 64, 10


@dataclass(frozen=True)
class DiffusedComponents(FeatureMap):
    """``g(V) = (P X̂ − 1 mᵀ) V_d``: rows of X at length 1, diffused, centred, along their d main axes.

    P is personalised PageRank, ``Σ_h w_h Ā^h`` with w_h = a(1 − a)^h and (1 − a)^H for the last. Nothing
    is learned from classes: m and V_d are the mean and the first principal components of P X̂ on the graph
    that a model is made on, and stay as they are on other graphs. It is the smoother of Eq. 6 with a longer
    reach; what centring adds is large: of smoothed features most is what all nodes have in common.

    - ``dimensions``: d, at most as many as there are features.
    - ``hops``: H. ``teleport``: a.

    >>> import numpy as np, kernode as kn
    >>> from kernode.compute.tensor_options import TensorOptions
    >>> path = kn.Graph.from_edges([(0, 1), (1, 2)], features=np.eye(3))
    >>> feature_map, options = kn.maps.DiffusedComponents(2), TensorOptions.of(64)
    >>> draws = Draws(torch.tensor([0]))
    >>> prepared = feature_map.prepare(path, options)
    >>> g = feature_map(feature_map.initial(prepared, draws, options), prepared)
    >>> g.shape, bool(g.sum(dim=1).abs().max() < 1e-12)
    (torch.Size([1, 3, 2]), True)
    """

    dimensions: int = 64
    hops: int = 10
    teleport: float = 0.1

    operator: ClassVar = "adjacency"
    drops: ClassVar[bool] = False
    learns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole("dimensions", self.dimensions, 1)
        whole("hops", self.hops, 0, MOST_HOPS)
        require_setting(0 < self.teleport <= 1, "teleport", "in (0, 1]", self.teleport)

    @property
    def reach(self) -> int:
        """H: axes and mean are fixed."""
        return self.hops

    def prepare(self, graph: Graph, options: TensorOptions) -> FeatureInputs:
        """X̂ and Ā."""
        step = SparseMatrix.of(normalized_adjacency(graph), options, symmetric=True)
        return FeatureInputs(to_tensor(unit_rows(graph.features.astype(np.float64)), options), step)

    @torch.no_grad()
    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """``axes`` (r × f × d) and ``centre`` (r × d), the mean along them, the same for every replica."""
        axes, mean = self._components(prepared)
        found, r = dict(zip(FIXED, (axes, mean @ axes), strict=True)), len(draws.seeds)
        return {name: value.expand(r, *value.shape).contiguous() for name, value in found.items()}

    @torch.no_grad()
    def __call__(
        self, parameters: Parameters, prepared: FeatureInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """g, the same for every replica: r × n × d."""
        axes, centre = (parameters[name] for name in FIXED)
        g = self.diffuse(prepared, prepared.features @ axes[0]) - centre[0]
        g = g * self._reached(prepared)
        return g.expand(len(axes), *g.shape)

    def _reached(self, prepared: FeatureInputs) -> Tensor:
        """0 for nodes that no feature reaches, which would all lie at −m and seem alike, else 1: n × 1."""
        x = prepared.features
        if isinstance(x, Tensor):
            there = (x != 0).any(dim=1)
        else:
            starts = x.matrix.crow_indices()
            there = starts[1:] > starts[:-1]
        dtype = prepared.neighbours.matrix.dtype
        return (self.diffuse(prepared, there.to(dtype)[:, None]) > 0).to(dtype)

    def diffuse(self, prepared: FeatureInputs, z: Tensor) -> Tensor:
        """P z: n × d. P is symmetric, as Ā is."""
        total = self.teleport * z if self.hops else z
        for hop in range(1, self.hops + 1):
            z = (1 - self.teleport) * product(prepared.neighbours.matrix, z.contiguous())
            total = total + (self.teleport if hop < self.hops else 1) * z
        return total

    def _components(self, prepared: FeatureInputs) -> tuple[Tensor, Tensor]:
        """V_d (f × d) by subspace iteration, and m (f): P X̂ itself, n × f and dense, is never held."""
        x = prepared.features
        n, f = x.shape
        like = x if isinstance(x, Tensor) else x.matrix.values()
        ones = torch.ones(n, 1, dtype=like.dtype, device=like.device)
        mean = (x.T @ self.diffuse(prepared, ones))[:, 0] / max(1, n)

        def centred(q: Tensor) -> Tensor:
            return self.diffuse(prepared, x @ q) - mean @ q

        start = np.random.Generator(np.random.PCG64(0)).standard_normal((f, min(f, self.dimensions + _SPARE)))
        q = torch.from_numpy(start).to(like.dtype).to(like.device)
        for _ in range(_ROUNDS):
            q, _ = torch.linalg.qr(q)
            y = centred(q)
            q = x.T @ self.diffuse(prepared, y) - mean[:, None] * y.sum(dim=0)
        q, _ = torch.linalg.qr(q)
        y = centred(q)
        values, rotation = torch.linalg.eigh(y.T @ y)  # ascending
        d = min(f, self.dimensions)
        axes = q @ rotation.flip(1)[:, :d]
        # Beyond the rank an axis is rounding: nothing here, but something on other graphs.
        axes = axes * (values.flip(0)[:d] > values.max() * n * torch.finfo(values.dtype).eps)
        # The sign of an axis is arbitrary: its largest entry is made positive.
        largest = axes.gather(0, axes.abs().argmax(dim=0, keepdim=True)) if f else axes[:1]
        return axes * torch.where(largest < 0, -1.0, 1.0).to(axes.dtype), mean
