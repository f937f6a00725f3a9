"""From a learned map to class scores: nearest centroid C_K and softmax C_Y."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from kernode.compute.stack import Parameters, replica, take
from kernode.errors import InputError
from kernode.kernels import BaseKernel
from kernode.losses.triplets import Members

NO_SIMILARITY = -1e3  # to a class without training nodes: below every mean of K̄, but finite
GRAM_BLOCK = 2**24  # entries of a Gram matrix that are held at a time


def centroid_scores(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, members: Members, nodes: Tensor
) -> Tensor:
    """C_K: μ_y, the mean K̄ between a node and the training nodes of class y; r × m × c.

    g is r × n × d, nodes q × m. Their softmax is what :func:`probabilities` reports for C_K: a monotone
    reading of similarities, not a calibrated probability.
    """
    if kernel.dot_product:
        return reference_scores(kernel, parameters, take(g, nodes), references(kernel, g, members), members)
    embedded = kernel.embed(g)
    pairs = (
        (embedded[i : i + 1, _own(nodes, i)], embedded[i : i + 1, _own(members.nodes, i)])
        for i in range(len(g))
    )
    return _mean_similarities(kernel, parameters, pairs, members)


def references(kernel: BaseKernel, g: Tensor, members: Members) -> Tensor:
    """What C_K needs of the training nodes where they are not at hand, from g (r × n × d).

    Class means of what the kernel compares (r × c × d') where it is a dot product: the mean of products is
    the product with the mean. Else the training nodes' own g, class by class (r × m × d).
    """
    training = take(g, members.nodes)
    return members.averaging.to(g.dtype) @ kernel.embed(training) if kernel.dot_product else training


def reference_scores(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, held: Tensor, members: Members
) -> Tensor:
    """C_K of nodes with g (r × m × d) from what :func:`references` held: r × m × c."""
    embedded = kernel.embed(g)
    if kernel.dot_product:
        return _without_empty(embedded @ held.transpose(1, 2), members)
    training = kernel.embed(held)
    pairs = ((embedded[i : i + 1], training[i : i + 1]) for i in range(len(g)))
    return _mean_similarities(kernel, parameters, pairs, members)


def _mean_similarities(
    kernel: BaseKernel, parameters: Parameters, pairs: Iterable[tuple[Tensor, Tensor]], members: Members
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


def _without_empty(scores: Tensor, members: Members) -> Tensor:
    return scores.masked_fill((members.sizes == 0)[:, None], NO_SIMILARITY)


def class_scores(g: Tensor, class_bias: Tensor) -> Tensor:
    """C_Y: g itself plus one bias per class (which stays outside the kernel); r × m × c."""
    if g.shape[-1] != class_bias.shape[-1]:
        raise InputError(
            f"the softmax classifier needs one output per class ({class_bias.shape[-1]}). "
            f"Got {g.shape[-1]}: leave outputs unset, or use objective='kernel'."
        )
    return g + class_bias[:, None]


def probabilities(scores: Tensor) -> Tensor:
    """Softmax over classes."""
    return scores.softmax(dim=-1)
