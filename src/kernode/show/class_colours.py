"""A colour for each class that can be told apart: of many classes the most frequent have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernode.show.canvas import COLOURS, readable

GREY = "#a6a6a6"
_LONGEST = 24  # letters of a class's name in a picture


@dataclass(frozen=True)
class ClassColours:
    """Which classes have a colour of their own, and how many share grey."""

    coloured: tuple[int, ...]  # class numbers
    others: int  # classes that are grey

    @classmethod
    def of(cls, classes: np.ndarray, most: int = len(COLOURS)) -> ClassColours:
        """Of the classes of some nodes (m): all in their order, or the most frequent, the first of equals.

        >>> ClassColours.of(np.array([0, 1, 1, 2, 2, 2]), most=2)
        ClassColours(coloured=(2, 1), others=1)
        """
        counts = np.bincount(classes)
        present = np.flatnonzero(counts)
        if len(present) <= most:
            return cls(tuple(present.tolist()), 0)
        order = present[np.argsort(-counts[present], kind="stable")][:most]
        return cls(tuple(order.tolist()), len(present) - most)

    def colour(self, number: int) -> str:
        """Of a class; grey where it has none of its own."""
        return COLOURS[self.coloured.index(number)] if number in self.coloured else GREY

    @property
    def of_others(self) -> str:
        """What grey stands for."""
        return f"{self.others} rarer class{'es' * (self.others > 1)}"


def shortened(name: str, longest: int = _LONGEST) -> str:
    """A name that has room: its beginning, where it is long.

    >>> shortened("probabilistic methods", 12)
    'probabilist…'
    """
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def class_label(name: str, longest: int = _LONGEST) -> str:
    """A class's name as matplotlib writes it: as it is, for a $ would begin a formula."""
    return shortened(readable(name), longest).replace("$", r"\$")


def most_frequent(counts: Sequence[int] | np.ndarray, most: int) -> np.ndarray:
    """Places of the highest counts, in the order of the places: at most so many of those that are not 0."""
    counts = np.asarray(counts)
    order = np.argsort(-counts, kind="stable")[:most]
    return np.sort(order[counts[order] > 0])
