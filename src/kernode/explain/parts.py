"""What each neighbour and each hop adds to numbers that are linear in g(v)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kernode.explain.node_outputs import NodeOutputs
from kernode.graph.neighbourhoods import spheres
from kernode.maps.base import Shares


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
