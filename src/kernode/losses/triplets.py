"""Who is compared with whom: triplets (anchor, same class, other class) among the training nodes."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernode.compute.draws import TRIPLETS, Draws, below
from kernode.compute.fused import fused
from kernode.errors import InputError
from kernode.losses.nodes_by_class import NodesByClass


class Triplets(NamedTuple):
    """Three training nodes each: t × r rows, counted among the m·r rows of the members in memory."""

    anchor: Tensor
    positive: Tensor
    negative: Tensor


class TripletSampler:
    """Draws t triplets, the same number for every class that has training nodes.

    Within its class an anchor is uniform, its positive is uniform among the others of the class (itself
    where the class has but one training node), its negative uniform among the nodes of other classes.
    """

    def __init__(self, members: NodesByClass, count: int) -> None:
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
