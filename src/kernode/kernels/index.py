"""An approximate index of the nodes' vectors (FAISS), whose candidates are ranked by K itself.

It is an inverted file: nodes are in lists by the nearest of some centres, and the lists whose centres are
nearest to a node are searched. Vectors are projected onto their main axes, which is faster and finds as much:
the replicas of a model are similar. Centres come from a fixed seed: the same vectors give the same index.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.chunks import chunks
from kernode.errors import InputError, MissingExtraError
from kernode.kernels.nearest import nearest, pair_values
from kernode.progress import tell
from kernode.storage import complete, read_tensors, write_tensors

if TYPE_CHECKING:
    from kernode.kernels.node_kernel import NodeKernel

KIND = "index"
FROM_NODES = 10_000  # from benchmarks/similar.py: fewer are compared about as fast without an index
_LISTS = 2  # times √n
_SEARCHED = 16  # lists for ten nodes
_AXES = 48  # of vectors
_POINTS = 39  # nodes for each list: of fewer FAISS says that its centres mean little
_POINTS_ENOUGH = 64  # drawn for each list
_ROUNDS = 10  # of k-means
_PAIRS = 2**15  # of nodes that are ranked at a time


class StaleIndexError(InputError):
    """An index of another model or graph, or of an earlier state of it."""

    code = "conflict"


def is_installed() -> bool:
    """Return whether FAISS is installed."""
    return find_spec("faiss") is not None


@dataclass(frozen=True, eq=False, repr=False)
class NodeIndex:
    """Lists of nodes with K̄, and their centres."""

    kernel: NodeKernel = field(repr=False)  # K̄
    axes: np.ndarray  # r·d' × a
    centres: np.ndarray  # l × a
    lists: np.ndarray  # n: the list of each node

    @classmethod
    def of(cls, kernel: NodeKernel) -> NodeIndex:
        """Put the nodes of K̄ into lists."""
        if not kernel.base.grows:
            name = type(getattr(kernel.base, "kernel", kernel.base)).__name__
            raise InputError(
                f"an index needs a kernel that grows with the cosine of two vectors, and {name} does not say "
                "so (grows = True). Compare exactly, with every node.",
                "unsupported", setting="exact", kernel=name,
            )  # fmt: skip
        faiss = _faiss()
        axes = _main_axes(kernel)
        points = _points(kernel, axes)
        n, width = points.shape
        count = max(1, min(int(_LISTS * math.sqrt(n)), n // _POINTS))
        kmeans = faiss.Clustering(width, count)
        kmeans.niter, kmeans.seed, kmeans.max_points_per_centroid = 1, 1, _POINTS_ENOUGH
        centred = _flat(faiss, kernel, width)
        for done in range(_ROUNDS):  # each goes on from the centres of the one before
            tell("index", done, _ROUNDS)
            kmeans.train(points, centred)
        centres = faiss.vector_to_array(kmeans.centroids).reshape(count, width)
        lists = centred.search(points, 1)[1][:, 0]
        return cls(kernel, axes, centres, lists.astype(np.int32))

    def search(self, queries: Tensor, k: int) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
        """Yield for each query: positions of similar nodes, best first, K̄, and whether all were compared.

        All are compared where the lists that were searched hold fewer than k.
        """
        # Near points rank nearly as K̄ does; less so where K̄ is a mean of other kernels than dot products.
        close = self.kernel.base.dot_product or len(self.kernel.embedded) == 1
        wanted = min(3 * k + 10 if close else 8 * k + 16, self.kernel.n_nodes)
        most = min(k, self.kernel.n_nodes - 1)
        for some in chunks(len(queries), max(1, _PAIRS // wanted)):
            tell("similar nodes", some.start, len(queries))
            rows = queries[some]
            self._inverted.nprobe = min(len(self.centres), _SEARCHED * math.ceil(k / 10))
            # m × wanted, −1 where there are fewer
            nodes = self._inverted.search(self._at[rows.cpu().numpy()], wanted)[1]
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

    def save(self, path: str | Path, owner: dict[str, Any]) -> Path:
        """Write one file; ``owner``: the model and graph that it belongs to, as JSON values."""
        arrays = {"axes": self.axes, "centres": self.centres, "lists": self.lists}
        tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
        return write_tensors(path, KIND, tensors, {"owner": owner, "kernel": _kernel_digest(self.kernel)})

    @classmethod
    def read(cls, path: str | Path, kernel: NodeKernel, owner: dict[str, Any]) -> NodeIndex:
        """Read what :meth:`save` wrote for the same owner and K̄, or raise."""
        tensors, facts = read_tensors(path, KIND)
        if facts.get("owner") != owner or facts.get("kernel") != _kernel_digest(kernel):
            raise StaleIndexError(
                f"{path} is the index of another model or graph, or of an earlier state of it. "
                "Build the index again.",
                path=str(path),
            )
        with complete(Path(path)):
            axes, centres, lists = (tensors[name].numpy() for name in ("axes", "centres", "lists"))
            _require_fitting(kernel, axes, centres, lists)
        return cls(kernel, axes, centres, lists)

    @cached_property
    def _at(self) -> np.ndarray:
        """The nodes' vectors along the axes: n × a."""
        return _points(self.kernel, self.axes)

    @cached_property
    def _inverted(self) -> Any:
        """The index of FAISS, with the points in it."""
        faiss = _faiss()
        n, width = self._at.shape
        centred = _flat(faiss, self.kernel, width)
        centred.add(self.centres)
        made = faiss.IndexIVFFlat(centred, width, len(self.centres), centred.metric_type)
        assigned = self.lists.astype(np.int64)
        made.add_core(n, faiss.swig_ptr(self._at), None, faiss.swig_ptr(assigned))
        return made

    def __repr__(self) -> str:
        return f"NodeIndex({len(self.lists):,} nodes in {len(self.centres):,} lists)"


def _require_fitting(kernel: NodeKernel, axes: np.ndarray, centres: np.ndarray, lists: np.ndarray) -> None:
    """Raise unless a file's arrays fit each other and K̄: FAISS does not check them."""
    width, (r, n, d) = axes.shape[-1], kernel.embedded.shape
    if (axes.shape, centres.shape, lists.shape) != ((r * d, width), (len(centres), width), (n,)):
        raise ValueError("axes, centres and lists do not fit the model")
    if not 0 < width <= r * d or axes.dtype != np.float32 or centres.dtype != np.float32:
        raise ValueError("axes or centres are of another type")
    if lists.dtype != np.int32 or lists.min() < 0 or lists.max() >= len(centres):
        raise ValueError("a node is in a list that does not exist")
    if not np.isfinite(axes).all() or not np.isfinite(centres).all():
        raise ValueError("axes or centres are not finite")


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        sentence = "an index needs FAISS: pip install 'kernode[index]'."
        raise MissingExtraError(sentence, package="faiss", extra="index") from None
    return faiss


def _flat(faiss: Any, kernel: NodeKernel, width: int) -> Any:
    """Return a flat index: by dot products where K̄ is one, else by distances."""
    return (faiss.IndexFlatIP if kernel.base.dot_product else faiss.IndexFlatL2)(width)


def _main_axes(kernel: NodeKernel) -> np.ndarray:
    """Return the main axes of the vectors, largest variance first: r·d' × a."""
    vectors = kernel.vectors_at(None)
    squares = (vectors.T @ vectors).double().cpu().numpy()
    return np.linalg.eigh(squares)[1][:, ::-1][:, :_AXES].astype(np.float32)


def _points(kernel: NodeKernel, axes: np.ndarray) -> np.ndarray:
    """Return the nodes' vectors along axes: n × a in float32."""
    vectors = kernel.vectors_at(None)
    along = vectors @ torch.from_numpy(axes).to(vectors)
    return np.ascontiguousarray(along.cpu().numpy(), dtype=np.float32)


def _kernel_digest(kernel: NodeKernel) -> str:
    """Hash the base kernel, its parameters and the shape; the vectors' last bits depend on threads."""
    digest = hashlib.sha256(json.dumps(kernel.base.to_json(), sort_keys=True).encode())
    digest.update(repr(tuple(kernel.embedded.shape)).encode())
    for name, value in sorted(kernel.parameters.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
