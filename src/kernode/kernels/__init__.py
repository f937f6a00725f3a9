"""Base kernels, and the node kernel K(u, v) = k_base(g(u), g(v)) of a base kernel and a map."""

from kernode.hops.spectral import GraphDiffusion, GraphKernel, GraphMatern, RegularizedLaplacian
from kernode.kernels.base import BaseKernel, Product, Sum
from kernode.kernels.covariance import (
    Covariance,
    CovarianceProduct,
    CovarianceSum,
    FeatureCovariance,
    GraphCovariance,
)
from kernode.kernels.linear import Linear, Polynomial
from kernode.kernels.matern import Matern
from kernode.kernels.node_kernel import NodeKernel, graph_kernel
from kernode.kernels.normalized import Normalized, normalized
from kernode.kernels.rbf import RBF

__all__ = [
    "RBF",
    "BaseKernel",
    "Covariance",
    "CovarianceProduct",
    "CovarianceSum",
    "FeatureCovariance",
    "GraphCovariance",
    "GraphDiffusion",
    "GraphKernel",
    "GraphMatern",
    "Linear",
    "Matern",
    "NodeKernel",
    "Normalized",
    "Polynomial",
    "Product",
    "RegularizedLaplacian",
    "Sum",
    "graph_kernel",
    "normalized",
]
