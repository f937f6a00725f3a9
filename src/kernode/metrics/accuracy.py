"""How good answers are. Accuracies are percentages, everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor


def accuracy(scores: Tensor, labels: Tensor) -> Tensor:
    """Percent of nodes whose highest score is their class: (… × m × c), (… × m) → …, in float64.

    >>> import torch
    >>> accuracy(torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]), torch.tensor([0, 1, 1, 1]))
    tensor(75., dtype=torch.float64)
    """
    return 100 * (scores.argmax(dim=-1) == labels).double().mean(dim=-1)


def mean_and_std(values: Any) -> tuple[float, float]:
    """Mean and sample standard deviation; the spread of a single run is 0."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
