"""The k nodes with the largest K to each of some nodes, exactly or by an index; K is never held whole.

A matrix product finds candidates, and pairs give their values. A product rounds an entry depending on its
place in a block; a pair always has the same value, so equals are equal, and the first node comes first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.chunks import chunks
from kernode.compute.stack import replica
from kernode.errors import InputError, MissingExtraError
from kernode.progress import report_progress

if TYPE_CHECKING:
    from kernode.kernels.node_kernel import NodeKernel

_SEARCHED = 16  # lists for ten nodes
_AXES = 48  # of vectors
_POINTS = 39  # nodes for each list: of fewer FAISS says that its centres mean little
_PAIRS = 2**15  # of nodes that are ranked at a time
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
        report_progress("similar nodes", some.start, len(queries))
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


# -- an approximate index ---------------------------------------------------------------------------


class NodeIndex:
    """The nodes of K̄ in 2√n lists by the nearest of as many centres (FAISS's inverted file).

    Only the lists whose centres are nearest to a node are searched, and what they hold is ranked by K̄ itself.
    Vectors are projected onto their main axes, which is faster and finds as much: the replicas of a model are
    similar. Centres come from a fixed seed: the same vectors give the same index.
    """

    def __init__(self, kernel: NodeKernel) -> None:
        if not kernel.base.grows:
            name = type(getattr(kernel.base, "kernel", kernel.base)).__name__
            raise InputError(
                f"an index needs a kernel that grows with the cosine of two vectors, and {name} does not say "
                "so (grows = True). Compare exactly, with every node.",
                "unsupported", setting="exact", kernel=name,
            )  # fmt: skip
        self.kernel = kernel
        self.points = _points(kernel)
        self.inverted = _inverted_file(self.points, kernel.base.dot_product)

    def search(self, queries: Tensor, k: int) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
        """Yield for each query: positions of similar nodes, best first, K̄, and whether all were compared.

        All are compared where the lists that were searched hold fewer than k.
        """
        # Near points rank nearly as K̄ does; less so where K̄ is a mean of other kernels than dot products.
        close = self.kernel.base.dot_product or len(self.kernel.embedded) == 1
        wanted = min(3 * k + 10 if close else 8 * k + 16, self.kernel.n_nodes)
        most = min(k, self.kernel.n_nodes - 1)
        self.inverted.nprobe = min(self.inverted.nlist, _SEARCHED * math.ceil(k / 10))
        for some in chunks(len(queries), max(1, _PAIRS // wanted)):
            report_progress("similar nodes", some.start, len(queries))
            rows = queries[some]
            # m × wanted, −1 where there are fewer
            nodes = self.inverted.search(self.points[rows.cpu().numpy()], wanted)[1]
            other = (nodes >= 0) & (nodes != rows.cpu().numpy()[:, None])
            found = torch.from_numpy(np.where(other, nodes, 0)).to(rows.device).view(-1)
            pairs = pair_values(self.kernel, rows.repeat_interleave(wanted), found)
            values = np.where(other, pairs.cpu().numpy().reshape(nodes.shape), -np.inf)
            best = np.lexsort((nodes, -values))[:, :most]
            row = np.arange(len(rows))[:, None]
            nodes, values = nodes[row, best], values[row, best]
            for i in range(len(rows)):
                if np.isfinite(values[i]).all():
                    yield nodes[i], values[i], False
                else:
                    yield from ((*one, True) for one in nearest(self.kernel, rows[i : i + 1], k))


def _points(kernel: NodeKernel) -> np.ndarray:
    """Return the nodes' vectors along their main axes, largest variance first: n × a in float32."""
    vectors = kernel.vectors_at(None)
    squares = (vectors.T @ vectors).double().cpu().numpy()
    axes = np.linalg.eigh(squares)[1][:, ::-1][:, :_AXES].astype(np.float32)
    return np.ascontiguousarray((vectors @ torch.from_numpy(axes).to(vectors)).cpu().numpy(), np.float32)


def _inverted_file(points: np.ndarray, dot_product: bool) -> Any:
    """Return FAISS's index of points: by dot products, or by distances."""
    try:
        import faiss
    except ImportError:
        sentence = "an index needs FAISS: pip install 'kernode[index]'."
        raise MissingExtraError(sentence, package="faiss", extra="index") from None
    n, width = points.shape
    centres = (faiss.IndexFlatIP if dot_product else faiss.IndexFlatL2)(width)
    lists = max(1, min(int(2 * math.sqrt(n)), n // _POINTS))
    made = faiss.IndexIVFFlat(centres, width, lists, centres.metric_type)
    made.cp.seed, made.cp.max_points_per_centroid = 1, 64
    made.train(points)
    made.add(points)
    return made
