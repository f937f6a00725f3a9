"""How well K̄ finds nodes of one's own class."""

from __future__ import annotations

from torch import Tensor

from kernode.compute.stack import Parameters, replica
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


def retrieval_together(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, labels: Tensor, k: int = 10
) -> tuple[float, float]:
    """The same figures of the mean of all replicas' K̄, which is the kernel that a model answers with."""
    kernel = normalized(kernel)
    x = kernel.embed(g).contiguous()

    def mean(rows: slice) -> Tensor:
        total = kernel.gram(x[:1, rows], x[:1], replica(parameters, 0))
        for i in range(1, len(x)):  # one at a time: all of them would be as many times as large
            total += kernel.gram(x[i : i + 1, rows], x[i : i + 1], replica(parameters, i))
        return total / len(x)

    precision, at_k = retrieval_by_blocks(mean, 1, labels, k)
    return float(precision[0]), float(at_k[0])
