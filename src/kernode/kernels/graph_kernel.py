"""From node kernels to a kernel on whole graphs (Eq. 1)."""

from __future__ import annotations

from kernode.compute.stack import replica
from kernode.errors import InputError
from kernode.kernels.node_kernel import NodeKernel


def graph_kernel(one: NodeKernel, other: NodeKernel, block: int = 1024) -> float:
    """K_G(G_i, G_j) = Σ Σ k_base(f(v_i), f(v_j)) over all nodes of two graphs (Eq. 1).

    >>> import torch
    >>> from kernode.kernels import Linear
    >>> small = NodeKernel(Linear(), torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    >>> graph_kernel(small, small)
    5.0
    """
    if one.base != other.base or len(one.embedded) != len(other.embedded):
        raise InputError("a graph kernel needs the same base kernel and the same replicas on both graphs.")
    total = 0.0
    for i in range(len(one.embedded)):
        x, y = one.embedded[i : i + 1], other.embedded[i : i + 1]
        if one.base.dot_product:  # the sum of all products is the product of the sums
            total += float((x.sum(dim=1) * y.sum(dim=1)).sum())
            continue
        for start in range(0, x.shape[1], block):
            total += float(one.base.gram(x[:, start : start + block], y, replica(one.parameters, i)).sum())
    return total / len(one.embedded)
