"""The k nodes with the largest K to each of some nodes, exactly, without n × n values in memory.

A matrix product finds candidates, and pairs give their values. A product rounds an entry depending on its
place in a block; a pair always has the same value, so equals are equal, and the first node comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from kernode.compute.chunks import chunks
from kernode.compute.stack import replica
from kernode.errors import InputError
from kernode.progress import tell

if TYPE_CHECKING:
    from kernode.kernels.node_kernel import NodeKernel

_VALUES = 2**22  # of K, or numbers of vectors, held at a time
_ROUNDING = 16  # in units of the last place, that a product may be off by at first sight


def nearest(
    kernel: NodeKernel, queries: Tensor, k: int, among: Tensor | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each query: positions of the nodes with the largest K, largest first, and K.

    ``among``: sorted positions of the candidates, each once; None: all nodes. A query is not a candidate for
    itself. Of equals the first comes first, and there are fewer than k only for fewer candidates.
    """
    others = kernel.embedded if among is None else kernel.embedded[:, among]
    count = others.shape[1]
    if kernel.base.dot_product:  # the replicas' dot products are one, of vectors side by side
        others = _side_by_side(others)
    for some in chunks(len(queries), max(1, _VALUES // max(1, count))):
        tell("similar nodes", some.start, len(queries))
        rows = queries[some]
        values = _without_itself(_gram(kernel, rows, others), rows, among)
        yield from _best(kernel, rows, values, min(k, count), among)


def pair_values(kernel: NodeKernel, rows: Tensor, columns: Tensor) -> Tensor:
    """K(u_i, v_i), a block at a time: (t), (t) → t."""
    most = max(1, _VALUES // max(1, kernel.embedded.shape[0] * kernel.embedded.shape[2]))
    if len(rows) <= most:
        return kernel.pairs_tensor(rows, columns)
    return torch.cat([kernel.pairs_tensor(rows[some], columns[some]) for some in chunks(len(rows), most)])


@torch.no_grad()
def _gram(kernel: NodeKernel, rows: Tensor, others: Tensor) -> Tensor:
    """K between nodes and others, the mean over replicas: (m), (r × p × d' or p × r·d') → m × p."""
    x = kernel.embedded[:, rows]
    if others.dim() == 2:
        return (_side_by_side(x) @ others.T).div_(len(x))
    total = kernel.base.gram(x[:1], others[:1], replica(kernel.parameters, 0))[0]
    for i in range(1, len(others)):
        total += kernel.base.gram(x[i : i + 1], others[i : i + 1], replica(kernel.parameters, i))[0]
    return total.div_(len(others))


def _side_by_side(vectors: Tensor) -> Tensor:
    """Concatenate the replicas' vectors of each node: r × p × d' → p × r·d'."""
    return vectors.transpose(0, 1).flatten(1)


def _without_itself(values: Tensor, rows: Tensor, among: Tensor | None) -> Tensor:
    """Set K of a node with itself to −∞: m × p."""
    own = torch.arange(len(rows), device=rows.device)
    at = rows
    if among is not None:
        at = torch.searchsorted(among, rows).clamp_max(len(among) - 1)
        met = among[at] == rows
        own, at = own[met], at[met]
    values[own, at] = -torch.inf
    return values


def _best(
    kernel: NodeKernel, rows: Tensor, values: Tensor, k: int, among: Tensor | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the best of each row of a block, best first, from its rounded values (m × p), and K."""
    largest, least = (one.cpu().numpy() for one in (values.amax(dim=1), values.topk(k).values[:, -1]))
    if not (largest < np.inf).all():
        sentence = "K is not a finite number for some of these nodes. Train with a smaller learning rate."
        raise InputError(sentence, "not-finite", what="kernel")
    slack = _ROUNDING * np.finfo(largest.dtype).eps * np.abs(largest)
    while True:  # of all that may be among the k largest if values err by slack / 2
        bound = torch.from_numpy(least - slack).to(values.device)[:, None]
        at = torch.nonzero((values >= bound) & (values > -torch.inf), as_tuple=True)  # −∞: itself
        candidates = at[1] if among is None else among[at[1]]
        found = pair_values(kernel, rows[at[0]], candidates).cpu().numpy()
        error, owners = np.abs(found - values[at].cpu().numpy()), at[0].cpu().numpy()
        if not (2 * error > slack[owners]).any():
            break
        # A product may be rounded by more: where terms cancel, or where RBF has a large γ.
        slack = np.maximum(slack, 4 * error.max())
    nodes = candidates.cpu().numpy()
    order = np.lexsort((nodes, -found, owners))  # by row, then the largest value, then the first node
    nodes, found = nodes[order], found[order]
    ends = np.searchsorted(owners[order], np.arange(len(rows) + 1))
    for start, end in zip(ends[:-1], np.minimum(ends[1:], ends[:-1] + k), strict=True):
        yield nodes[start:end], found[start:end]
