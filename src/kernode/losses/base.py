"""What is minimised: the kernel loss L_K on triplets or pairs, the softmax loss L_Y.

Every loss is a mean, one number per replica (the paper writes sums; its released code takes means).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from kernode.compute.fused import fused
from kernode.compute.stack import Parameters, stacked_rows
from kernode.kernels import BaseKernel
from kernode.losses.triplets import Triplets


def triplet_hinge(positive: Tensor, negative: Tensor, margin: Tensor | float) -> Tensor:
    """L_K (Eqs. 9-10): mean of [K(a, n) − K(a, p) + α]₊ over r × t triplets; α is one number per replica.

    >>> triplet_hinge(torch.tensor([[0.9, 0.2]]), torch.tensor([[0.1, 0.6]]), 0.1)
    tensor([0.2500])
    """
    margins = torch.as_tensor(margin, dtype=positive.dtype, device=positive.device).view(-1, 1)
    return torch.relu(negative - positive + margins).mean(dim=1)


def squared_pairs(kernel: Tensor, similarity: Tensor | float) -> Tensor:
    """Pair loss ℓ(K, s_G) = (K − s_G)² of Eqs. 3-4, mean over r × t pairs; s_G = ±1 (Eq. 8)."""
    return (kernel - similarity).square().mean(dim=1)


def logistic_pairs(kernel: Tensor, similarity: Tensor | float) -> Tensor:
    """Pair loss ℓ(K, s_G) = log(1 + exp(−s_G K)) of Eqs. 3-4, mean over r × t pairs; s_G = ±1 (Eq. 8)."""
    return functional.softplus(-similarity * kernel).mean(dim=1)


def squared_loss(positive: Tensor, negative: Tensor, margin: Tensor | float) -> Tensor:
    """Squared pair loss on both pairs of a triplet; it has no margin."""
    return (squared_pairs(positive, 1.0) + squared_pairs(negative, -1.0)) / 2


def logistic_loss(positive: Tensor, negative: Tensor, margin: Tensor | float) -> Tensor:
    """Logistic pair loss on both pairs of a triplet; it has no margin."""
    return (logistic_pairs(positive, 1.0) + logistic_pairs(negative, -1.0)) / 2


KERNEL_LOSSES = {"hinge": triplet_hinge, "squared": squared_loss, "logistic": logistic_loss}


def kernel_loss(
    name: str,
    kernel: BaseKernel,
    parameters: Parameters,
    embedded: Tensor,
    triplets: Triplets,
    margin: Tensor,
) -> Tensor:
    """L_K of a kernel on triplets among embedded training nodes (r × m × d'): one number per replica."""
    if name == "hinge" and kernel.dot_product:
        return _DotHinge.apply(embedded, triplets, margin)
    rows = stacked_rows(embedded)
    t, r = triplets.anchor.shape
    anchor, positive, negative = (
        rows.index_select(0, at.reshape(-1)).view(t, r, -1).transpose(0, 1) for at in triplets
    )
    near, far = kernel.pairs(anchor, positive, parameters), kernel.pairs(anchor, negative, parameters)
    return KERNEL_LOSSES[name](near, far, margin)


class _DotHinge(torch.autograd.Function):
    """The hinge on dot products: ⟨a, n⟩ − ⟨a, p⟩ = ⟨a, n − p⟩, and satisfied triplets have no gradient.

    Autograd's own way gathers and scatters every row several times.
    """

    @staticmethod
    def forward(ctx: Any, embedded: Tensor, triplets: Triplets, margin: Tensor) -> Tensor:
        rows = stacked_rows(embedded)
        ctx.shape = embedded.shape
        if gpu := fused(rows):
            loss, gradient = gpu.dot_hinge(rows, triplets, margin)
            ctx.save_for_backward(gradient)
            return loss
        t, r = triplets.anchor.shape
        at = [nodes.reshape(-1) for nodes in triplets]
        anchor = rows.index_select(0, at[0])
        across = rows.index_select(0, at[2]).sub_(rows.index_select(0, at[1]))
        ones = rows.new_ones(rows.shape[1])  # a product with ones sums short rows faster than sum() does
        hinges = ((anchor * across) @ ones).view(t, r).add_(margin).clamp_min_(0)
        ctx.save_for_backward(anchor, across, hinges, *at)
        return hinges.mean(dim=0)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor, None, None]:
        r, m, d = ctx.shape
        if len(ctx.saved_tensors) == 1:
            (gradient,) = ctx.saved_tensors
            return (gradient.view(m, r, d) * upstream[0][:, None]).transpose(0, 1), None, None
        anchor, across, hinges, *at = ctx.saved_tensors
        active = hinges.view(-1).nonzero()[:, 0]
        if len(active) < hinges.numel():
            anchor, across, *at = (rows.index_select(0, active) for rows in (anchor, across, *at))
        gradient = anchor.new_zeros(m * r, d)
        gradient.index_add_(0, at[0], across).index_add_(0, at[2], anchor).index_add_(
            0, at[1], anchor, alpha=-1
        )
        scale = upstream[0] / len(hinges)
        return (gradient.view(m, r, d) * scale[:, None]).transpose(0, 1), None, None


def node_weights(labels: Tensor, class_weights: Tensor | None, dtype: torch.dtype) -> Tensor:
    """What each node counts in L_Y (q × m): its share of the mean, or of the mean weighted by class (q × c).

    A label of −1 counts nothing.
    """
    if class_weights is None:
        return (labels >= 0).to(dtype) / max(1, labels.shape[1])
    weights = class_weights.gather(1, labels)
    return weights / weights.sum(dim=1, keepdim=True)


def softmax_loss(scores: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """L_Y: mean cross-entropy over r × m × c scores and (q × m) labels, q = 1 or r; a number per replica.

    ``weights`` come from :func:`node_weights`.
    """
    weights = node_weights(labels, None, scores.dtype) if weights is None else weights
    return _CrossEntropy.apply(scores, labels, weights)


class _CrossEntropy(torch.autograd.Function):
    """Torch's own is slow where rows are as short as classes are few."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        r, m, c = scores.shape
        if gpu := fused(scores):
            losses, gradient = gpu.cross_entropy(scores.transpose(0, 1), labels, weights)
            ctx.save_for_backward(gradient)
            return losses
        flat = stacked_rows(scores)
        label = labels.clamp_min(0).T.expand(m, r).reshape(-1, 1)
        weight = weights.T.expand(m, r).reshape(-1, 1)
        shifted = flat - flat.amax(dim=1, keepdim=True)
        own = shifted.gather(1, label)
        exponential = shifted.exp_()
        total = (exponential @ scores.new_ones(c))[:, None]
        ctx.save_for_backward(exponential, total, label, weight)
        return ((total.log() - own) * weight).view(m, r).sum(dim=0)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor, None, None]:
        if len(ctx.saved_tensors) == 1:
            return (ctx.saved_tensors[0] * upstream[0][:, None]).transpose(0, 1), None, None
        exponential, total, label, weight = ctx.saved_tensors
        r = len(upstream[0])
        weight = (weight.view(-1, r) * upstream[0]).view(-1, 1)
        gradient = exponential * (weight / total)
        gradient.scatter_add_(1, label, weight.neg_())
        return gradient.view(-1, r, gradient.shape[1]).transpose(0, 1), None, None
