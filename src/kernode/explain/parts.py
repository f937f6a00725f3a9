"""Exact sums: what each neighbour, hop, feature and pair of neighbours adds to numbers linear in g(v).

With its active units held, and LayerNorm's deviations, an MLP is linear in x and in its biases. So what a
node adds splits into features and one constant, without a remainder. A feature's part says what it adds as
the network stands, not what would happen without it: units could switch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from kernode.compute.chunks import chunks
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix, top_rows
from kernode.compute.stack import Parameters
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.neighbourhoods import spheres
from kernode.maps import FeatureMap
from kernode.maps.hop_mlp import HopSum, Shares
from kernode.maps.layers.mlp import first_layer

_NODES = 2**12  # at a time: wide hidden layers of many replicas are held of no more
_MOST = 0.1  # of all nodes: beyond, those of the whole graph are computed once and kept
_AT_A_TIME = 2**22  # products of pairs


@dataclass(frozen=True)
class NodeOutputs:
    """z_t(u) of any nodes of a graph, for a stack of r replicas."""

    map: HopSum
    parameters: Parameters
    graph: Graph
    place: Place
    replicas: int

    @torch.no_grad()
    def __call__(self, nodes: np.ndarray) -> Tensor:
        """k × r × t × d, or k × r × 1 × d where all terms share it."""
        if len(nodes) <= _MOST * self.graph.n_nodes:
            return self._computed(nodes)
        return self._all[torch.from_numpy(nodes)]

    @cached_property
    def term_weights(self) -> Tensor:
        """ω_t: r × t, in float64."""
        weights = self.map.term_weights(self.parameters, self.replicas, self.place)
        return weights.detach().expand(self.replicas, -1).cpu().double()

    @cached_property
    def _all(self) -> Tensor:
        return self._computed(np.arange(self.graph.n_nodes))

    def _computed(self, nodes: np.ndarray) -> Tensor:
        parts = []
        for some in chunks(len(nodes), _NODES):
            x = self.map.features_of(self.graph, nodes[some], self.place)
            first = first_layer(self.parameters, x)
            parts.append(self.map.node_outputs(self.parameters, first).cpu())
        return torch.cat(parts).expand(-1, self.replicas, -1, -1)


def require_sum(feature_map: FeatureMap) -> HopSum:
    """The map as a sum over neighbours, or a sentence where it is none."""
    if isinstance(feature_map.unwrapped, HopSum):
        return feature_map.unwrapped
    raise InputError(
        f"{type(feature_map).__name__} is not a sum over neighbours: what one of them adds depends on the "
        "others, and there is no exact explanation. Train with HopMLP, Diffusion or HopNet, as the default "
        "and the paper's variants do.",
        "unsupported", map=type(feature_map).__name__,
    )  # fmt: skip


@dataclass(frozen=True)
class Row:
    """g(v) of one node, taken apart: Σ_u Σ_t A_t(u) z_t(u)."""

    node: int
    shares: Shares
    coefficients: Tensor  # k × r × t: A = ω a, in float64
    z: Tensor  # k × r × t × d, or k × r × 1 × d

    @classmethod
    def of(cls, outputs: NodeOutputs, node: int) -> Row:
        """Look no further than the map reaches."""
        shares = outputs.map.shares(outputs.graph, node)
        coefficients = torch.from_numpy(shares.values.T)[:, None] * outputs.term_weights
        return cls(node, shares, coefficients, outputs(shares.nodes))

    @property
    def nodes(self) -> np.ndarray:
        """Whose features g(v) is made of: k."""
        return self.shares.nodes

    def vectors(self) -> Tensor:
        """What each node adds to g(v): k × r × d, in float64."""
        if self.z.shape[2] == 1:
            return self.coefficients.sum(dim=2)[..., None] * self.z[:, :, 0].double()
        return torch.einsum("krt,krtd->krd", self.coefficients, self.z.double())

    def g(self) -> Tensor:
        """g(v): r × d, in float64."""
        return self.vectors().sum(dim=0)


@dataclass(frozen=True)
class Parts:
    """q numbers that are linear in g(v), of each of r replicas, as sums."""

    by_node: np.ndarray  # r × k × q
    by_hop: np.ndarray  # r × t × q

    @classmethod
    def of(cls, row: Row, targets: Tensor) -> Parts:
        """The numbers ⟨g(v), w⟩ of some vectors w: r × d × q."""
        z = row.z.double()
        if z.shape[2] == 1:
            seen = torch.bmm(z[:, :, 0].transpose(0, 1), targets)  # r × k × q
            by_term = row.coefficients.permute(1, 2, 0)  # r × t × k
            return cls((by_term.sum(dim=1)[..., None] * seen).numpy(), torch.bmm(by_term, seen).numpy())
        seen = torch.einsum("krtd,rdq->krtq", z, targets) * row.coefficients[..., None]
        return cls(seen.sum(dim=2).transpose(0, 1).numpy(), seen.sum(dim=0).numpy())

    @property
    def whole(self) -> np.ndarray:
        """The numbers themselves: r × q."""
        total: np.ndarray = self.by_node.sum(axis=1)
        return total


def distances(outputs: NodeOutputs, row: Row) -> np.ndarray:
    """How many edges away each node of a row is: k."""
    hops, powers = row.shares.hops, getattr(outputs.map, "powers", "plain")
    if powers != "released" and set(hops) == set(range(max(hops) + 1)):
        # Every hop has a term, and none reaches farther than its hop: the first that reaches a node tells.
        reached = np.where(row.shares.values != 0, np.array(hops)[:, None], max(hops))
        return reached.min(axis=0)
    found = np.zeros(len(row.nodes), np.int64)
    for distance, sphere in enumerate(spheres(outputs.graph, [row.node], max(row.shares.hops))):
        found[np.searchsorted(row.nodes, sphere)] = distance
    return found


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """Where the values of largest magnitude stand, the largest first, of equals the first: … × k → … × count.

    >>> largest(np.array([[1.0, -2.0, 2.0], [0.0, 0.0, 1.0]]), 2).tolist()
    [[1, 2], [2, 0]]
    """
    return np.argsort(-np.abs(values), kind="stable")[..., :count]


@dataclass(frozen=True)
class Contributions:
    """What the features of m nodes add to one number, of each of r replicas."""

    by_feature: np.ndarray  # r × f: of all m nodes together
    constant: np.ndarray  # r: of biases
    slopes: Tensor  # m × r × width: what a unit of the first layer's product adds
    entry: Tensor  # r × f × width: from features to that product
    mean: Tensor | None  # r × f: what is subtracted from each feature before
    x: Tensor | SparseMatrix  # m × f

    @classmethod
    @torch.no_grad()
    def of(cls, outputs: NodeOutputs, row: Row, at: np.ndarray, target: Tensor) -> Contributions:
        """Of the nodes at some places of a row, for ⟨g(v), w⟩ with w (r × d)."""
        parameters, nodes = outputs.parameters, row.nodes[at]
        x = outputs.map.features_of(outputs.graph, nodes, outputs.place)
        first = first_layer(parameters, x).expand(-1, outputs.replicas, -1)
        weights = row.coefficients[torch.from_numpy(at)]  # m × r × t
        if row.z.shape[2] == 1:
            weights = weights.sum(dim=2, keepdim=True)
        towards = (weights[..., None] * target[:, None]).to(first)  # m × r × t × d, or m × r × 1 × d
        slopes, constant = outputs.map.pull_back(parameters, first, towards)
        entry, mean = parameters["weight_0"], parameters.get("column_mean")
        if mean is not None:
            entry = entry * parameters["column_scale"][..., None]
        by_feature = _by_feature(x, slopes, entry, mean).cpu().double().numpy()
        return cls(by_feature, constant.cpu().double().numpy(), slopes, entry, mean, x)

    def of_nodes(self, count: int) -> np.ndarray:
        """What each feature of the first so many nodes adds, node by node: count × r × f."""
        rows = (
            top_rows(self.x.matrix, count).to_dense() if isinstance(self.x, SparseMatrix) else self.x[:count]
        )
        x = rows[:, None]  # count × 1 × f
        slopes = self.slopes[:count]
        seen = torch.bmm(slopes.transpose(0, 1), self.entry.transpose(1, 2)).transpose(0, 1)
        return (seen * (x if self.mean is None else x - self.mean)).cpu().double().numpy()


def _by_feature(x: Tensor | SparseMatrix, slopes: Tensor, entry: Tensor, mean: Tensor | None) -> Tensor:
    """What each feature of all m nodes together adds: r × f."""
    m, r, width = slopes.shape
    transposed = x.transpose if isinstance(x, SparseMatrix) else x.T
    seen = (transposed @ slopes.reshape(m, r * width)).view(-1, r, width)  # f × r × width
    if mean is not None:
        seen = seen - mean.T[..., None] * slopes.sum(dim=0)
    return (entry.transpose(0, 1) * seen).sum(dim=2).T


@dataclass(frozen=True)
class Pairs:
    """The largest of the k × l pairs, by the magnitude of their mean over replicas."""

    left: np.ndarray  # p: places among the left node's parts
    right: np.ndarray  # p
    values: np.ndarray  # r × p

    @classmethod
    def of(cls, left: Tensor, right: Tensor, count: int) -> Pairs:
        """Of parts a (k × r × d) and b (l × r × d), with ⟨a, b⟩ of each replica.

        No pair is larger than the product of two norms. So parts are taken by their norms, the longest first,
        and each is paired only with those that could still make one of the largest.
        """
        k, r, d = left.shape
        a, b = left.reshape(k, r * d) / r, right.reshape(-1, r * d)  # then ⟨a, b⟩ is the mean over replicas
        (of_a, by_a), (of_b, by_b) = (x.norm(dim=1).sort(descending=True, stable=True) for x in (a, b))
        a, b, least, start = a[by_a], b[by_b], 0.0, 0
        best = [a.new_empty(0), by_a.new_empty(0), by_b.new_empty(0)]  # values, and where: rows, columns
        while start < k and (partners := int((of_b * of_a[start] >= least).sum())):
            step = max(1, _AT_A_TIME // partners)
            products = a[start : start + step] @ b[:partners].T
            some = torch.topk(products.abs().flatten(), min(count, products.numel())).indices
            rows, columns = some // partners, some % partners
            found = products[rows, columns], rows + start, columns
            joined = [torch.cat(both) for both in zip(best, found, strict=True)]
            order = torch.argsort(joined[0].abs(), descending=True, stable=True)[:count]
            best = [one[order] for one in joined]
            least = float(best[0][-1].abs()) if len(order) == count else 0.0
            start += step
        i, j = by_a[best[1]], by_b[best[2]]
        return cls(i.numpy(), j.numpy(), (left[i] * right[j]).sum(dim=2).T.numpy())
