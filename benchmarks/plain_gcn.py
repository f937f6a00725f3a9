"""The GCN that people begin with: PyTorch Geometric's example, two layers with dropout before each."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from experiments.bench.pyg import layers_of_pyg

EPOCHS, DROPOUT = 200, 0.5


class GCN(nn.Module):
    """Two of PyTorch Geometric's layers."""

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        convolution = layers_of_pyg().GCNConv
        self.first = convolution(features, hidden, cached=True)
        self.second = convolution(hidden, classes, cached=True)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """Class scores of all nodes."""
        x = functional.dropout(x, DROPOUT, self.training)
        x = functional.relu(self.first(x, edges))
        scores: torch.Tensor = self.second(functional.dropout(x, DROPOUT, self.training), edges)
        return scores
