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

_CONSTANTS = ("bias_", "norm_shift_")  # parameters that add what no feature says


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
    def of(cls, outputs: NodeOutputs, row: Row, at: np.ndarray, target: Tensor) -> Words:
        """Of the nodes at some places of a row, for ⟨g(v), w⟩ with w (r × d)."""
        feature_map, place = outputs.map, outputs.place
        x = feature_map.features_of(outputs.graph, row.nodes[at], place)
        parameters = {
            name: value.detach().clone().requires_grad_() if name.startswith(_CONSTANTS) else value.detach()
            for name, value in outputs.parameters.items()
        }
        first = feature_map.first_product(parameters, x).detach().expand(-1, len(target), -1)
        first = first.clone().requires_grad_()  # a map without parameters gives one for all replicas
        z = feature_map.node_outputs(parameters, first)
        weights = row.coefficients[torch.from_numpy(at)].to(z)
        whole = torch.einsum("mrt,mrtd,rd->", weights, z.expand(*weights.shape, -1), target.to(z))
        constants = [value for value in parameters.values() if value.requires_grad]
        slopes, *of_constants = torch.autograd.grad(whole, [first, *constants], allow_unused=True)
        constant = torch.zeros(len(target), dtype=torch.float64)
        for value, slope in zip(constants, of_constants, strict=True):
            if slope is not None:
                constant += (value * slope).detach().sum(dim=1).cpu().double()
        entry, mean = parameters.get("weight_0"), parameters.get("column_mean")
        if mean is not None and entry is not None:
            entry = entry * parameters["column_scale"][..., None]
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
    return torch.einsum("rfw,frw->rf", entry, seen).cpu().double().numpy()


def _dense_rows(x: Tensor | SparseMatrix, count: int) -> Tensor:
    return top_rows(x.matrix, count).to_dense() if isinstance(x, SparseMatrix) else x[:count]
