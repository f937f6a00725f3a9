"""Graph attention as a feature map (the paper's g_GAT), with PyTorch Geometric's layers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional

from kernode.errors import InputError
from kernode.maps.base import check_widths
from kernode.maps.module import ModuleMap, torch_geometric_nn


@dataclass(frozen=True)
class GAT(ModuleMap):
    """Veličković et al. 2018: hidden layers of ``heads`` heads side by side, then one head.

    - ``hidden``: widths of the hidden layers, all heads together.
    - ``attention_dropout``: rate on the inputs of each layer and on the attention weights, as published.
    """

    hidden: tuple[int, ...] = (64,)
    outputs: int | None = None
    heads: int = 8
    attention_dropout: float = 0.6
    normalize_rows: bool = True

    def __post_init__(self) -> None:
        check_widths(self.hidden, self.outputs)
        if self.heads < 1 or any(width % self.heads for width in self.hidden):
            raise InputError(
                f"GAT's hidden widths must be multiples of its heads. Got {self.hidden} and {self.heads}."
            )

    def module(self, features: int, outputs: int) -> nn.Module:
        """Build the GATConv layers."""
        return _Attention((features, *self.hidden), outputs, self.heads, self.attention_dropout)


class _Attention(nn.Module):
    def __init__(self, widths: tuple[int, ...], outputs: int, heads: int, dropout: float) -> None:
        super().__init__()
        layer = torch_geometric_nn().GATConv
        self.hidden = nn.ModuleList(
            layer(width, wider // heads, heads, dropout=dropout) for width, wider in pairwise(widths)
        )
        self.last = layer(widths[-1], outputs, 1, dropout=dropout)
        self.dropout = dropout

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for layer in self.hidden:
            x = functional.dropout(x, self.dropout, self.training)
            x = functional.elu(layer(x, edge_index))
        x = functional.dropout(x, self.dropout, self.training)
        out: Tensor = self.last(x, edge_index)
        return out
