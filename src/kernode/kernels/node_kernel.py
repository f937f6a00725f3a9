"""The node kernel K(u, v) = k_base(g(u), g(v)), p.s.d. for every map g (Theorem 1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.stack import Parameters, replica
from kernode.errors import InputError
from kernode.graph import Lookup
from kernode.graph.names import as_nodes
from kernode.kernels.base import BaseKernel
from kernode.kernels.index import FROM_NODES, NodeIndex
from kernode.kernels.nearest import nearest
from kernode.kernels.normalized import normalized
from kernode.kernels.similar import SimilarNodes


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
            raise InputError(f"pairs need two lists of one length. Got {len(rows)} and {len(columns)}.")
        return self.pairs_tensor(rows, columns).cpu().numpy()

    def diagonal(self, nodes: Any = None) -> np.ndarray:
        """K(v, v)."""
        rows = self._rows(nodes)
        return self.pairs_tensor(rows, rows).cpu().numpy()

    @torch.no_grad()
    def vectors(self, nodes: Any = None) -> np.ndarray:
        """Vectors of nodes, the replicas' side by side over √r: m × r·d'.

        Where the base kernel is a dot product, K is the vectors' dot product: ``vectors @ vectors.T`` is
        :meth:`gram`. For any other, they are what it compares: RBF's ‖x − y‖², for one, is here its mean
        over the replicas.

        >>> from kernode.kernels import Linear
        >>> NodeKernel(Linear(), torch.tensor([[3.0, 0.0], [0.0, 2.0]])).vectors([1])
        array([[0., 2.]], dtype=float32)
        """
        return self.vectors_at(self._rows(nodes)).cpu().numpy()

    def similar(self, nodes: Any, k: int = 10, *, among: Any = None, exact: bool | None = None) -> Any:
        """The k nodes most alike to one, with K̄, the kernel on g(v) / ‖g(v)‖: [(node, similarity), …].

        A list of nodes gives one such list for each. ``among``: the nodes that are looked for, as a list or
        a mask; all if None. Nobody is alike to itself, and of equals the first node in the graph comes first.

        ``exact``: True compares with every node, a block at a time. False asks an index
        (``pip install 'kernode[index]'``), made at the first such call: similarities stay exact, but a few
        nodes may be missed. None asks the index where it is at hand and there are 10,000 nodes or more;
        among some nodes all of them are compared, always. ``found.exact`` says how it was found.

        >>> from kernode.kernels import Linear
        >>> kernel = NodeKernel(Linear(), torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.0, 0.0]]))
        >>> kernel.similar(0, k=1)
        [(2, 1.0)]
        >>> kernel.similar([0, 2], k=1, among=[0, 1, 3])
        [[(3, 1.0)], [(0, 1.0)]]
        >>> kernel.similar(0).exact
        True
        """
        if k < 1:
            raise InputError(f"k must be an integer ≥ 1. Got {k}.")
        alone = np.ndim(nodes) == 0
        queries = self._rows(np.atleast_1d(np.asanyarray(nodes)) if alone else nodes)
        kernel = self.directions
        if among is None and kernel._asks_index(exact):
            found = [self._as_similar(*one) for one in kernel.index.search(queries, k)]
        else:
            chosen = None if among is None else torch.unique(self._rows(among))  # in ascending order
            found = [self._as_similar(*one, True) for one in nearest(kernel, queries, k, chosen)]
        return found[0] if alone else found

    def _as_similar(self, nodes: np.ndarray, values: np.ndarray, exact: bool) -> SimilarNodes:
        names = nodes if self.names is None else self.names[nodes]
        return SimilarNodes(zip(names.tolist(), values.tolist(), strict=True), exact=exact)

    def _asks_index(self, exact: bool | None) -> bool:
        """Whether K̄ asks its index; None: where it is at hand and worth asking."""
        at_hand = "index" in vars(self) and self.n_nodes >= FROM_NODES
        return at_hand if exact is None else not exact

    @cached_property
    def index(self) -> NodeIndex:
        """An index of these nodes; :meth:`similar` asks that of K̄."""
        return NodeIndex.of(self)

    def keep_index(self, index: NodeIndex) -> None:
        """Have an index that was read from a file."""
        vars(self)["index"] = index

    @torch.no_grad()
    def vectors_at(self, rows: Tensor | None) -> Tensor:
        """Vectors of a list of indices, or of all, where g is: (m) → m × r·d'."""
        taken = self.embedded if rows is None else self.embedded[:, rows]
        return taken.transpose(0, 1).flatten(1) / math.sqrt(len(self.embedded))

    @torch.no_grad()
    def gram_tensor(self, rows: Tensor, columns: Tensor) -> Tensor:
        """K between two lists of indices, where g is: (m), (p) → m × p."""
        total = sum(
            self.base.gram(
                self.embedded[i : i + 1, rows], self.embedded[i : i + 1, columns], replica(self.parameters, i)
            )[0]
            for i in range(len(self.embedded))
        )
        return torch.as_tensor(total) / len(self.embedded)

    @torch.no_grad()
    def pairs_tensor(self, rows: Tensor, columns: Tensor) -> Tensor:
        """K(u_i, v_i) for two lists of indices, where g is: (m), (m) → m."""
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
        """Positions of nodes, as :meth:`Graph.find <kernode.Graph.find>` has them."""
        return self._lookup.find(as_nodes(nodes))

    @cached_property
    def _lookup(self) -> Lookup:
        names = None if self.names is None else self.names.astype(str)
        return Lookup(names, self.n_nodes, "this kernel")

    def __repr__(self) -> str:
        replicas = len(self.g) if self.g.dim() == 3 else 1
        return f"NodeKernel({self.base!r} on {self.n_nodes:,} nodes, mean of {replicas})"

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again, for a pickle."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    # A frozen value is its own copy. scikit-learn's clone() of a machine would otherwise duplicate g.
    def __copy__(self) -> NodeKernel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> NodeKernel:
        return self
