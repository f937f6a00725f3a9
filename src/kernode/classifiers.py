"""From a learned map to class scores: nearest centroid C_K and softmax C_Y."""

from __future__ import annotations

import torch
from torch import Tensor

from kernode.errors import InputError
from kernode.kernels import BaseKernel, Parameters
from kernode.stack import replica, take
from kernode.triplets import Members

NO_SIMILARITY = -1e3  # to a class without training nodes: below every mean of K̄, but finite
GRAM_BLOCK = 2**24  # entries of a Gram matrix that are held at a time


def centroid_scores(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, members: Members, nodes: Tensor
) -> Tensor:
    """C_K: μ_y, the mean K̄ between a node and the training nodes of class y; r × m × c.

    g is r × n × d, nodes q × m. Their softmax is what :func:`probabilities` reports for C_K: a monotone
    reading of similarities, not a calibrated probability.
    """
    averaging = members.averaging.to(g.dtype)  # q × c × training nodes
    if kernel.dot_product:  # the mean of products is the product with the mean
        means = averaging @ kernel.embed(take(g, members.nodes))  # r × c × d
        scores = kernel.embed(take(g, nodes)) @ means.transpose(1, 2)
    else:
        embedded = kernel.embed(g)
        alone = (replica(parameters, i) for i in range(len(g)))
        scores = torch.cat(
            [
                _mean_similarities(kernel, own, embedded[i : i + 1], averaging, members, nodes, i)
                for i, own in enumerate(alone)
            ]
        )
    return scores.masked_fill((members.sizes == 0)[:, None], NO_SIMILARITY)


def _mean_similarities(
    kernel: BaseKernel,
    parameters: Parameters,
    embedded: Tensor,
    averaging: Tensor,
    members: Members,
    nodes: Tensor,
    i: int,
) -> Tensor:
    """One replica's μ_y, by Gram blocks."""
    mine = min(i, len(nodes) - 1), min(i, len(members.nodes) - 1)
    rows, training = embedded[:, nodes[mine[0]]], embedded[:, members.nodes[mine[1]]]
    by_class = averaging[mine[1]].T
    step = max(1, GRAM_BLOCK // training.shape[1])
    parts = [
        kernel.gram(rows[:, start : start + step], training, parameters) @ by_class
        for start in range(0, rows.shape[1], step)
    ]
    return torch.cat(parts, dim=1) if parts else rows.new_empty(1, 0, by_class.shape[1])


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
