"""Graph kernels K = f(S), functions of the normalised adjacency matrix, by Chebyshev polynomials."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.fft import dct

from kernode.compute.chunks import chunks
from kernode.compute.sparse import product, to_torch
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config, require_setting
from kernode.graph import Graph
from kernode.progress import report_progress

_NODES, _MOST_NODES = 512, 2**15  # Chebyshev nodes: doubled until they are more than the degree needed
_PROBES = 256  # of an estimated diagonal: a relative deviation of √(2 / 256) = 9 %
_EXACT = 6000  # nodes: beyond, diagonals are estimated
_COLUMNS = 256


@dataclass(frozen=True)
class GraphKernel(Config):
    """``K = f(S)``, S = D^-½ A D^-½: p.s.d., since f > 0 on [−1, 1], where the eigenvalues of S are.

    Only the graph decides it. A new one defines :meth:`spectrum`. A node without edges is similar to itself
    alone.

    >>> import kernode as kn
    >>> path = kn.Graph.from_edges([(0, 1), (1, 2)], np.ones((3, 1)))
    >>> kn.kernels.RegularizedLaplacian(0.5).gram(path, [0, 1]).round(4)
    array([[1.1667, 0.4714],
           [0.4714, 1.3333]])
    """

    @abstractmethod
    def spectrum(self, x: np.ndarray) -> np.ndarray:
        """f, of eigenvalues of S."""

    def columns(self, graph: Graph, nodes: Any = None) -> np.ndarray:
        """K between all nodes and some, None for all: n × m."""
        return self._columns(graph, _found(graph, nodes))

    def gram(self, graph: Graph, nodes: Any = None, others: Any = None) -> np.ndarray:
        """K between nodes and others (None: the same), for ``SVC(kernel="precomputed")``: m × p."""
        rows = _found(graph, nodes)
        return self._columns(graph, rows if others is None else _found(graph, others))[rows]

    def _columns(self, graph: Graph, at: np.ndarray) -> np.ndarray:
        found: np.ndarray = spectral_columns(normalized_adjacency(graph), [self], at)[0]
        return found


@dataclass(frozen=True)
class RegularizedLaplacian(GraphKernel):
    """``(I − α S)^-1``: walks of any length, each step weighted by α (Smola and Kondor 2003).

    ``alpha``: from −0.9999 to 0.9999. One below 0 makes neighbours differ.
    """

    alpha: float = 0.99

    def __post_init__(self) -> None:
        require_setting(abs(self.alpha) <= 0.9999, "alpha", "from -0.9999 to 0.9999", self.alpha)

    def spectrum(self, x: np.ndarray) -> np.ndarray:
        """1 / (1 − αx)."""
        return 1 / (1 - self.alpha * x)


@dataclass(frozen=True)
class GraphDiffusion(GraphKernel):
    """``e^(−t (I − S))``: heat after a time t (Kondor and Lafferty 2002)."""

    time: float = 8.0

    def __post_init__(self) -> None:
        require_setting(0 < self.time <= 100, "time", "above 0 and at most 100", self.time)

    def spectrum(self, x: np.ndarray) -> np.ndarray:
        """e^(−t (1 − x))."""
        return np.exp(-self.time * (1 - x))


@dataclass(frozen=True)
class GraphMatern(GraphKernel):
    """``(2ν/κ² + I − S)^-ν``, scaled to f(1) = 1: the Matérn kernel of a graph (Borovitskiy et al. 2021).

    ``nu``: ν, how smooth; ``length_scale``: κ, how far.
    """

    nu: float = 2.0
    length_scale: float = 20.0

    def __post_init__(self) -> None:
        require_setting(0 < self.nu <= 20, "nu", "above 0 and at most 20", self.nu)
        require_setting(0 < self.length_scale <= 100, "length_scale", "above 0 and at most 100",
                        self.length_scale)  # fmt: skip

    def spectrum(self, x: np.ndarray) -> np.ndarray:
        """(1 + κ² (1 − x) / 2ν)^-ν."""
        return (1 + self.length_scale**2 * (1 - x) / (2 * self.nu)) ** -self.nu


def normalized_adjacency(graph: Graph) -> sparse.csr_array:
    """S = D^-½ A D^-½, with weights: n × n."""
    a = graph.adjacency.astype(np.float64)
    degrees = np.asarray(a.sum(axis=1)).ravel()
    scale = sparse.diags_array(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
    return sparse.csr_array(scale @ a @ scale)


def chebyshev(spectrum: Any, tolerance: float = 1e-10) -> np.ndarray:
    """Coefficients of a function on [−1, 1], as many as its largest value times a tolerance needs.

    The polynomial is off by less than the sum of what is left out, so that it is positive wherever the
    function is larger than that.
    """
    count = _NODES
    while True:
        values = spectrum(np.cos(np.pi * (np.arange(count) + 0.5) / count))
        found = dct(values) / count
        found[0] /= 2
        left_out = np.cumsum(np.abs(found[::-1]))[::-1]
        needed = int((left_out > tolerance * np.abs(values).max()).sum())
        # With too few nodes the last coefficients are not small, and hold some of those beyond.
        if needed <= count // 2 or count >= _MOST_NODES:
            return np.asarray(found[:needed])
        count *= 2


def spectral_products(
    s: sparse.csr_array, spectra: Sequence[Any], block: np.ndarray, tolerance: float = 1e-10
) -> list[np.ndarray]:
    """``f(S) B`` for several f at once, which share the products T_k(S) B: n × m each."""
    series = [chebyshev(one, tolerance) for one in spectra]
    options = TensorOptions.of(64 if block.dtype == np.float64 else 32)
    twice = to_torch(sparse.csr_array(2 * s.astype(block.dtype)), options)
    before = torch.from_numpy(block)
    now = product(twice, before) / 2
    before = before.clone()
    found = [float(one[0]) * before for one in series]
    for k in range(1, max(map(len, series))):
        for total, one in zip(found, series, strict=True):
            if k < len(one):
                total.add_(now, alpha=float(one[k]))
        before, now = now, product(twice, now, before)  # 2 S T_k − T_{k−1}, in the memory of T_{k−1}
    return [one.numpy() for one in found]


def spectral_columns(
    s: sparse.csr_array,
    kernels: Sequence[GraphKernel],
    nodes: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    dtype: Any = np.float64,
) -> list[np.ndarray]:
    """Columns of f(S) for several kernels, at some nodes: n × m each, or of some rows alone."""
    n = s.shape[0]
    found = [np.empty((n if rows is None else len(rows), len(nodes)), dtype) for _ in kernels]
    s, tolerance = s.astype(dtype), 1e-10 if dtype == np.float64 else 1e-5
    for some in chunks(len(nodes), _COLUMNS):
        report_progress("graph kernels", some.start, len(nodes))
        block = np.zeros((n, some.stop - some.start), dtype)
        block[nodes[some], np.arange(block.shape[1])] = 1
        products = spectral_products(s, [one.spectrum for one in kernels], block, tolerance)
        own = np.flatnonzero(_alone(s)[nodes[some]])
        for kernel, held, one in zip(kernels, found, products, strict=True):
            one[nodes[some][own], own] = kernel.spectrum(np.zeros(1))  # it may be less than a tolerance
            held[:, some] = one if rows is None else one[rows]
    return found


def spectral_diagonals(s: sparse.csr_array, kernels: Sequence[GraphKernel]) -> list[np.ndarray]:
    """The diagonals of f(S) for several kernels: n each.

    Exact on graphs of some thousand nodes. On larger ones the mean square of f^½(S) times random vectors,
    from a fixed seed.
    """
    n = s.shape[0]
    if not kernels:
        return []
    if n > _EXACT:
        draws = np.random.default_rng(0).standard_normal((n, _PROBES)).astype(np.float32)
        roots = [lambda x, one=one: np.sqrt(one.spectrum(x)) for one in kernels]
        products = spectral_products(s.astype(np.float32), roots, draws, 1e-4)
        found = [np.square(one).mean(axis=1).astype(np.float64) for one in products]
    else:
        series = [chebyshev(one.spectrum) for one in kernels]
        moments = _moments(s, max(map(len, series)))
        found = [one @ moments[: len(one)] for one in series]
    alone = _alone(s)
    for kernel, own in zip(kernels, found, strict=True):
        own[alone] = kernel.spectrum(np.zeros(1))
    return found


def _moments(s: sparse.csr_array, count: int) -> np.ndarray:
    """The diagonals of T_k(S): count × n.

    ``T_2k = 2 T_k² − I`` and ``T_2k+1 = 2 T_k+1 T_k − S``, so that half of the products are enough.
    """
    n = s.shape[0]
    found = np.zeros((count + 1, n))  # those of S itself are 0
    found[0] = 1
    for some in chunks(n, _COLUMNS):
        report_progress("graph kernels", some.start, n)
        before = np.zeros((n, some.stop - some.start))
        before[np.arange(some.start, some.stop), np.arange(before.shape[1])] = 1
        now = s @ before
        for k in range(1, (count + 1) // 2):
            found[2 * k, some] = 2 * np.einsum("ij,ij->j", now, now) - 1
            before, now = now, 2 * (s @ now) - before
            found[2 * k + 1, some] = 2 * np.einsum("ij,ij->j", now, before)
    return found[:count]


def _alone(s: sparse.csr_array) -> np.ndarray:
    """Which nodes have no edge: n booleans."""
    return np.diff(s.indptr) == 0


def _found(graph: Graph, nodes: Any) -> np.ndarray:
    return np.arange(graph.n_nodes) if nodes is None else np.asarray(graph.find(nodes))
