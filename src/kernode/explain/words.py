"""From neighbours to features: what each feature of each node adds, through the active units of the MLP.

With its active units held, and LayerNorm's deviations, an MLP is linear in x and in its biases. So what a
node adds splits into features and one constant, without a remainder. A feature's part says what it adds as
the network stands, not what would happen without it: units could switch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kernode.compute.sparse import SparseMatrix, top_rows
from kernode.explain.node_outputs import NodeOutputs
from kernode.explain.parts import Row


@dataclass(frozen=True)
class Words:
    """What the features of m nodes add to one number, of each of r replicas."""

    by_feature: np.ndarray  # r × f: of all m nodes together
    constant: np.ndarray  # r: of biases
    slopes: Tensor  # m × r × width: what a unit of the first layer's product adds
    entry: Tensor | None  # r × f × width: from features to that product; None: they are the same
    mean: Tensor | None  # r × f: what is subtracted from each feature before
    x: Tensor | SparseMatrix  # m × f

    @classmethod
    @torch.no_grad()
    def of(cls, outputs: NodeOutputs, row: Row, at: np.ndarray, target: Tensor) -> Words:
        """Of the nodes at some places of a row, for ⟨g(v), w⟩ with w (r × d)."""
        parameters, nodes = outputs.parameters, row.nodes[at]
        x = outputs.map.features_of(outputs.graph, nodes, outputs.place)
        first = outputs.first_product(nodes, x)
        weights = row.coefficients[torch.from_numpy(at)]  # m × r × t
        if row.z.shape[2] == 1:
            weights = weights.sum(dim=2, keepdim=True)
        towards = (weights[..., None] * target[:, None]).to(first)  # m × r × t × d, or m × r × 1 × d
        slopes, constant = outputs.map.pull_back(parameters, first, towards)
        entry, mean = parameters.get("weight_0"), parameters.get("column_mean")
        if mean is not None and entry is not None:
            entry = entry * parameters["column_scale"][..., None]
        constant = constant.cpu().double()
        return cls(_by_feature(x, slopes, entry, mean), constant.numpy(), slopes, entry, mean, x)

    def of_nodes(self, count: int) -> np.ndarray:
        """What each feature of the first so many nodes adds, node by node: count × r × f."""
        x = _dense_rows(self.x, count)[:, None]  # count × 1 × f
        slopes = self.slopes[:count]
        if self.entry is None:
            return (slopes * x).cpu().double().numpy()
        seen = torch.bmm(slopes.transpose(0, 1), self.entry.transpose(1, 2)).transpose(0, 1)
        return (seen * (x if self.mean is None else x - self.mean)).cpu().double().numpy()


def _by_feature(
    x: Tensor | SparseMatrix, slopes: Tensor, entry: Tensor | None, mean: Tensor | None
) -> np.ndarray:
    m, r, width = slopes.shape
    if entry is None:
        dense = x.matrix.to_dense() if isinstance(x, SparseMatrix) else x
        return (dense[:, None] * slopes).sum(dim=0).cpu().double().numpy()
    transposed = x.transpose if isinstance(x, SparseMatrix) else x.T
    seen = (transposed @ slopes.reshape(m, r * width)).view(-1, r, width)  # f × r × width
    if mean is not None:
        seen = seen - mean.T[..., None] * slopes.sum(dim=0)
    return (entry.transpose(0, 1) * seen).sum(dim=2).T.cpu().double().numpy()


def _dense_rows(x: Tensor | SparseMatrix, count: int) -> Tensor:
    return top_rows(x.matrix, count).to_dense() if isinstance(x, SparseMatrix) else x[:count]
