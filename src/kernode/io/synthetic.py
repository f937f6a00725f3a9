"""Synthetic graphs, made of their names when loaded: ``synthetic:nodes=1000000,degree=20``."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kernode.compute.chunks import chunks, row_chunks
from kernode.errors import bad_setting
from kernode.graph import Graph
from kernode.graph.adjacency import FEATURES, MAX_NODES, from_keys


def random_words(seed: int, stream: int, start: int, stop: int) -> np.ndarray:
    """64 random bits for each index from start to stop: uint64.

    >>> random_words(7, 2000, 0, 6)[3:].tolist() == random_words(7, 2000, 3, 6).tolist()
    True
    """
    import torch

    from kernode.compute.draws import Draws

    words = Draws(torch.tensor([seed])).words(stream, torch.arange(start, stop))
    return words[:, 0].numpy().view(np.uint64)


def below(words: np.ndarray, bounds: np.ndarray | int) -> np.ndarray:
    """Integers in [0, bound), all equally likely, from the upper 53 bits of each word; bounds < 2⁵³."""
    # Exact but for one rounding, which can reach the bound itself.
    drawn = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 * bounds
    return np.minimum(drawn.astype(np.int64), np.asarray(bounds) - 1)


def bell(words: np.ndarray) -> np.ndarray:
    """Integers of mean 0 and variance (2³² − 1) / 3, nearly normal: sums of a word's four 16-bit numbers."""
    lanes = np.uint64(0x0000FFFF0000FFFF)  # the lower 16 bits of either half
    pairs = (words & lanes) + ((words >> np.uint64(16)) & lanes)
    sums = pairs + (pairs >> np.uint64(32))
    return sums.astype(np.uint32).astype(np.int32) - np.int32(2 * (2**16 - 1))


def permutation(seed: int, stream: int, n: int) -> np.ndarray:
    """The numbers 0 … n−1 in random order: int64."""
    return np.argsort(random_words(seed, stream, 0, n), kind="stable")


_PLACES, _RANKS, _EDGES, _CENTRES, _NOISE = range(1, 6)  # streams of random words

_DRAWS = 2**18  # pairs at a time


class BlockModel:
    """The nodes side by side, class by class, each as wide as it is likely to be drawn.

    Classes and weights are dealt out at random, so that a node's index says nothing about either.
    """

    def __init__(self, n: int, classes: int, degree: int, seed: int) -> None:
        self.seed = seed
        self.inside = int(2048 * class_affinity(degree))  # in 2048ths
        self.nodes = permutation(seed, _PLACES, n)  # the node at each place, n
        self.classes = class_bounds(n, classes)  # the place where each class begins, c + 1
        # The r-th of the nodes is drawn in proportion to (r + 10)^(−1/2), which makes degrees a power law
        # with exponent 3. Without the 10 the largest degree would be half of √n times the mean.
        widths = (2.0**20 / np.sqrt(permutation(seed, _RANKS, n) + 10.0)).astype(np.int64)
        self.reach = np.append(0, np.cumsum(widths))  # the position where each place begins, n + 1

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
            later = np.union1d(later, pairs[~is_among(pairs, first)])
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
        words = random_words(self.seed, _EDGES, 2 * start, 2 * stop)
        total = self.reach[-1]
        place = np.searchsorted(self.reach, below(words[0::2], total), side="right") - 1
        own = np.searchsorted(self.classes, place, side="right")
        low, high = self.reach[self.classes[own - 1]], self.reach[self.classes[own]]
        # `below` leaves the lower 11 bits of a word alone, and 2048 is 2¹¹.
        inside = (words[1::2] & np.uint64(2047)).astype(np.int64) < self.inside
        second = np.where(inside, low, 0) + below(words[1::2], np.where(inside, high - low, total))
        one, other = self.nodes[place], self.nodes[np.searchsorted(self.reach, second, side="right") - 1]
        return np.where(one == other, -1, np.minimum(one, other) * len(self.nodes) + np.maximum(one, other))


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
    drawn = bell(random_words(seed, _CENTRES, 0, classes * width)).astype(np.int64)
    centres = ((drawn * int(1024 * distance)) >> 10).astype(np.int32).reshape(classes, width)
    features = np.empty((len(labels), width), np.float32)
    for rows in row_chunks(features):
        words = random_words(seed, _NOISE, rows.start * width, rows.stop * width)
        values = bell(words).reshape(-1, width)
        values += centres[labels[rows]]
        features[rows] = values  # exact, below 2²⁴
        features[rows] *= np.float32(2.0**-15)
    return features


def is_among(keys: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Whether each key is among others."""
    if not len(ascending):
        return np.zeros(len(keys), bool)
    return ascending.take(np.searchsorted(ascending, keys), mode="clip") == keys


@dataclass(frozen=True)
class Synthetic:
    """Sizes and seed of a synthetic graph, as in its name.

    >>> spec = Synthetic.parse("synthetic:degree=20,nodes=1_000_000")
    >>> spec.edges, spec.name
    (10000000, 'synthetic:nodes=1000000,degree=20,classes=8,features=64,seed=0')
    """

    nodes: int = 10_000
    degree: int = 10  # on average
    classes: int = 8
    features: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        n = self.nodes if isinstance(self.nodes, int) else 0
        # Up to half of all pairs can be drawn one by one; beyond that most draws would be repeats.
        bounds = {"nodes": (2, MAX_NODES), "degree": (1, n // 2), "classes": (1, n), "features": (1, 2**31)}
        for name, (least, most) in (bounds | {"seed": (0, 2**63 - 1)}).items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise bad_setting(name, f"an integer from {least:,} to {most:,} in a synthetic graph", value)

    @classmethod
    def parse(cls, name: str) -> Synthetic:
        """Read a name; what it leaves out is as it is by default."""
        _, _, settings = name.partition(":")
        values: dict[str, Any] = {}
        for setting in settings.split(",") if settings else ():
            key, _, number = (part.strip() for part in setting.partition("="))
            known = [field.name for field in fields(cls)]
            if key not in known or key in values:
                raise bad_setting("data", f"a name with any of {', '.join(known)}, each once", name)
            digits = number.replace("_", "")
            values[key] = int(digits) if digits.isascii() and digits.isdecimal() else number
        return cls(**values)

    @property
    def edges(self) -> int:
        """Number of undirected edges."""
        return self.nodes * self.degree // 2

    @property
    def name(self) -> str:
        """The name with all settings, in one order."""
        settings = ",".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))
        return f"synthetic:{settings}"

    def graph(self) -> Graph:
        """Make the graph: the same bits each time and everywhere.

        >>> Synthetic(nodes=100).graph()
        Graph('synthetic:nodes=100,degree=10,classes=8,features=64,seed=0':
              100 nodes, 500 edges, 64 features, 8 classes)
        """
        model = BlockModel(self.nodes, self.classes, self.degree, self.seed)
        adjacency = from_keys(model.edges(self.edges), self.nodes)
        labels = model.labels()
        features = draw_features(labels, self.classes, self.features, self.seed)
        return Graph(adjacency, FEATURES.add(features), labels, name=self.name)


def is_synthetic(name: str) -> bool:
    """Whether a name is that of a synthetic graph; its settings are not checked.

    >>> is_synthetic("synthetic"), is_synthetic("synthetic:nodes=1"), is_synthetic("cora")
    (True, True, False)
    """
    return name.partition(":")[0].lower() == "synthetic"
