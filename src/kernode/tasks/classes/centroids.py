"""C_K, the nearest centroid. (C_Y is softmax of g itself: losses/softmax.py.)"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from kernode.compute.stack import Parameters, replica, take
from kernode.kernels import BaseKernel
from kernode.losses.nodes_by_class import NodesByClass

NO_SIMILARITY = -1e3  # to a class without training nodes: below every mean of K̄, but finite
GRAM_BLOCK = 2**24  # entries of a Gram matrix that are held at a time


def centroid_scores(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, members: NodesByClass, nodes: Tensor
) -> Tensor:
    """C_K: μ_y, the mean K̄ between a node and the training nodes of class y; r × m × c.

    g is r × n × d, nodes q × m. Their softmax is what C_K reports as probabilities, which a temperature then
    calibrates: similarities lie within [−1, 1], and would never be sure.
    """
    if kernel.dot_product:
        return reference_scores(kernel, parameters, take(g, nodes), references(kernel, g, members), members)
    embedded = kernel.embed(g)
    pairs = (
        (embedded[i : i + 1, _own(nodes, i)], embedded[i : i + 1, _own(members.nodes, i)])
        for i in range(len(g))
    )
    return _mean_similarities(kernel, parameters, pairs, members)


def references(kernel: BaseKernel, g: Tensor, members: NodesByClass) -> Tensor:
    """What C_K needs of the training nodes where they are not at hand, from g (r × n × d).

    Class means of what the kernel compares (r × c × d') where it is a dot product: the mean of products is
    the product with the mean. Else the training nodes' own g, class by class (r × m × d).
    """
    training = take(g, members.nodes)
    return members.averaging.to(g.dtype) @ kernel.embed(training) if kernel.dot_product else training


def reference_scores(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, held: Tensor, members: NodesByClass
) -> Tensor:
    """C_K of nodes with g (r × m × d) from what :func:`references` held: r × m × c."""
    embedded = kernel.embed(g)
    if kernel.dot_product:
        return _without_empty(embedded @ held.transpose(1, 2), members)
    training = kernel.embed(held)
    pairs = ((embedded[i : i + 1], training[i : i + 1]) for i in range(len(g)))
    return _mean_similarities(kernel, parameters, pairs, members)


def _mean_similarities(
    kernel: BaseKernel, parameters: Parameters, pairs: Iterable[tuple[Tensor, Tensor]], members: NodesByClass
) -> Tensor:
    """μ_y by Gram blocks, one replica after another: of its nodes with its training nodes."""
    scores = []
    for i, (rows, training) in enumerate(pairs):
        by_class = _own(members.averaging, i).to(rows.dtype).T
        step = max(1, GRAM_BLOCK // training.shape[1])
        parts = [
            kernel.gram(rows[:, start : start + step], training, replica(parameters, i)) @ by_class
            for start in range(0, rows.shape[1], step)
        ]
        scores.append(torch.cat(parts, dim=1) if parts else rows.new_empty(1, 0, by_class.shape[1]))
    return _without_empty(torch.cat(scores), members)


def _own(by_replica: Tensor, i: int) -> Tensor:
    """Replica i's entry of a tensor that has one for each, or one for all."""
    return by_replica[min(i, len(by_replica) - 1)]


def _without_empty(scores: Tensor, members: NodesByClass) -> Tensor:
    return scores.masked_fill((members.sizes == 0)[:, None], NO_SIMILARITY)
