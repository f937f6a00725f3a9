"""Features diffused by personalised PageRank after an MLP: GPRGNN and APPNP."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal

import torch
from torch import Tensor

from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_setting
from kernode.hops import Powers
from kernode.maps.base import HOPS, ROWS, WIDTHS
from kernode.maps.hop_mlp import HopSum


@dataclass(frozen=True)
class Diffusion(HopSum):
    """``g(V) = Σ_h ω_h Ā^h MLP(X)``, where ω is that of personalised PageRank, or is learned from there.

    ``ω_h = a(1 − a)^h``, and ``(1 − a)^H`` for the last. With learned weights it is GPRGNN (Chien et al.
    2021), with fixed ones and without biases APPNP (Gasteiger et al. 2019).

    - ``teleport``: a.
    - ``hop_weights``: ``"learned"`` or ``"pagerank"``.
    - ``biases``: whether the MLP's hidden layers have biases.
    - ``hidden``, ``outputs``, ``hops``, ``powers``, ``normalize_rows``: as in :class:`~kernode.maps.HopMLP`.

    >>> from kernode.compute.tensor_options import TensorOptions
    >>> Diffusion(hops=2, teleport=0.5).first_weights(TensorOptions.of(64)).tolist()
    [0.5, 0.25, 0.25]
    """

    hidden: tuple[int, ...] = (64,)
    hops: int = 10
    powers: Powers = "plain"
    hop_weights: Literal["learned", "pagerank"] = "learned"
    teleport: float = 0.1
    biases: bool = True

    search_space: ClassVar = {**WIDTHS, **HOPS, "hop_weights": ("learned", "pagerank"), **ROWS}

    def __post_init__(self) -> None:
        super().__post_init__()
        a, known = self.teleport, self.hop_weights in ("learned", "pagerank")
        require_setting(known, "hop_weights", "'learned' or 'pagerank'", self.hop_weights)
        require_setting(isinstance(a, Real) and 0 < a <= 1, "teleport", "in (0, 1]", a)

    def first_weights(self, options: TensorOptions) -> Tensor:
        """Those of personalised PageRank."""
        return pagerank_weights(self.teleport, self.hops, options)


def pagerank_weights(teleport: float, hops: int, options: TensorOptions) -> Tensor:
    """a(1 − a)^h, and (1 − a)^H for the last."""
    weights = (1 - teleport) ** torch.arange(hops + 1, dtype=options.dtype, device=options.device)
    weights[:-1] *= teleport
    return weights
