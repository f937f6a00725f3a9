"""Jumping knowledge with concatenation (Xu et al. 2018), with PyTorch Geometric's model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from kernode.errors import InputError, MissingExtraError
from kernode.maps.base import ROWS, WIDTHS, check_widths
from kernode.maps.module import ModuleMap


@dataclass(frozen=True)
class JKConcat(ModuleMap):
    """Graph convolutions whose layers' outputs, side by side, go through one last linear layer.

    - ``hidden``: one width for each convolution, all the same.
    """

    hidden: tuple[int, ...] = (32, 32, 32)
    outputs: int | None = None
    inner_dropout: float = 0.5
    normalize_rows: bool = True

    edge_weight: ClassVar[bool] = False  # published for plain edges, and model files were trained on them
    search_space: ClassVar = {**WIDTHS, "inner_dropout": (0.2, 0.5, 0.8), **ROWS}

    def __post_init__(self) -> None:
        check_widths(self.hidden, self.outputs)
        if len(set(self.hidden)) != 1:
            raise InputError(
                f"JKConcat's convolutions must have one width. Got {self.hidden}.",
                "setting",
                setting="hidden",
                value=self.hidden,
            )

    @property
    def reach(self) -> int:
        """One edge for each convolution."""
        return len(self.hidden)

    def module(self, features: int, outputs: int) -> nn.Module:
        """PyTorch Geometric's GCN model with ``jk="cat"``."""
        model: nn.Module = torch_geometric_nn().GCN(
            features, self.hidden[0], len(self.hidden), outputs, dropout=self.inner_dropout, jk="cat"
        )
        return model


def torch_geometric_nn() -> Any:
    """Import PyTorch Geometric, or say how to get it."""
    try:
        with warnings.catch_warnings():  # its import warns of a torch function that it still uses
            warnings.simplefilter("ignore", DeprecationWarning)
            from torch_geometric import nn as layers
    except ImportError:
        raise MissingExtraError("this map needs PyTorch Geometric: pip install 'kernode[pyg]'.") from None
    return layers
