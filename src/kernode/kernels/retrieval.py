"""How well K̄ finds nodes of one's own class."""

from __future__ import annotations

from torch import Tensor

from kernode.compute.stack import Parameters
from kernode.kernels.base import BaseKernel
from kernode.kernels.normalized import normalized
from kernode.metrics.retrieval import retrieval_by_blocks


def kernel_retrieval(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, labels: Tensor, k: int = 10
) -> tuple[Tensor, Tensor]:
    """Mean average precision and precision at k of K̄ among m nodes with g (r × m × d): r each, in percent."""
    kernel = normalized(kernel)
    x = kernel.embed(g).contiguous()
    return retrieval_by_blocks(lambda rows: kernel.gram(x[:, rows], x, parameters), len(g), labels, k)
