"""Base kernels, one file each, and the node kernel K(u, v) = k_base(g(u), g(v)) made of one and a map."""

from kernode.kernels.base import BaseKernel
from kernode.kernels.combinations import Product, Sum
from kernode.kernels.graph_kernel import graph_kernel
from kernode.kernels.linear import Linear
from kernode.kernels.node_kernel import NodeKernel
from kernode.kernels.normalized import Normalized, normalized
from kernode.kernels.polynomial import Polynomial
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
