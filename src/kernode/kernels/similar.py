"""Alike nodes as an answer: who, how alike, and whether every node was looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class SimilarNodes(list[tuple[Any, float]]):
    """[(node, similarity), …], the most alike first.

    ``exact``: whether every node was compared. Otherwise an index chose whom to compare: similarities are
    exact all the same, but a node that belongs here may be missing.

    >>> found = SimilarNodes([("eve", 0.9)], exact=True)
    >>> found, found.exact
    ([('eve', 0.9)], True)
    """

    def __init__(self, found: Iterable[tuple[Any, float]] = (), *, exact: bool = True) -> None:
        super().__init__(found)
        self.exact = exact
