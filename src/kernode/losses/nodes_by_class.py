"""Training nodes sorted by class, for triplets and class means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class NodesByClass:
    """The training nodes sorted by class, for every replica: q × m, with q = 1 where all share them."""

    nodes: Tensor  # q × m node indices, sorted by class
    labels: Tensor  # q × m, ascending
    sizes: Tensor  # q × c training nodes in each class
    weights: Tensor | None = None  # q × m, above 0, in float64: weights of nodes; None: equal

    @classmethod
    def of(
        cls,
        nodes: np.ndarray,
        labels: np.ndarray,
        classes: int,
        device: torch.device,
        weights: np.ndarray | None = None,
    ) -> NodesByClass:
        """Sort nodes (q × m) by their labels (q × m), and their weights with them."""
        order = np.argsort(labels, axis=1, kind="stable")
        sizes = np.stack([np.bincount(row, minlength=classes) for row in labels])
        arrays = [np.take_along_axis(nodes, order, axis=1), np.sort(labels, axis=1), sizes]
        if weights is not None:
            arrays.append(np.take_along_axis(weights, order, axis=1))
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))

    @cached_property
    def starts(self) -> Tensor:
        """First position of each class: q × c."""
        return self.sizes.cumsum(dim=1) - self.sizes

    @cached_property
    def averaging(self) -> Tensor:
        """A matrix that takes the mean over each class: q × c × m, in float64. Empty classes give 0."""
        position = torch.arange(self.nodes.shape[1], device=self.nodes.device)
        inside = (position >= self.starts[..., None]) & (position < (self.starts + self.sizes)[..., None])
        if self.weights is None:
            return inside / self.sizes.clamp_min(1)[..., None].double()
        return inside * (self.weights / self.class_weights.gather(1, self.labels))[:, None]

    @cached_property
    def class_weights(self) -> Tensor:
        """Sum of the weights of each class: q × c, in float64."""
        if self.weights is None:
            return self.sizes.double()
        return torch.zeros_like(self.sizes, dtype=torch.float64).scatter_add_(1, self.labels, self.weights)
