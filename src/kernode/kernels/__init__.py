"""Base kernels, and the node kernel K(u, v) = k_base(g(u), g(v)) of a base kernel and a map."""

from kernode.kernels.base import BaseKernel, Product, Sum
from kernode.kernels.linear import Linear, Polynomial
from kernode.kernels.node_kernel import NodeKernel, graph_kernel
from kernode.kernels.normalized import Normalized, normalized
from kernode.kernels.rbf import RBF

__all__ = [
    "RBF",
    "BaseKernel",
    "Linear",
    "NodeKernel",
    "Normalized",
    "Polynomial",
    "Product",
    "Sum",
    "graph_kernel",
    "normalized",
]
