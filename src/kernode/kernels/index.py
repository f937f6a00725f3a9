"""An approximate index of the nodes' vectors (FAISS), whose candidates are ranked by K itself.

It is an inverted file: nodes are in lists by the nearest of some centres, and the lists whose centres are
nearest to a node are searched. Vectors are projected onto their main axes, which is faster and finds as much:
the replicas of a model are similar. Centres come from a fixed seed: the same vectors give the same index.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.chunks import chunks
from kernode.errors import InputError, MissingExtraError
from kernode.kernels.nearest import nearest, pair_values
from kernode.progress import tell

if TYPE_CHECKING:
    from kernode.kernels.node_kernel import NodeKernel

FROM_NODES = 10_000  # from benchmarks/similar.py: fewer are compared about as fast without an index
_SEARCHED = 16  # lists for ten nodes
_AXES = 48  # of vectors
_POINTS = 39  # nodes for each list: of fewer FAISS says that its centres mean little
_PAIRS = 2**15  # of nodes that are ranked at a time


class NodeIndex:
    """The nodes of K̄ in lists by k-means, 2√n of them."""

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
            tell("similar nodes", some.start, len(queries))
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
