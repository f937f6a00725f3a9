"""What is minimised: the kernel loss L_K on triplets or pairs, the softmax loss L_Y.

Every loss is a mean, one number per replica (the paper writes sums; its released code takes means).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


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


def softmax_loss(scores: Tensor, labels: Tensor, class_weights: Tensor | None = None) -> Tensor:
    """L_Y: mean cross-entropy over r × m × c scores and (q × m) labels, q = 1 or r; a number per replica.

    ``class_weights`` (q × c) weigh each node by its class. A label of −1 adds nothing.
    """
    r, m, c = scores.shape
    labels = labels.expand(r, m)
    by_node = functional.cross_entropy(
        scores.transpose(0, 1).reshape(m * r, c), labels.T.reshape(-1), reduction="none", ignore_index=-1
    ).view(m, r)
    if class_weights is None:
        return by_node.mean(dim=0)
    weights = class_weights.expand(r, c).gather(1, labels).T
    return (by_node * weights).sum(dim=0) / weights.sum(dim=0)
