"""The node kernel K(u, v) = k_base(g(u), g(v)), p.s.d. for every map g (Theorem 1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.replicas import whole
from kernode.compute.stack import Parameters, replica
from kernode.errors import InputError
from kernode.graph import Lookup
from kernode.graph.lookup import as_nodes
from kernode.kernels.base import BaseKernel
from kernode.kernels.nearest import NodeIndex, nearest
from kernode.kernels.normalized import normalized
from kernode.metrics.ranking import retrieval_by_blocks


class SimilarNodes(list[tuple[Any, float]]):
    """[(node, similarity), …], most similar first.

    ``exact``: True where every node was compared. Otherwise an index chose which to compare: similarities are
    exact all the same, but a node that belongs here may be missing.

    >>> found = SimilarNodes([("eve", 0.9)], exact=True)
    >>> found, found.exact
    ([('eve', 0.9)], True)
    """

    def __init__(self, found: Iterable[tuple[Any, float]] = (), *, exact: bool = True) -> None:
        super().__init__(found)
        self.exact = exact


@dataclass(frozen=True, eq=False, repr=False)
class NodeKernel:
    """K(u, v) = k_base(g(u), g(v)) on the nodes of one graph; the mean over the replicas of a stack.

    A mean of p.s.d. kernels is p.s.d. Nodes are indices, or names where ``names`` are given; values come
    back as numpy arrays. A kernel is a function of two lists of nodes, so ``SVC(kernel=kernel)`` takes it,
    on a column of indices.

    >>> from kernode.kernels import Linear, Normalized
    >>> kernel = NodeKernel(Normalized(Linear()), torch.tensor([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    >>> kernel.gram([0, 1, 2]).round(2)
    array([[1.  , 0.  , 0.71],
           [0.  , 1.  , 0.71],
           [0.71, 0.71, 1.  ]], dtype=float32)
    >>> kernel.pairs([0], [2]).round(2)
    array([0.71], dtype=float32)
    """

    base: BaseKernel
    g: Tensor  # r × n × d, or n × d for one replica
    parameters: Parameters = field(default_factory=dict)
    names: np.ndarray | None = None  # n

    @cached_property
    @torch.no_grad()
    def embedded(self) -> Tensor:
        """What the base kernel compares: r × n × d'."""
        return self.base.embed(self.g if self.g.dim() == 3 else self.g[None])

    @property
    def n_nodes(self) -> int:
        """Number of nodes, n."""
        return int(self.g.shape[-2])

    def gram(self, nodes: Any = None, others: Any = None) -> np.ndarray:
        """K between two lists of nodes (all nodes if None, the same list if only one is given)."""
        rows = self._rows(nodes)
        return self.gram_tensor(rows, rows if others is None else self._rows(others)).cpu().numpy()

    def __call__(self, nodes: Any, others: Any = None) -> np.ndarray:
        """K between two lists of nodes, as :meth:`gram`: kernel machines call their kernel."""
        return self.gram(nodes, others)

    def blocks(self, nodes: Any = None, others: Any = None, rows: int = 1024) -> Iterator[np.ndarray]:
        """The same Gram matrix some rows at a time, for lists too long to hold all of it."""
        nodes = self._rows(nodes)
        columns = nodes if others is None else self._rows(others)
        for start in range(0, len(nodes), rows):
            yield self.gram_tensor(nodes[start : start + rows], columns).cpu().numpy()

    def pairs(self, nodes: Any, others: Any) -> np.ndarray:
        """K(u_i, v_i) for two lists of the same length."""
        rows, columns = self._rows(nodes), self._rows(others)
        if len(rows) != len(columns):
            sentence = f"pairs need two lists of one length. Got {len(rows)} and {len(columns)}."
            raise InputError(sentence, "shape", expected=len(rows), found=len(columns))
        return self.pairs_tensor(rows, columns).cpu().numpy()

    def diagonal(self, nodes: Any = None) -> np.ndarray:
        """K(v, v)."""
        rows = self._rows(nodes)
        return self.pairs_tensor(rows, rows).cpu().numpy()

    @torch.no_grad()
    def vectors(self, nodes: Any = None) -> np.ndarray:
        """Return the vectors of nodes, the replicas' concatenated and divided by √r: m × r·d'.

        Where the base kernel is a dot product, ``vectors @ vectors.T`` is :meth:`gram`. Any other compares
        them in its own way: RBF's ‖x − y‖², for one, is here its mean over the replicas.

        >>> from kernode.kernels import Linear
        >>> NodeKernel(Linear(), torch.tensor([[3.0, 0.0], [0.0, 2.0]])).vectors([1])
        array([[0., 2.]], dtype=float32)
        """
        return self.vectors_at(self._rows(nodes)).cpu().numpy()

    def similar(self, nodes: Any, k: int = 10, *, among: Any = None, exact: bool = True) -> Any:
        """Return the k nodes most similar to one by K̄, the kernel on g(v) / ‖g(v)‖: [(node, value), …].

        A list of nodes gives one such list for each. ``among``: the candidates, as a list or a mask; all if
        None. A node is never a candidate for itself, and of equals the first node in the graph comes first.

        ``exact``: True compares with every node, a block at a time. False uses an index
        (``pip install 'kernode[index]'``), built at the first such call, which pays from about 10,000 nodes
        on: similarities stay exact, but a few nodes may be missed. With ``among`` every candidate is
        compared. ``found.exact`` says which it was.

        >>> from kernode.kernels import Linear
        >>> kernel = NodeKernel(Linear(), torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.0, 0.0]]))
        >>> kernel.similar(0, k=1)
        [(2, 1.0)]
        >>> kernel.similar([0, 2], k=1, among=[0, 1, 3])
        [[(3, 1.0)], [(0, 1.0)]]
        >>> kernel.similar(0).exact
        True
        """
        k = whole("k", k, 1)
        alone = np.ndim(nodes) == 0
        queries = self._rows(np.atleast_1d(np.asanyarray(nodes)) if alone else nodes)
        kernel = self.directions
        if among is None and not exact:
            found = [self._as_similar(*one) for one in kernel.index.search(queries, k)]
        else:
            chosen = None if among is None else torch.unique(self._rows(among))  # in ascending order
            found = [self._as_similar(*one, True) for one in nearest(kernel, queries, k, chosen)]
        return found[0] if alone else found

    def _as_similar(self, nodes: np.ndarray, values: np.ndarray, exact: bool) -> SimilarNodes:
        names = nodes if self.names is None else self.names[nodes]
        return SimilarNodes(zip(names.tolist(), values.tolist(), strict=True), exact=exact)

    @cached_property
    def index(self) -> NodeIndex:
        """An index of these nodes; :meth:`similar` uses that of K̄."""
        return NodeIndex(self)

    @torch.no_grad()
    def vectors_at(self, rows: Tensor | None) -> Tensor:
        """Return the vectors of indices, or of all, on the device of g: (m) → m × r·d'."""
        taken = self.embedded if rows is None else self.embedded[:, rows]
        return taken.transpose(0, 1).flatten(1) / math.sqrt(len(self.embedded))

    @torch.no_grad()
    def gram_tensor(self, rows: Tensor | slice, columns: Tensor | slice) -> Tensor:
        """Return K between two lists of indices, on the device of g: (m), (p) → m × p."""
        parts = enumerate(self.embedded.split(1))  # one replica at a time, which saves memory
        grams = (self.base.gram(x[:, rows], x[:, columns], replica(self.parameters, i)) for i, x in parts)
        return torch.as_tensor(sum(grams))[0] / len(self.embedded)

    @torch.no_grad()
    def pairs_tensor(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return K(u_i, v_i) for two lists of indices, on the device of g: (m), (m) → m."""
        x, y = self.embedded[:, rows], self.embedded[:, columns]
        return self.base.pairs(x, y, self.parameters).sum(dim=0) / len(self.embedded)

    @cached_property
    def directions(self) -> NodeKernel:
        """K̄: the same kernel on g(v) / ‖g(v)‖."""
        base = normalized(self.base)
        return self if base is self.base else NodeKernel(base, self.g, self.parameters, self.names)

    def _rows(self, nodes: Any) -> Tensor:
        rows = np.arange(self.n_nodes) if nodes is None else self.find(nodes)
        return torch.from_numpy(np.asarray(rows)).to(self.g.device)

    def find(self, nodes: Any) -> np.ndarray:
        """Return positions of nodes, as :meth:`Graph.find <kernode.Graph.find>` does."""
        return self._lookup.find(as_nodes(nodes))

    @cached_property
    def _lookup(self) -> Lookup:
        names = None if self.names is None else self.names.astype(str)
        return Lookup(names, self.n_nodes, "this kernel")

    def __repr__(self) -> str:
        replicas = len(self.g) if self.g.dim() == 3 else 1
        return f"NodeKernel({self.base!r} on {self.n_nodes:,} nodes, mean of {replicas})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave what can be recomputed out of a pickle."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    # A frozen value is its own copy. scikit-learn's clone() of a machine would otherwise duplicate g.
    def __copy__(self) -> NodeKernel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> NodeKernel:
        return self


def graph_kernel(one: NodeKernel, other: NodeKernel, block: int = 1024) -> float:
    """K_G(G_i, G_j) = Σ Σ k_base(f(v_i), f(v_j)) over all nodes of two graphs (Eq. 1).

    >>> from kernode.kernels import Linear
    >>> small = NodeKernel(Linear(), torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    >>> graph_kernel(small, small)
    5.0
    """
    if one.base != other.base or len(one.embedded) != len(other.embedded):
        sentence = "a graph kernel needs the same base kernel and the same replicas on both graphs."
        raise InputError(sentence, "conflict", setting="other")
    total = 0.0
    for i in range(len(one.embedded)):
        x, y = one.embedded[i : i + 1], other.embedded[i : i + 1]
        if one.base.dot_product:  # the sum of all products is the product of the sums
            total += float((x.sum(dim=1) * y.sum(dim=1)).sum())
            continue
        for start in range(0, x.shape[1], block):
            total += float(one.base.gram(x[:, start : start + block], y, replica(one.parameters, i)).sum())
    return total / len(one.embedded)


def kernel_retrieval(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, labels: Tensor, k: int = 10
) -> tuple[Tensor, Tensor]:
    """Return mean average precision and precision at k of K̄ among m nodes (g: r × m × d): r each."""
    kernel = normalized(kernel)
    x = kernel.embed(g).contiguous()
    return retrieval_by_blocks(lambda rows: kernel.gram(x[:, rows], x, parameters), len(g), labels, k)


def retrieval_together(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, labels: Tensor, k: int = 10
) -> tuple[float, float]:
    """Return the same of the mean of all replicas' K̄, the kernel that a model predicts with."""
    mean = NodeKernel(normalized(kernel), g, parameters)
    every = slice(None)
    precision, at_k = retrieval_by_blocks(lambda rows: mean.gram_tensor(rows, every)[None], 1, labels, k)
    return float(precision[0]), float(at_k[0])
