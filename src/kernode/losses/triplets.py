"""Triplets (anchor, same class, other class) of training nodes, for kernel losses."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernode.compute.draws import TRIPLETS, Draws, below
from kernode.compute.gpu import cumulative_sums, fused
from kernode.errors import InputError
from kernode.losses.nodes_by_class import NodesByClass


class Triplets(NamedTuple):
    """Three training nodes each: t × r rows, counted among the m·r rows of the members in memory."""

    anchor: Tensor
    positive: Tensor
    negative: Tensor


class TripletSampler:
    """Sampler of t triplets, the same number for every class that has training nodes.

    An anchor is uniform in its class, its positive is uniform among the others of the class (itself if the
    class has one training node), its negative is uniform among the nodes of other classes. If nodes have
    weights, they are drawn in proportion to their weights instead.
    """

    def __init__(self, members: NodesByClass, count: int) -> None:
        present = members.sizes > 0
        if bool((present.sum(dim=1) < 2).any()):
            sentence = "a kernel loss compares classes: training nodes must cover at least two. Got one."
            fix = "Label nodes of another class, or use the objective softmax."
            raise InputError(f"{sentence} {fix}", "too-few", setting="objective")
        # Constants of all draws: t × q, the class of each triplet and its position.
        which = torch.stack(
            [row.nonzero()[:, 0][torch.arange(count, device=row.device) % int(row.sum())] for row in present]
        )
        self.sizes = members.sizes.gather(1, which).T.contiguous()
        self.starts = members.starts.gather(1, which).T.contiguous()
        self.others = members.nodes.shape[1] - self.sizes
        self.index = torch.arange(2 * count, device=which.device)
        self.last = self.sizes - 1
        self.last_or_one = self.last.clamp_min(1)
        self.weighted = None if members.weights is None else _Weighted(members, which, count)

    def draw(self, draws: Draws) -> Triplets:
        """Triplets for one epoch."""
        if self.weighted is not None:
            return self.weighted.draw(draws)
        if gpu := fused(self.sizes):
            places = self.sizes, self.starts, self.others
            return Triplets(*gpu.draw_triplets(draws.seeds, draws.epoch_tensor, TRIPLETS, *places))
        r = len(draws.seeds)
        replica = torch.arange(r, device=self.index.device)
        first, second = draws.words(TRIPLETS, self.index).chunk(2)  # t × r
        anchor = below(first, self.sizes, 0)
        positive = below(first, self.last_or_one, 1)
        positive += positive >= anchor  # skip the anchor …
        positive = torch.minimum(positive, self.last)  # … unless it is alone in its class
        negative = below(second, self.others, 0)
        negative += self.sizes * (negative >= self.starts)  # skip the anchor's own class
        start = self.starts * r + replica
        return Triplets(
            torch.add(start, anchor, alpha=r),
            torch.add(start, positive, alpha=r),
            torch.add(replica, negative, alpha=r),
        )


class _Weighted:
    """Sampler that draws nodes in proportion to their weights.

    Nodes are intervals on a line, as long as their weights; a class is one interval. A point on the line is
    a node; the interval that must not be drawn (the anchor, or its class) is skipped.
    """

    def __init__(self, members: NodesByClass, which: Tensor, count: int) -> None:
        assert members.weights is not None
        self.weights = members.weights
        self.ends = cumulative_sums(members.weights, 1)  # q × m
        self.begins = self.ends - self.weights
        self.first = members.starts.gather(1, which).T  # t × q: the first and the last node of the class
        self.last = self.first + members.sizes.gather(1, which).T - 1
        self.begin = self.begins.gather(1, self.first.T).T  # start and end of the class on the line
        self.end = self.ends.gather(1, self.last.T).T
        self.index = torch.arange(3 * count, device=which.device)

    def draw(self, draws: Draws) -> Triplets:
        """Triplets for one epoch."""
        words = draws.words(TRIPLETS, self.index)
        one, two, three = (((words >> 11) & (2**53 - 1)).double() * 2.0**-53).chunk(3)  # t × r, in [0, 1)
        r, most = len(draws.seeds), self.weights.shape[1] - 1
        first, last = self.first.expand(-1, r), self.last.expand(-1, r)
        length = self.end - self.begin
        anchor = self._at(self.begin + one * length).clamp(first, last)
        begin, own = self._of(self.begins, anchor), self._of(self.weights, anchor)
        point = self.begin + two * (length - own)
        beyond = (point >= begin) & (anchor < last)  # the maximum guards against rounding
        positive = self._at(torch.where(beyond, point + own, point))
        positive = torch.where(beyond, positive.maximum(anchor + 1), positive.minimum(anchor - 1))
        positive = positive.clamp(first, last)  # alone in its class: itself
        point = three * (self.ends[:, -1] - length)
        beyond = (point >= self.begin) & (last < most)
        negative = self._at(torch.where(beyond, point + length, point))
        negative = torch.where(beyond, negative.maximum(last + 1), negative.minimum(first - 1))
        negative = negative.clamp(0, most)
        replica = torch.arange(r, device=self.index.device)
        return Triplets(*(nodes * r + replica for nodes in (anchor, positive, negative)))

    def _at(self, points: Tensor) -> Tensor:
        """The nodes at points of the line (t × r)."""
        ends = self.ends[0] if len(self.ends) == 1 else self.ends
        return torch.searchsorted(ends, points.T.contiguous(), right=True).T

    def _of(self, values: Tensor, nodes: Tensor) -> Tensor:
        """Values (q × m) of nodes (t × r)."""
        return values.expand(nodes.shape[1], -1).gather(1, nodes.T).T
