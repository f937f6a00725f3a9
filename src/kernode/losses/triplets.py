"""Who is compared with whom: triplets (anchor, same class, other class) among the training nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import TRIPLETS, Draws, below
from kernode.compute.fused import fused
from kernode.errors import InputError


class Triplets(NamedTuple):
    """Three training nodes each: t × r rows, counted among the m·r rows of the members in memory."""

    anchor: Tensor
    positive: Tensor
    negative: Tensor


@dataclass(frozen=True)
class Members:
    """The training nodes sorted by class, for every replica: q × m, with q = 1 where all share them."""

    nodes: Tensor  # q × m node indices; class by class
    sizes: Tensor  # q × c training nodes in each class

    @classmethod
    def of(cls, nodes: np.ndarray, labels: np.ndarray, classes: int, device: torch.device) -> Members:
        """Sort nodes (q × m) by their labels (q × m)."""
        order = np.argsort(labels, axis=1, kind="stable")
        sizes = np.stack([np.bincount(row, minlength=classes) for row in labels])
        return cls(
            torch.from_numpy(np.take_along_axis(nodes, order, axis=1)).to(device),
            torch.from_numpy(sizes).to(device),
        )

    @cached_property
    def starts(self) -> Tensor:
        """Where each class begins: q × c."""
        return self.sizes.cumsum(dim=1) - self.sizes

    @cached_property
    def averaging(self) -> Tensor:
        """A matrix that takes the mean over each class: q × c × m, in float64. Empty classes give 0."""
        position = torch.arange(self.nodes.shape[1], device=self.nodes.device)
        inside = (position >= self.starts[..., None]) & (position < (self.starts + self.sizes)[..., None])
        return inside / self.sizes.clamp_min(1)[..., None].double()


class TripletSampler:
    """Draws t triplets, the same number for every class that has training nodes.

    Within its class an anchor is uniform, its positive is uniform among the others of the class (itself
    where the class has but one training node), its negative uniform among the nodes of other classes.
    """

    def __init__(self, members: Members, count: int) -> None:
        present = members.sizes > 0
        if bool((present.sum(dim=1) < 2).any()):
            raise InputError("a kernel loss compares classes: the training nodes must cover at least two.")
        # Everything that does not change from draw to draw: t × q, the class of each triplet and its place.
        which = torch.stack(
            [row.nonzero()[:, 0][torch.arange(count, device=row.device) % int(row.sum())] for row in present]
        )
        self.sizes = members.sizes.gather(1, which).T.contiguous()
        self.starts = members.starts.gather(1, which).T.contiguous()
        self.others = members.nodes.shape[1] - self.sizes
        self.index = torch.arange(2 * count, device=which.device)
        self.last = self.sizes - 1
        self.last_or_one = self.last.clamp_min(1)

    def draw(self, draws: Draws) -> Triplets:
        """Triplets for one epoch."""
        if gpu := fused(self.sizes):
            places = self.sizes, self.starts, self.others
            return Triplets(*gpu.draw_triplets(draws.seeds, draws.epoch_on_device, TRIPLETS, *places))
        r = len(draws.seeds)
        replica = torch.arange(r, device=self.index.device)
        first, second = draws.words(TRIPLETS, self.index).chunk(2)  # t × r
        anchor = below(first, self.sizes, 0)
        positive = below(first, self.last_or_one, 1)
        positive += positive >= anchor  # skip the anchor …
        positive = torch.minimum(positive, self.last)  # … unless its class has no other
        negative = below(second, self.others, 0)
        negative += self.sizes * (negative >= self.starts)  # skip the anchor's own class
        start = self.starts * r + replica
        return Triplets(
            torch.add(start, anchor, alpha=r),
            torch.add(start, positive, alpha=r),
            torch.add(replica, negative, alpha=r),
        )
