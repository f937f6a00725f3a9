"""A learned kernel inside GPyTorch's Gaussian processes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.errors import InputError, MissingExtraError, bad_setting
from kernode.graph import positions
from kernode.graph.lookup import as_nodes
from kernode.kernels.node_kernel import NodeKernel

try:
    with warnings.catch_warnings():  # its import warns of a torch function that it still uses
        warnings.simplefilter("ignore", DeprecationWarning)
        from gpytorch.kernels import Kernel
except ImportError:  # so that this module can be imported without it
    Kernel = None
_Kernel: Any = Kernel or object


class GPKernel(_Kernel):
    """K(u, v) as a covariance of GPyTorch, on columns of node indices: (… × m × 1), (… × p × 1) → … × m × p.

    The map g stays as it was learned; what is around it (``ScaleKernel``, means, noise) learns as usual.
    Indices are positions, from 0, also where the nodes' names are integers. They come as floats, as GPyTorch
    has them: float32 tells nodes apart up to 16,777,216.

    >>> from kernode.kernels import Linear
    >>> plain = NodeKernel(Linear(), torch.tensor([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    >>> GPKernel(plain)(torch.tensor([[0.0], [2.0]])).to_dense()
    tensor([[9., 3.],
            [3., 2.]])
    """

    is_stationary = False

    def __init__(self, node_kernel: NodeKernel) -> None:
        if Kernel is None:
            sentence = "GPKernel needs GPyTorch: pip install 'kernode[gp]'."
            raise MissingExtraError(sentence, package="gpytorch", extra="gp")
        super().__init__()
        if not isinstance(node_kernel, NodeKernel):
            raise bad_setting("node_kernel", "a NodeKernel, as model.kernel_ is", type(node_kernel).__name__)
        self.node_kernel = node_kernel

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """K between columns of nodes, or between the i-th of one and the i-th of the other."""
        between = self.node_kernel.pairs_tensor if diag else self.node_kernel.gram_tensor
        batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        rows, columns = (self._nodes(x, batch) for x in (x1, x2))  # b × m, b × p
        values = torch.stack([between(u, v) for u, v in zip(rows, columns, strict=True)])
        dtype = x1.dtype if x1.is_floating_point() else values.dtype
        return values.view(*batch, *values.shape[1:]).to(x1.device, dtype)

    def _nodes(self, x: Tensor, batch: torch.Size) -> Tensor:
        """Indices in the columns of a batch: b × m."""
        if x.shape[-1] != 1:
            sentence = f"GPKernel takes one column of node indices. Got {x.shape[-1]} columns."
            raise InputError(sentence, "shape", expected=1, found=x.shape[-1])
        nodes = self.node_kernel.find(positions(as_nodes(x.detach().cpu().reshape(-1))))
        found = torch.from_numpy(np.asarray(nodes)).view(x.shape[:-1]).expand(*batch, x.shape[-2])
        return found.reshape(-1, x.shape[-2]).to(self.node_kernel.g.device)
