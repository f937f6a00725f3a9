"""L_Y: cross-entropy of softmax(g(v))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from kernode.compute.draws import Draws
from kernode.compute.gpu import fused_sums
from kernode.compute.stack import Parameters, stacked_rows
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError, bad_setting
from kernode.kernels import BaseKernel
from kernode.losses.base import Loss, Settings
from kernode.losses.nodes_by_class import NodesByClass


class SoftmaxInputs(NamedTuple):
    """What L_Y holds while it is minimised."""

    labels: Tensor  # q × m
    weights: Tensor  # q × m


@dataclass(frozen=True)
class Softmax(Loss):
    """Mean cross-entropy of the training nodes.

    - ``class_weights``: "balanced" gives every class the same weight, whatever its size; not in the paper.
    """

    class_weights: Literal["balanced"] | None = None

    objective: ClassVar = "softmax"

    def __post_init__(self) -> None:
        if self.class_weights not in (None, "balanced"):
            raise bad_setting("class_weights", "'balanced' or None", self.class_weights)

    def prepare(self, nodes: NodesByClass, own: Settings, options: TensorOptions) -> SoftmaxInputs:
        """Labels, and what each node counts."""
        if nodes.weights is not None:
            weights = nodes.weights
            if self.class_weights:
                weights = weights / nodes.class_weights.gather(1, nodes.labels)
            return SoftmaxInputs(nodes.labels, (weights / weights.sum(dim=1, keepdim=True)).to(options.dtype))
        balanced = 1 / nodes.sizes.clamp_min(1).to(options.dtype) if self.class_weights else None
        return SoftmaxInputs(nodes.labels, node_weights(nodes.labels, balanced, options.dtype))

    def __call__(
        self, prepared: SoftmaxInputs, kernel: BaseKernel, parameters: Parameters, g: Tensor, draws: Draws
    ) -> dict[str, Tensor]:
        """L_Y on all training nodes."""
        loss = cross_entropy(class_scores(g, parameters["class_bias"]), prepared.labels, prepared.weights)
        return {"loss": loss, "softmax_loss": loss}


def class_scores(g: Tensor, class_bias: Tensor) -> Tensor:
    """C_Y: g itself plus one bias per class (which stays outside the kernel); r × m × c."""
    if g.shape[-1] != class_bias.shape[-1]:
        sentence = f"the softmax classifier needs one output per class ({class_bias.shape[-1]})."
        fix = f"Got {g.shape[-1]}: leave outputs unset, or use the objective kernel."
        raise InputError(f"{sentence} {fix}", "setting", setting="objective")
    return g + class_bias[:, None]


def node_weights(labels: Tensor, class_weights: Tensor | None, dtype: torch.dtype) -> Tensor:
    """What each node counts in L_Y (q × m): its share of the mean, or of the mean weighted by class (q × c).

    A label of −1 counts nothing.
    """
    if class_weights is None:
        return (labels >= 0).to(dtype) / max(1, labels.shape[1])
    weights = class_weights.gather(1, labels)
    return weights / weights.sum(dim=1, keepdim=True)


def cross_entropy(scores: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """L_Y: mean cross-entropy over r × m × c scores and (q × m) labels, q = 1 or r; a number per replica.

    ``weights`` come from :func:`node_weights`.
    """
    return _CrossEntropy.apply(scores, labels, weights)


class _CrossEntropy(torch.autograd.Function):
    """Torch's own is slow where rows are as short as classes are few."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        r, m, c = scores.shape
        if gpu := fused_sums(scores):
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
