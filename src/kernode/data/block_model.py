"""A degree-corrected stochastic block model (Karrer & Newman 2011) with features, as a function of a seed.

All of it is integers, or operations that IEEE 754 rounds alike everywhere: same seed, same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kernode.compute.chunks import chunks, row_chunks
from kernode.data import counter

_PLACES, _RANKS, _EDGES, _CENTRES, _NOISE = range(1, 6)  # streams of random words

# The r-th of the nodes is drawn in proportion to (r + 10)^(−1/2), which makes degrees a power law with
# exponent 3. Without the 10 the largest degree would be half the square root of n times the mean.
_HUBS = 10.0

_DRAWS = 2**18  # pairs at a time
_UNIT = 2**15  # a feature of 1, in integers


@dataclass(frozen=True)
class BlockModel:
    """The nodes side by side, class by class, each as wide as it is likely to be drawn.

    - ``inside``: how likely an edge's second end is drawn from the class of its first, in 2048ths.
    - ``nodes``: the node at each place, n.
    - ``classes``: the place where each class begins, c + 1.
    - ``reach``: the position where each place begins, n + 1.
    """

    seed: int
    inside: int
    nodes: np.ndarray
    classes: np.ndarray
    reach: np.ndarray

    @classmethod
    def of(cls, n: int, classes: int, degree: int, seed: int) -> BlockModel:
        """Deal classes and weights out at random, so that a node's index says nothing about either."""
        ranks = counter.permutation(seed, _RANKS, n)
        widths = (2.0**20 / np.sqrt(ranks + _HUBS)).astype(np.int64)
        return cls(
            seed,
            int(2048 * class_affinity(degree)),
            counter.permutation(seed, _PLACES, n),
            class_bounds(n, classes),
            np.append(0, np.cumsum(widths)),
        )

    def labels(self) -> np.ndarray:
        """Every node's class: n."""
        labels = np.empty(len(self.nodes), np.int64)
        labels[self.nodes] = np.repeat(np.arange(len(self.classes) - 1), np.diff(self.classes))
        return labels

    def edges(self, count: int) -> np.ndarray:
        """The first ``count`` different pairs of an endless sequence of draws: low · n + high, ascending."""
        first = self._pairs(0, count)
        drawn, later = count, first[:0]
        while lacking := count - len(first) - len(later):
            # So many and not one more: then it does not matter in which portions they are drawn.
            pairs = self._pairs(drawn, drawn + lacking)
            drawn += lacking
            later = np.union1d(later, pairs[~_among(pairs, first)])
        edges = np.concatenate([first, later])
        edges.sort()
        return edges

    def _pairs(self, start: int, stop: int) -> np.ndarray:
        """The different pairs among some draws, ascending, without loops."""
        keys = np.empty(stop - start, np.int64)
        for part in chunks(len(keys), _DRAWS):
            keys[part] = self._draw(start + part.start, start + part.stop)
        keys.sort()
        new = keys != -1
        new[1:] &= keys[1:] != keys[:-1]
        return keys[new]

    def _draw(self, start: int, stop: int) -> np.ndarray:
        """Draws number start to stop as low · n + high, or −1 for a loop."""
        words = counter.words(self.seed, _EDGES, 2 * start, 2 * stop)
        total = self.reach[-1]
        one = self._place(counter.below(words[0::2], total))
        own = np.searchsorted(self.classes, one, side="right")
        low, high = self.reach[self.classes[own - 1]], self.reach[self.classes[own]]
        # `below` leaves the lower 11 bits of a word alone, and 2048 is 2¹¹.
        inside = (words[1::2] & np.uint64(2047)).astype(np.int64) < self.inside
        other = self._place(
            np.where(inside, low, 0) + counter.below(words[1::2], np.where(inside, high - low, total))
        )
        one, other = self.nodes[one], self.nodes[other]
        return np.where(one == other, -1, np.minimum(one, other) * len(self.nodes) + np.maximum(one, other))

    def _place(self, position: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.reach, position, side="right") - 1


def class_affinity(degree: int) -> float:
    """How likely an edge seeks its second end in the class of its first; else it takes any node.

    Chosen so that the votes of a node's neighbours tell its class about as well at any degree.

    >>> [round(class_affinity(degree), 2) for degree in (5, 10, 20, 100)]
    [0.65, 0.51, 0.36, 0.16]
    """
    return min(0.65, 1.6 / math.sqrt(degree))


def class_bounds(n: int, classes: int) -> np.ndarray:
    """Where classes begin: none is empty, and the last is nearly twice as large as the first.

    >>> np.diff(class_bounds(100, 4)).tolist()
    [18, 23, 27, 32]
    """
    shares = np.cumsum(classes + np.arange(classes))
    return np.append(0, np.arange(1, classes + 1) + (n - classes) * shares // shares[-1])


def draw_features(labels: np.ndarray, classes: int, width: int, seed: int) -> np.ndarray:
    """Noise around the centre of each node's class: n × width, float32.

    The centres are so far apart that the features alone tell a bit more than half of the nodes' classes.
    """
    # More classes need more room between them; measured, like the figures in docs/data.md.
    distance = (1 + 8 * classes.bit_length()) / 20 / math.sqrt(width)
    drawn = counter.bell(counter.words(seed, _CENTRES, 0, classes * width)).astype(np.int64)
    centres = ((drawn * int(1024 * distance)) >> 10).astype(np.int32).reshape(classes, width)
    features = np.empty((len(labels), width), np.float32)
    for rows in row_chunks(features):
        noise = counter.bell(counter.words(seed, _NOISE, rows.start * width, rows.stop * width))
        values = noise.reshape(-1, width)
        values += centres[labels[rows]]
        features[rows] = values  # exact, below 2²⁴
        features[rows] *= np.float32(1 / _UNIT)
    return features


def _among(keys: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Which keys are among others."""
    at = np.searchsorted(ascending, keys)
    found = at < len(ascending)
    found[found] = ascending[at[found]] == keys[found]
    return found
